//! How fast an owner is while thieves take a share of its tasks.

use super::{EFFORT, queues, shares};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{PADWS, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Effort, Experiment, Plot, Program, each};
use crate::identity::Placement;

static PAPER: Paper = Paper {
    document: &PADWS,
    place: "figure 2a",
    shows: "The owner's throughput against the share of stolen tasks, for one thief. Private deques drop sharply as soon as there are \
            steals; BWoS and PadWS hardly change.",
    tables: &[],
    marks: &[],
};

/// Batches of several blocks, since thieves of BWoS take nothing from the owner's; and work, so that a thief can take
/// half of the tasks.
const WORKING: [Option<&str>; 3] = [
    Some("owner-throughput:n=100000:batch=256:work=50:share=*"),
    Some("owner-throughput:n=1000000:batch=256:work=50:share=*"),
    Some("owner-throughput:n=10000000:batch=256:work=50:share=*"),
];

/// An owner that only pushes and pops, by the batch of default length.
const BARE: [Option<&str>; 3] = [
    Some("owner-throughput:n=300000:share=*"),
    Some("owner-throughput:n=3000000:share=*"),
    Some("owner-throughput:n=30000000:share=*"),
];
/// The lengths of batches, by which claims tell the programs apart.
const OF_WORKING: (&str, &str) = ("batch", "256");
const OF_BARE: (&str, &str) = ("batch", "64");

/// With a share of 0 there is no thief.
pub(super) fn experiment() -> Experiment {
    let slows_in = |(name, value), text, who, shares, limit| {
        let over = Measure::Over(Quantity::Time, Pick::at(who, "0"));
        Claim::new(text, Pick::among(who, shares), over, limit).on(2).with(name, value)
    };
    let slows = |text, who, shares, limit| slows_in(OF_WORKING, text, who, shares, limit);
    let beats = |text, other| {
        let over = Measure::Over(Quantity::Time, Pick::at(other, "20"));
        Claim::new(text, Pick::at("filch padws pinned", "20"), over, Limit::Below(1.0))
            .on(2)
            .with(OF_WORKING.0, OF_WORKING.1)
    };
    // "Negligible" and "significantly" have no numbers in the text: a tenth and a fifth are ours, and nothing is both.
    // An owner may be much faster with a thief, which takes a fifth of its pops.
    let (flat, slower) = (Limit::Below(1.1), Limit::Above(1.2));
    Experiment {
        name: Some("padws-fig2a"),
        entries: each(&[WORKING, BARE].map(Program::sized), &queues()),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: shares(&[0, 5, 10, 20, 30, 50]),
        effort: Effort { budget: 80, ..EFFORT },
        columns: &["median", "spread", "owner-rate", "stolen", "grants", "retries-per-steal"],
        plots: &[Plot::Swept("owner-rate"), Plot::Swept("stolen")],
        differs: &[
            "The paper does not say how many tasks are in the queue, nor how a thief gets half of the tasks of an owner that only pushes and \
             pops, which is many times as fast. Batches of 256 are longer than a block, from the newest of which a thief of BWoS takes \
             nothing; with work=50 the owner works for some 75 ns after each push, which hides a part of what a thief costs it. With batches \
             of 64 and no work, nothing is hidden, but thieves get less than the share: see the column stolen.",
        ],
        claims: vec![
            slows(
                "A thief that takes up to a fifth of the tasks hardly slows the owner of PadWS.",
                "filch padws pinned",
                &["5", "10", "20"],
                flat,
            ),
            slows("Nor does it slow the owner of BWoS.", "filch bwos-l pinned", &["5", "10", "20"], flat),
            slows("It slows the owner of a private deque, which has to answer.", "filch pdq-r pinned", &["20"], slower),
            slows("So it does if the owner deals tasks by itself.", "filch pdq-s:delta=0us pinned", &["20"], slower),
            beats("At that share, the owner of PadWS is faster than that of a private deque.", "filch pdq-r pinned"),
            beats("It is faster than that of ABP.", "filch abp pinned"),
            slows_in(
                OF_BARE,
                "An owner that only pushes and pops is slowed, too, if it has to answer.",
                "filch pdq-r pinned",
                &["20"],
                slower,
            ),
            slows_in(
                OF_BARE,
                "That of PadWS hardly is, by what the thief gets.",
                "filch padws pinned",
                &["5", "10", "20"],
                flat,
            ),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How fast is an owner while thieves take a share of its tasks?")
    }
}
