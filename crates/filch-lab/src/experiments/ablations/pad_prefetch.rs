//! When a thief should ask for its next task.

use super::{spins, trees};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, each};

/// A request of a thief that has just got a task is answered while it runs; but what it is granted lies idle meanwhile.
pub(super) fn experiment() -> Experiment {
    let always = "filch padws:prefetch=always";
    let over = |text, measured, at, limit| {
        let over = Measure::Over(measured, Pick::at("filch padws:prefetch=when-nothing-is-open", at));
        Claim::new(text, Pick::at(always, at), over, limit).on(2)
    };
    Experiment {
        name: Some("pad-prefetch"),
        entries: each(&trees(), &["padws:prefetch=when-nothing-is-open", "padws:prefetch=always"].map(Contender::pool)),
        workers: vec![2],
        sweep: spins(),
        effort: Effort { budget: 40, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals", "grants", "revocations", "retries"],
        plots: &[Plot::Swept("speedup"), Plot::Swept("grants")],
        claims: vec![
            over("Asking always makes trees of long tasks no slower.", Quantity::Time, "20000", Limit::Below(1.05)),
            over("It makes trees of short tasks no slower.", Quantity::Time, "200", Limit::Below(1.1)),
        ],
        ..Experiment::new("Should a thief that has a task ask for the next one at once?")
    }
}
