//! The times of fine-grained programs on one worker and on all.

use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{LACE, Paper, Table};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &LACE,
    place: "figure 5",
    shows: "No program has a cut-off. fib, which is almost only forks, shows what a task costs; the three pools differ little on 48 workers.",
    tables: &[Table {
        caption: "Seconds on one worker and on 48, and their ratio.",
        heads: &[
            "program",
            "Lace T1",
            "T48",
            "T1/T48",
            "private T1",
            "T48",
            "T1/T48",
            "Wool T1",
            "T48",
            "T1/T48",
            "TS",
        ],
        rows: &[
            &["fib 50", "144", "4.13", "34.9", "208", "5.22", "39.8", "185", "4.38", "42.2", "149.2"],
            &["uts T2L", "86.0", "1.81", "47.4", "86.1", "1.83", "47.0", "85.1", "2.00", "42.5", "84.5"],
            &["uts T3L", "44.2", "2.23", "19.9", "44.8", "2.55", "17.5", "44.3", "2.12", "20.9", "43.11"],
            &["queens 15", "602", "12.63", "47.7", "541", "11.34", "47.7", "539", "11.23", "48.0", "533"],
            &["matmul 4096", "781", "16.46", "47.5", "774", "16.34", "47.4", "780", "16.40", "47.5", "773"],
        ],
    }],
    marks: &[],
};

/// The pools of the paper: the direct stacks of Lace and Wool, and private deques in the same runtime, all with plain leapfrogging.
const POOLS: [&str; 3] = ["split", "pdq-r2", "wool"];

pub(super) fn experiment() -> Experiment {
    let programs = [
        [Some("fib"), Some("fib:n=32"), Some("fib:n=50")],
        [Some("uts:tree=T2,depth=8"), Some("uts:tree=T2"), Some("uts:tree=T2L")],
        [Some("uts:tree=T3,b=60"), Some("uts:tree=T3"), Some("uts:tree=T3L")],
        [Some("queens"), Some("queens:n=11"), Some("queens:n=15")],
        [Some("matmul:n=256"), Some("matmul:n=512"), Some("matmul:n=4096")],
    ]
    .map(Program::sized);
    let pool = |name: &str| Contender::Pool { name: name.to_owned(), wait: "leapfrog" };
    let overhead = |text, who| {
        Claim::new(text, Pick::any(who), Measure::Of(Comparison::Overhead), Limit::Below(1.15))
            .on(1)
            .in_programs(&["uts", "queens", "matmul"])
    };
    let fork = |text, over| {
        Claim::new(
            text,
            Pick::any("filch split leapfrog"),
            Measure::Over(Quantity::Time, Pick::any(over)),
            Limit::Below(1.0),
        )
        .on(1)
        .in_programs(&["fib"])
    };
    Experiment {
        name: Some("lace-fig5"),
        entries: each(&programs, &POOLS.map(pool)),
        workers: vec![1, 2],
        effort: Effort { budget: 60, ..Effort::default() },
        columns: &["median", "spread", "overhead", "relative-speedup", "capacity-share", "fork"],
        plots: &[Plot::Times, Plot::Speedup, Plot::Forks],
        claims: vec![
            overhead(
                "On all programs but fib, the split deque takes as long on one worker as the sequential program.",
                "filch split leapfrog",
            ),
            overhead("So do private deques.", "filch pdq-r2 leapfrog"),
            overhead("So does Wool's stack.", "filch wool leapfrog"),
            fork("A task of the split deque costs less than one of private deques.", "filch pdq-r2 leapfrog"),
            fork("It costs less than one of Wool's.", "filch wool leapfrog"),
            Claim::new(
                "The three pools differ by at most a fifth on 48 workers.",
                Pick::any("filch split leapfrog"),
                Measure::Over(Quantity::Time, Pick::any("filch wool leapfrog")),
                Limit::Within(0.8, 1.25),
            )
            .needs(Need::Processors(48)),
            Claim::new(
                "On two workers they do so, too.",
                Pick::any("filch split leapfrog"),
                Measure::Over(Quantity::Time, Pick::any("filch wool leapfrog")),
                Limit::Within(0.8, 1.25),
            )
            .on(2)
            .in_programs(&["uts", "queens", "matmul"]),
        ],
        paper: Some(&PAPER),
        ..Experiment::new(
            "What do fine-grained programs cost on the split deque, on private deques, and on Wool's stack?",
        )
    }
}
