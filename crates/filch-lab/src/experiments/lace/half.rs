//! Whether thieves should take half of the shared tasks.

use super::{T3_FOR_MANY, workers};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{LACE as DOCUMENT, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &DOCUMENT,
    place: "section 3.3",
    shows: "A thief can take several shared tasks at once, and run the newest first. On one machine this improved nothing; no numbers \
            are given.",
    tables: &[],
    marks: &[],
};

const ONE: Pick = Pick::any("filch lace:steal=one");
const HALF: Pick = Pick::any("filch lace:steal=half");

/// The deque as a queue of words: a thief of the direct stack runs a task where it lies, so it takes one. A worker that
/// waits runs any task, since a thief of several has some that do not descend from the one that it waits for.
pub(super) fn experiment() -> Experiment {
    let programs = [
        [Some("fib"), Some("fib"), Some("fib:n=50")],
        T3_FOR_MANY,
        [Some("queens"), Some("queens"), Some("queens:n=15")],
    ]
    .map(Program::sized);
    Experiment {
        name: Some("lace-half"),
        entries: each(&programs, &["lace:steal=one", "lace:steal=half"].map(Contender::pool)),
        workers: workers(&[1, 2, 4]),
        effort: Effort { budget: 40, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "relative-speedup", "steals", "leaps", "migrations", "grows", "shrinks"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            Claim::new(
                "Thieves that take half of the shared tasks make no program faster on two workers.",
                HALF,
                Measure::Over(Quantity::Time, ONE),
                Limit::Above(0.9),
            )
            .on(2),
            Claim::new(
                "Nor do they make one much slower.",
                HALF,
                Measure::Over(Quantity::Time, ONE),
                Limit::Below(1.15),
            )
            .on(2),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("Should a thief take half of the shared tasks?")
    }
}
