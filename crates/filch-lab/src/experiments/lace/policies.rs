//! How much an owner should share, and take back, at once.

use super::{OURS, T3_FOR_MANY, workers};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

const HALF: Pick = Pick::any("filch split:share=half");
const ONE: Pick = Pick::any("filch split:share=one");
const ALL: Pick = Pick::any("filch split:share=all");
const NO_FASTER: Limit = Limit::Above(0.95);

/// Lace's section 5 asks for better amounts than half. On the direct stack as much is taken back as is shared, or filch
/// decides both; the queue of words tells growing from shrinking.
pub(super) fn experiment() -> Experiment {
    let programs = [
        [Some("fib"), Some("fib"), Some("fib:n=50")],
        T3_FOR_MANY,
        [Some("queens:n=10"), Some("queens"), Some("queens:n=15")],
    ]
    .map(Program::sized);
    let contenders = [
        "split:share=half",
        "split:share=one",
        "split:share=all",
        "split",
        "lace",
        "lace:grow=one",
        "lace:grow=all",
        "lace:shrink=one",
        "lace:shrink=all",
    ];
    let over = |text, of, limit| Claim::new(text, of, Measure::Over(Quantity::Time, HALF), limit).on(2);
    Experiment {
        name: Some("lace-x2"),
        entries: each(&programs, &contenders.map(Contender::pool)),
        workers: workers(&[1, 2, 4]),
        effort: Effort { budget: 60, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "relative-speedup", "steals", "leaps", "grows", "shrinks"],
        plots: &[Plot::Times, Plot::RelativeSpeedup],
        claims: vec![
            over("An owner that shares one task at a time is not faster than one that shares half.", ONE, NO_FASTER),
            over("Nor is one that shares all.", ALL, NO_FASTER),
            over("filch's own policy is at most a tenth slower than half.", OURS, Limit::Below(1.1)),
            Claim::new(
                "An owner that shares one task at a time does so more often than one that shares half.",
                ONE,
                Measure::Over(Quantity::Counter("grows"), HALF),
                Limit::Above(1.0),
            )
            .on(2),
        ],
        is_ours: true,
        ..Experiment::new("Should an owner share and take back half of its tasks at once, one, or all?")
    }
}
