//! The eleven programs, and their inputs.

use super::programs;
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{FENCE_FREE, Paper, Table};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, each};

static PAPER: Paper = Paper {
    document: &FENCE_FREE,
    place: "table 1",
    shows: "The CilkPlus programs of figures 1 and 10, and their inputs; there are no times.",
    tables: &[Table {
        caption: "The programs.",
        heads: &["program", "description", "input"],
        rows: &[
            &["Fib", "Fibonacci numbers by recursion", "42"],
            &["Jacobi", "iterated relaxation of a mesh", "1024 × 1024"],
            &["QuickSort", "recursive quicksort", "10⁸"],
            &["Matmul", "matrix product", "1024 × 1024"],
            &["Integrate", "area under a curve, by recursion", "10000"],
            &["knapsack", "branch and bound", "32 items"],
            &["cholesky", "Cholesky factorization", "4000 × 4000, 40000 nonzeros"],
            &["Heat", "diffusion of heat", "4096 × 1024"],
            &["LUD", "LU decomposition", "1024 × 1024"],
            &["strassen", "matrix product by Strassen's algorithm", "4096 × 4096"],
            &["fft", "fast Fourier transform", "2²⁶"],
        ],
    }],
    marks: &[],
};

pub(super) fn experiment() -> Experiment {
    let right =
        |text, who| Claim::new(text, Pick::any(who), Measure::Is(Quantity::Wrong), Limit::Below(1.0)).by_construction();
    Experiment {
        name: Some("ff-tab1"),
        entries: each(&programs(), &[Contender::pool("the")]),
        workers: vec![2],
        effort: Effort { budget: 20, visit: 0.05, ..Effort::default() },
        columns: &["median", "spread", "runs", "speedup", "tasks-per-second"],
        plots: &[Plot::Times],
        claims: vec![
            right("All eleven sequential programs give right answers.", "serial"),
            right("So they do on two workers of THE.", "filch the").on(2),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("What do the eleven programs compute, and how long do they take sequentially?")
    }
}
