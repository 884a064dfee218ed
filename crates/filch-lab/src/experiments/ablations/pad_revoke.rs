//! Whether the owner should take grants back.

use super::{spins, trees};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, each};

/// A grant lies idle while its thief runs a task, so the owner may run out of tasks before that thief comes back.
pub(super) fn experiment() -> Experiment {
    let (off, on) = ("filch padws:revocation=off", "filch padws:revocation=when-needed");
    let over = |text, at, limit| {
        Claim::new(text, Pick::at(off, at), Measure::Over(Quantity::Time, Pick::at(on, at)), limit).on(2)
    };
    Experiment {
        name: Some("pad-revoke"),
        entries: each(&trees(), &["padws:revocation=off", "padws:revocation=when-needed"].map(Contender::pool)),
        workers: vec![2],
        sweep: spins(),
        effort: Effort { budget: 40, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals", "grants", "revocations", "idle"],
        plots: &[Plot::Swept("speedup"), Plot::Swept("revocations")],
        claims: vec![
            Claim::new(
                "Owners use it: on long tasks they take grants back.",
                Pick::at(on, "20000"),
                Measure::Is(Quantity::Counter("revocations")),
                Limit::Above(0.5),
            )
            .on(2),
            over(
                "Without it, trees of long tasks take at most a tenth longer: few grants lie idle.",
                "20000",
                Limit::Below(1.1),
            ),
            over("On short tasks it makes no difference.", "200", Limit::Within(0.9, 1.1)),
        ],
        ..Experiment::new("Should an owner without tasks take back what it granted?")
    }
}
