//! A deque whose owner has no fence, because thieves have the system make all processors fence.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};
use crate::identity::Placement;

const FENCED: &str = "filch chase-lev pinned";
const ASYMMETRIC: &str = "filch chase-lev-asym pinned";

/// A program of almost only forks, one whose tasks are often stolen, and steals alone.
pub(super) fn experiment() -> Experiment {
    let programs = [
        [Some("fib:n=30"), Some("fib:n=35"), Some("fib:n=42")],
        [Some("trees:tree=thin:depth=15"), Some("trees:tree=thin:depth=17"), Some("trees:tree=thin:depth=19")],
        [
            Some("steal-latency:n=100000:work=100:share=10"),
            Some("steal-latency:n=300000:work=100:share=10"),
            Some("steal-latency:n=3000000:work=100:share=10"),
        ],
    ];
    let deques = ["chase-lev", "chase-lev-asym", "chase-lev-asym:fences=symmetric"].map(Contender::pool);
    let over_fenced = |text, who, quantity, limit| {
        Claim::new(text, Pick::any(who), Measure::Over(quantity, Pick::any(FENCED)), limit).on(2)
    };
    Experiment {
        name: Some("asym"),
        entries: each(&programs.map(Program::sized), &deques),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        effort: Effort { budget: 40, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals", "steal-mean", "steal-p99"],
        plots: &[Plot::Times],
        claims: vec![
            over_fenced(
                "An owner without its fence is faster: fib takes a tenth less time.",
                ASYMMETRIC,
                Quantity::Time,
                Limit::Below(0.9),
            )
            .in_programs(&["fib"]),
            over_fenced(
                "The barrier makes a steal three times as long, or more.",
                ASYMMETRIC,
                Quantity::STEAL_TIME,
                Limit::Above(3.0),
            )
            .in_programs(&["steal-latency"]),
            over_fenced(
                "A walk over a tree, of which thieves take more, still takes at most a tenth longer.",
                ASYMMETRIC,
                Quantity::Time,
                Limit::Below(1.1),
            )
            .in_programs(&["trees"]),
            over_fenced(
                "With fences on both sides it is the usual deque.",
                "filch chase-lev-asym:fences=symmetric pinned",
                Quantity::Time,
                Limit::Within(0.9, 1.1),
            )
            .in_programs(&["fib", "trees"])
            .by_construction(),
        ],
        ..Experiment::new("Is it worth while to have thieves pay for the owner's fence?")
    }
}
