//! Stealing without the owner's fence.

mod fig1;
mod fig10;
mod fig11;
mod fig7;
mod fig8;
mod tab1;

use crate::experiment::{Experiment, Program};

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![
        fig1::experiment(),
        fig7::experiment(),
        fig8::experiment(),
        tab1::experiment(),
        fig10::experiment(),
        fig11::times(),
        fig11::shares(),
    ]
}

/// The eleven programs, in the order of table 1. Loops are halved down to some iterations, as by Cilk.
const PROGRAMS: [[Option<&str>; 3]; 11] = [
    [Some("fib:n=30"), Some("fib:n=32"), Some("fib:n=42")],
    [Some("jacobi:n=512,sweeps=40,grain=8"), Some("jacobi:n=1024,sweeps=50,grain=16"), Some("jacobi:n=1024,grain=16")],
    [Some("quicksort:n=200000"), Some("quicksort:n=1000000"), Some("quicksort:n=100000000")],
    [Some("matmul-temp:n=256,cutoff=32"), Some("matmul-temp:n=512,cutoff=32"), Some("matmul-temp:n=1024,cutoff=32")],
    [Some("integrate:n=200"), Some("integrate:n=500"), Some("integrate:n=10000")],
    [Some("knapsack:items=43"), Some("knapsack:items=46"), Some("knapsack:items=32")],
    [
        Some("cholesky:n=500,nonzeros=2000"),
        Some("cholesky:n=1000,nonzeros=6000"),
        Some("cholesky:n=4000,nonzeros=40000"),
    ],
    [Some("heat:nx=512,ny=256,steps=50"), Some("heat:nx=1024,ny=512"), Some("heat:nx=4096,ny=1024")],
    [Some("lud:n=256"), Some("lud:n=512"), Some("lud:n=1024")],
    [Some("strassen:n=256"), Some("strassen:n=512"), Some("strassen:n=4096")],
    [Some("fft:n=131072,grain=leaves"), Some("fft:n=524288,grain=leaves"), Some("fft:n=67108864,grain=leaves")],
];

fn programs() -> [Program; 11] {
    PROGRAMS.map(Program::sized)
}

/// Those whose tasks are a few instructions.
const FINE: &[&str] = &["fib", "integrate", "knapsack"];
/// Those whose tasks take microseconds.
const COARSE: &[&str] = &["jacobi", "quicksort", "matmul-temp", "heat", "lud", "strassen", "fft"];
