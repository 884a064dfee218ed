//! The effect of binding workers to processors.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};
use crate::identity::Placement;

/// Programs with few and with many cache misses; workers placed by the system, and bound to processors.
pub(crate) fn experiment() -> Experiment {
    let programs = ["fib", "queens", "cilksort"].map(Program::new);
    Experiment {
        name: Some("placement"),
        entries: each(&programs, &[Contender::pool("split"), Contender::pool("chase-lev")]),
        workers: vec![1, 2],
        placements: vec![Placement::Free, Placement::Pinned],
        effort: Effort { budget: 40, ..Effort::default() },
        columns: &["median", "spread", "overhead", "speedup", "relative-speedup"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            Claim::new(
                "With one worker per processor, binding them changes little.",
                Pick::any("filch split pinned"),
                Measure::Over(Quantity::Time, Pick::any("filch split")),
                Limit::Within(0.9, 1.1),
            )
            .on(2),
        ],
        ..Experiment::new("Does it matter whether workers are bound to processors?")
    }
}
