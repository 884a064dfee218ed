//! The cost of a fork, in a program of almost only forks.

use crate::experiment::claim::{Claim, Limit, Measure, Pick};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

/// The pools with their own protocols, not merely their own queues; the styles of the default pool; and peers with cheap forks.
pub(crate) fn experiment() -> Experiment {
    let pools = ["split", "filch-levels", "filch-closures", "wool", "chase-lev", "lace", "the", "locked"];
    let peers = ["rayon", "chili", "lace-ws"];
    let contenders = pools.map(Contender::pool).into_iter().chain(peers.map(Contender::peer)).collect::<Vec<_>>();
    let faster = |text, of, over, limit| Claim {
        text,
        measure: Measure::TimeOver(Pick::any(over)),
        of: Pick::any(of),
        programs: &[],
        workers: None,
        limit: Limit::Below(limit),
    };
    Experiment {
        name: Some("forks"),
        entries: each(&[Program::new("fib")], &contenders),
        workers: vec![1, 2],
        effort: Effort { budget: 40, ..Effort::default() },
        columns: &["median", "spread", "overhead", "fork", "relative-speedup", "to-baseline"],
        plots: &[Plot::Forks, Plot::Times, Plot::Speedup],
        claims: vec![
            faster("In handle style, fib takes less than half of rayon's time.", "filch split", "rayon", 0.5),
            faster("In closure style, it takes less than half of rayon's time.", "filch closures", "rayon", 0.5),
            faster("With levels, it takes less time than with plain handles.", "filch levels", "filch split", 1.0),
            faster(
                "With levels, it takes less time than on chili, which combines many forks into one job.",
                "filch levels",
                "chili",
                1.0,
            ),
            faster(
                "A queue with a lock takes longer than Chase and Lev's, whose owner has a fence.",
                "filch chase-lev",
                "filch locked",
                1.0,
            ),
            Claim {
                text: "In handle style, a program of almost only forks takes at most a third longer than sequentially.",
                measure: Measure::TimeOver(Pick::any("serial")),
                of: Pick::any("filch split"),
                programs: &[],
                workers: Some(1),
                limit: Limit::Below(1.33),
            },
            Claim {
                text: "Two workers steal only near the root: fewer than one task in a thousand.",
                measure: Measure::PerTask("steals"),
                of: Pick::any("filch split"),
                programs: &[],
                workers: Some(2),
                limit: Limit::Below(0.001),
            },
        ],
        ..Experiment::new("What does a fork cost, in each style and on each kind of pool?")
    }
}
