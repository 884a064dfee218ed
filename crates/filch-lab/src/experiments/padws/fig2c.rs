//! How many tasks several thieves get together.

use filch_protocol::cores;

use super::{EFFORT, queues};
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{PADWS, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Effort, Experiment, Plot, Program, each};
use crate::identity::Placement;

static PAPER: Paper = Paper {
    document: &PADWS,
    place: "figure 2c",
    shows: "The tasks that all thieves together get per second. Private deques do not scale with the number of thieves; with 87 thieves, \
            PadWS gets 3.4 times as many as the second queue.",
    tables: &[],
    marks: &[],
};

/// An owner that only pushes; tasks of a word, and of 64 bytes that whoever answers copies.
pub(super) fn experiment() -> Experiment {
    let programs = [
        Program::sized([
            Some("steal-throughput:n=50000:millis=20"),
            Some("steal-throughput:n=300000"),
            Some("steal-throughput:n=10000000:millis=5000"),
        ]),
        Program::sized([
            Some("steal-throughput:n=50000:entry=64:millis=20"),
            Some("steal-throughput:n=300000:entry=64"),
            Some("steal-throughput:n=10000000:entry=64:millis=5000"),
        ]),
    ];
    let more = [8, 16, 32, 64, 88].into_iter().filter(|&workers| workers <= cores());
    let scales = |text, who, limit| {
        let over = Measure::Over(Quantity::STEAL_RATE, Pick::any(who).with_workers(2));
        Claim::new(text, Pick::any(who), over, limit).on(4)
    };
    let most = |text, other| {
        let over = Measure::Over(Quantity::STEAL_RATE, Pick::any(other));
        // 3.4 times as many as from the second queue; three quarters of that on another machine.
        Claim::new(text, Pick::any("filch padws pinned"), over, Limit::Above(2.5)).on(88).needs(Need::Processors(88))
    };
    Experiment {
        name: Some("padws-fig2c"),
        entries: each(&programs, &queues()),
        workers: [2, 4].into_iter().chain(more).collect(),
        placements: vec![Placement::Pinned],
        effort: Effort { budget: 50, ..EFFORT },
        columns: &["median", "spread", "steal-rate", "stolen", "grants", "retries-per-steal"],
        plots: &[Plot::Times],
        claims: vec![
            // The text has no number for three thieves. Half more is ours, and parts those that scale from the others.
            scales(
                "Three thieves get half more from PadWS than one, or better.",
                "filch padws pinned",
                Limit::Above(1.5),
            ),
            scales("From a private deque they do not.", "filch pdq-r pinned", Limit::Below(1.5)),
            most("87 thieves get much more from PadWS than from ABP.", "filch abp pinned"),
            most("They get much more than from BWoS.", "filch bwos-l pinned"),
            most("They get much more than from a private deque.", "filch pdq-r pinned"),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How many tasks do thieves get from an owner that only pushes?")
    }
}
