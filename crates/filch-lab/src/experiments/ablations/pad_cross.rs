//! Whether a thief may take what was granted to another one.

use super::{spins, trees};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, each};

/// Four workers, since one thief has nobody to cross.
pub(super) fn experiment() -> Experiment {
    let crosses = |text, who, limit| {
        let crossings = Quantity::Per(&Quantity::Counter("crossings"), &Quantity::Tasks);
        Claim::new(text, Pick::at(who, "20000"), Measure::Is(crossings), limit).on(4).on_shared_processors()
    };
    let over = |text, at, limit| {
        let over = Measure::Over(Quantity::Time, Pick::at("filch padws:cross=one", at));
        Claim::new(text, Pick::at("filch padws:cross=off", at), over, limit).on(4)
    };
    Experiment {
        name: Some("pad-cross"),
        entries: each(&trees(), &["padws:cross=off", "padws:cross=one", "padws:cross=each"].map(Contender::pool)),
        workers: vec![4],
        sweep: spins(),
        effort: Effort { budget: 40, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals", "grants", "crossings", "revocations"],
        plots: &[Plot::Swept("speedup"), Plot::Swept("crossings")],
        claims: vec![
            crosses(
                "Thieves use it: on long tasks they take others' grants.",
                "filch padws:cross=one",
                Limit::Above(0.0),
            ),
            over("Without it, trees of long tasks take longer.", "20000", Limit::Above(1.02)),
            over("On short tasks it makes no difference.", "200", Limit::Within(0.9, 1.1)),
        ],
        ..Experiment::new("Should a thief take what was granted to another one?")
    }
}
