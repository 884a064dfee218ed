//! How many tasks an owner should keep for itself.

use super::TREES;
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

/// An owner that keeps some has work when its queue runs low; but a thin queue then has less to grant.
pub(super) fn experiment() -> Experiment {
    let programs = TREES.map(|sizes| {
        let long = sizes.map(|text| text.map(|text| text.replace("spin=*", "spin=2000")));
        Program::sized(long.each_ref().map(Option::as_deref))
    });
    let values = [0, 1, 2, 4, 8].map(|tasks: u32| tasks.to_string()).to_vec();
    let over = |text, at, limit| {
        let over = Measure::Over(Quantity::Time, Pick::at("filch padws", "0"));
        Claim::new(text, Pick::at("filch padws", at), over, limit).on(2)
    };
    Experiment {
        name: Some("pad-keep"),
        entries: each(&programs, &[Contender::pool("padws:keep=*")]),
        workers: vec![2],
        sweep: Some(Sweep { parameter: "keep", values, meaning: "tasks that the owner does not grant" }),
        effort: Effort { budget: 40, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "speedup", "steals", "grants", "declined", "revocations"],
        plots: &[Plot::Swept("speedup"), Plot::Swept("steals")],
        claims: vec![
            over("An owner that keeps one task is as fast as one that keeps none.", "1", Limit::Within(0.9, 1.1)),
            Claim::new(
                "An owner that keeps eight grants fewer on a thin tree.",
                Pick::at("filch padws", "8"),
                Measure::Over(Quantity::Counter("grants"), Pick::at("filch padws", "0")),
                Limit::Below(0.9),
            )
            .on(2)
            .in_programs(&["trees:tree=thin"]),
        ],
        ..Experiment::new("How many tasks should an owner keep for itself?")
    }
}
