//! How fast an owner is while thieves take a share of its tasks.

use super::{EFFORT, queues, shares};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{PADWS, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Experiment, Plot, Program, each};
use crate::identity::Placement;

static PAPER: Paper = Paper {
    document: &PADWS,
    place: "figure 2a",
    shows: "The owner's throughput against the share of stolen tasks, for one thief. Private deques drop sharply as soon as there are \
            steals; BWoS and PadWS hardly change.",
    tables: &[],
    marks: &[],
};

/// Batches of several blocks, since thieves of BWoS take nothing from the owner's; and work, so that a thief can take half of the tasks.
const PROGRAM: [Option<&str>; 3] = [
    Some("owner-throughput:n=100000,batch=256,work=50,share=*"),
    Some("owner-throughput:n=1000000,batch=256,work=50,share=*"),
    Some("owner-throughput:n=10000000,batch=256,work=50,share=*"),
];

/// With a share of 0 there is no thief.
pub(super) fn experiment() -> Experiment {
    let slows = |text, who, shares, limit| {
        Claim::new(text, Pick::among(who, shares), Measure::Over(Quantity::Time, Pick::at(who, "0")), limit).on(2)
    };
    let beats = |text, other| {
        let over = Measure::Over(Quantity::Time, Pick::at(other, "20"));
        Claim::new(text, Pick::at("filch padws pinned", "20"), over, Limit::Below(1.0)).on(2)
    };
    let (flat, slower) = (Limit::Within(0.75, 1.25), Limit::Above(1.2));
    Experiment {
        name: Some("padws-fig2a"),
        entries: each(&[Program::sized(PROGRAM)], &queues()),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: shares(&[0, 5, 10, 20, 30, 50]),
        effort: EFFORT,
        columns: &["median", "spread", "owner-rate", "stolen", "retries-per-steal"],
        plots: &[Plot::Swept("owner-rate"), Plot::Swept("stolen")],
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
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How fast is an owner while thieves take a share of its tasks?")
    }
}
