//! The cost of a fork, in a program of almost only forks.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

/// The pools with their own protocols, not merely their own queues; the styles of the default pool; and peers with
/// cheap forks.
pub(crate) fn experiment() -> Experiment {
    let pools = ["split", "filch-levels", "filch-closures", "wool", "chase-lev", "lace", "the", "locked"];
    let peers = ["rayon", "chili", "lace-ws"];
    let contenders = pools.map(Contender::pool).into_iter().chain(peers.map(Contender::peer)).collect::<Vec<_>>();
    let time_over = |over| Measure::Over(Quantity::Time, Pick::any(over));
    let faster = |text, of, over, limit| Claim::new(text, Pick::any(of), time_over(over), Limit::Below(limit));
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
            Claim::new(
                "In handle style, a program of almost only forks takes at most a third longer than sequentially.",
                Pick::any("filch split"),
                time_over("serial"),
                Limit::Below(1.33),
            )
            .on(1),
            Claim::new(
                "Two workers steal only near the root: fewer than one task in a thousand.",
                Pick::any("filch split"),
                Measure::Is(Quantity::STOLEN),
                Limit::Below(0.001),
            )
            .on(2),
        ],
        ..Experiment::new("What does a fork cost, in each style and on each kind of pool?")
    }
}
