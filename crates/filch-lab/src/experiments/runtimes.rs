//! The public comparison of C++ runtimes, with filch in each style beside them; and the same rivals on programs of the
//! papers.

use super::two_and_all;
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{Paper, RUNTIMES, Table};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Entry, Experiment, Plot, Program};
use crate::flags::Size;

static PAPER: Paper = Paper {
    document: &RUNTIMES,
    place: "the tables of the summary",
    shows: "skynet sums the numbers of 10⁸ leaves, ten forks per node; nqueens copies a board of 14 characters per task; fib forks all \
            calls; matmul multiplies 2048 × 2048 integers by quarters, down to leaves of order 32, and the run makes the matrices. All are \
            compiled by clang 21 with -O3 -march=native, and linked with tcmalloc. A process warms up and runs once. Its memory includes \
            some nine megabytes of the script that starts it. No scheduler in Rust takes part.",
    tables: &[
        Table {
            caption: "Milliseconds on 64 processors.",
            heads: &["program", "citor", "libfork", "TooManyCooks", "oneTBB", "Taskflow", "cppcoro", "coros", "HPX"],
            rows: &[
                &["mean ratio to the best", "1.06", "1.18", "1.32", "3.25", "3.34", "3.67", "4.83", "186.81"],
                &["skynet", "24.9", "36.5", "37.9", "142.9", "185.0", "144.9", "94.5", "11965"],
                &["nqueens 14", "80.8", "69.0", "70.2", "125.7", "114.7", "162.8", "741.1", "3453"],
                &["fib 39", "50.0", "62.4", "86.7", "215.6", "156.6", "269.4", "187.1", "10789"],
                &["matmul 2048", "48.1", "44.1", "44.8", "50.1", "50.2", "49.7", "46.8", "59.1"],
            ],
        },
        Table {
            caption: "Peak memory in megabytes.",
            heads: &["program", "citor", "libfork", "TooManyCooks", "oneTBB", "Taskflow", "cppcoro", "coros", "HPX"],
            rows: &[
                &["skynet", "20.7", "11.4", "14.0", "14.3", "10.9", "134.1", "10.9", "24870"],
                &["nqueens 14", "51.0", "10.5", "14.1", "12.7", "10.9", "134.1", "9.2", "11230"],
                &["fib 39", "44.5", "11.5", "12.6", "11.7", "9.1", "134.1", "9.4", "15590"],
                &["matmul 2048", "68.8", "60.4", "60.1", "59.4", "56.2", "186.4", "58.6", "103.9"],
            ],
        },
    ],
    marks: &[],
};

/// The C++ runtimes of the comparison that have an adapter.
const CPP: &[&str] = &["citor", "libfork", "toomanycooks", "onetbb", "taskflow"];
const STYLES: [(&str, &str); 3] =
    [("split", "filch split"), ("filch-levels", "filch levels"), ("filch-closures", "filch closures")];

/// All rivals but OpenMP, which would take longer than all others together.
const RIVALS: &[&str] = &[
    "citor",
    "libfork",
    "toomanycooks",
    "onetbb",
    "taskflow",
    "lace",
    "parlaylib",
    "rayon",
    "chili",
    "lace-ws",
    "forte",
];

/// filch in these styles, and all rivals.
fn contenders(styles: &[(&str, &str)]) -> Vec<Contender> {
    let pools = styles.iter().map(|(name, _)| Contender::pool(*name));
    pools.chain(RIVALS.iter().map(|name| Contender::peer(*name))).collect()
}

pub(super) fn experiment() -> Experiment {
    let all = contenders(&STYLES);
    let plain = |sizes| Entry { program: Program::sized(sizes), contenders: all.clone() };
    let unrolled = |sizes| Entry { program: Program::sized(sizes), contenders: vec![Contender::pool("split")] };
    let best = |text, who, programs, times: f64| {
        let measure = Measure::OverBest(Quantity::Time, CPP);
        Claim::new(text, Pick::any(who), measure, Limit::Below(1.0 / times)).in_programs(programs)
    };
    let [handles, levels, closures] = STYLES.map(|(_, who)| who);
    Experiment {
        name: Some("runtime-benchmarks"),
        entries: vec![
            plain([Some("skynet"), Some("skynet"), Some("skynet:levels=8")]),
            plain([Some("nqueens"), Some("nqueens"), Some("nqueens:n=14")]),
            plain([Some("fib"), Some("fib"), Some("fib:n=39")]),
            plain([Some("matmul-quarters"), Some("matmul-quarters"), Some("matmul-quarters:n=2048")]),
            unrolled([Some("skynet-unrolled"), Some("skynet-unrolled"), Some("skynet-unrolled:levels=8")]),
            unrolled([Some("fib-unrolled"), Some("fib-unrolled"), Some("fib-unrolled:n=39")]),
        ],
        workers: [vec![1], two_and_all(usize::MAX)].concat(),
        // A run for each process, as there.
        effort: Effort { budget: 90, visit: 0.0, ..Effort::default() },
        columns: &["median", "spread", "speedup", "relative-speedup", "memory", "first", "stop"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            best(
                "With closures, fib is at least five times as fast as on the best C++ runtime.",
                closures,
                &["fib:"],
                5.0,
            ),
            best("So is fib with handles.", handles, &["fib:"], 5.0),
            best("So is fib with levels.", levels, &["fib:"], 5.0),
            best("So is fib unrolled.", handles, &["fib-unrolled"], 5.0),
            best("With closures, skynet is at least three times as fast.", closures, &["skynet:"], 3.0),
            best("So is skynet with handles.", handles, &["skynet:"], 3.0),
            best("So is skynet with levels.", levels, &["skynet:"], 3.0),
            best("So is skynet unrolled.", handles, &["skynet-unrolled"], 3.0),
            best("With closures, nqueens is faster.", closures, &["nqueens"], 1.0),
            best("So is nqueens with handles.", handles, &["nqueens"], 1.0),
            best("So is nqueens with levels.", levels, &["nqueens"], 1.0),
            best("With closures, the product of matrices is faster.", closures, &["matmul-quarters"], 1.0),
            best("So is the product with handles.", handles, &["matmul-quarters"], 1.0),
            best("So is the product with levels.", levels, &["matmul-quarters"], 1.0),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How fast and lean is filch in the public comparison of C++ runtimes?")
    }
}

/// Two trees, two programs whose leaves compute, and a sort.
pub(super) fn programs() -> Experiment {
    let programs = [
        Program::sized([Some("uts:tree=T1:depth=7"), Some("uts:tree=T1S"), Some("uts:tree=T1")]),
        Program::sized([Some("uts:tree=T3:b=500:seed=4"), Some("uts:tree=T3S"), Some("uts:tree=T3")]),
        Program::sized([Some("queens"), Some("queens"), Some("queens:n=13")]),
        Program::sized([Some("matmul"), Some("matmul"), Some("matmul:n=1024")]),
        Program::sized([Some("cilksort"), Some("cilksort"), Some("cilksort:n=16000000")]),
    ];
    // Its deque of a constant length overflows on T3.
    let overflows = |program: &Program, who: &Contender| {
        let is_deep = program.of(Size::Small).is_some_and(|text| text.starts_with("uts:tree=T3"));
        is_deep && matches!(who, Contender::Peer(name) if name == "parlaylib")
    };
    let entry = |program: Program| {
        let mut all = contenders(&STYLES[..1]);
        all.retain(|who| !overflows(&program, who));
        Entry { program, contenders: all }
    };
    let ahead = |text, program| {
        let measure = Measure::OverBest(Quantity::Time, RIVALS);
        Claim::new(text, Pick::any(STYLES[0].1), measure, Limit::Below(1.02)).in_programs(program)
    };
    Experiment {
        name: Some("rivals"),
        entries: programs.into_iter().map(entry).collect(),
        workers: [vec![1], two_and_all(usize::MAX)].concat(),
        effort: Effort { budget: 90, visit: 0.0, ..Effort::default() },
        columns: &["median", "spread", "overhead", "speedup", "relative-speedup", "memory"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            ahead("On balanced and unbalanced trees, no rival is faster by more than 2 %.", &["uts"]),
            ahead("Nor is one on queens.", &["queens"]),
            ahead("Nor on the product of matrices.", &["matmul"]),
            ahead("Nor on sorting.", &["cilksort"]),
        ],
        is_ours: true,
        ..Experiment::new("Is any rival faster than filch on programs of the papers?")
    }
}
