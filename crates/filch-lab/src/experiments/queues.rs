//! What thieves cost an owner, and an owner its thieves, on one queue.
//!
//! After Wang et al., *Work Stealing through Partial Asynchronous Delegation*, SPAA 2024, figure 2: an owner that answers requests itself slows
//! down as soon as thieves steal, one whose thieves work on other blocks does not; delegation makes steals fast, because thieves seldom wait.

use filch_catalogue::QUEUES;

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};
use crate::identity::Placement;

/// Batches of several blocks, since thieves of BWoS take nothing from the owner's; and work, so that a thief can take half of the tasks.
const OWNER: &str = "owner-throughput:n=300000,batch=256,work=100,share=*";
const LATENCY: &str = "steal-latency:n=300000,work=100,share=*";
const THROUGHPUT: &str = "steal-throughput";

fn queues() -> Vec<Contender> {
    QUEUES.iter().map(|queue| Contender::pool(queue.name)).collect()
}

fn shares(values: &[u32]) -> Option<Sweep> {
    let values = values.iter().map(u32::to_string).collect();
    Some(Sweep { parameter: "share", values, meaning: "per cent of the tasks that a thief shall take" })
}

/// The time of this owner with a share of 10 over that without a thief.
fn slows(text: &'static str, who: &'static str, limit: Limit) -> Claim {
    Claim::new(text, Pick::at(who, "10"), Measure::Over(Quantity::Time, Pick::at(who, "0")), limit).on(2)
}

/// Short visits: there are many queues and shares.
const EFFORT: Effort = Effort { at_least: 5, at_most: 30, budget: 120, visit: 0.06 };

/// Figure 2a, on every queue. With a share of 0 there is no thief.
pub(crate) fn owners() -> Experiment {
    Experiment {
        name: Some("owners"),
        entries: each(&[Program::new(OWNER)], &queues()),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: shares(&[0, 5, 10, 20, 30, 50]),
        effort: EFFORT,
        columns: &["median", "spread", "owner-rate", "stolen", "retries-per-steal"],
        plots: &[Plot::Swept("owner-rate"), Plot::Swept("stolen")],
        claims: vec![
            slows(
                "A thief that takes a tenth of the tasks hardly slows the owner of PadWS.",
                "filch padws pinned",
                Limit::Within(0.8, 1.2),
            ),
            slows("Nor does it slow the owner of BWoS.", "filch bwos-l pinned", Limit::Within(0.8, 1.2)),
            slows(
                "It slows the owner of a private deque, which has to answer.",
                "filch pdq-r-async pinned",
                Limit::Above(1.2),
            ),
        ],
        ..Experiment::new("How fast is an owner while thieves take a share of its tasks?")
    }
}

/// Figures 2b and 2d, on every queue.
pub(crate) fn steals() -> Experiment {
    Experiment {
        name: Some("steals"),
        entries: each(&[Program::new(LATENCY)], &queues()),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: shares(&[5, 10, 20, 30, 50]),
        effort: EFFORT,
        columns: &["stolen", "steal-mean", "steal-p50", "steal-p90", "steal-p99", "retries-per-steal"],
        plots: &[Plot::Swept("steal-mean"), Plot::Swept("retries-per-steal")],
        claims: vec![
            Claim::new(
                "A thief that takes a tenth of the tasks by delegation alone tries again less than once per steal.",
                Pick::at("filch adws pinned", "10"),
                Measure::Is(Quantity::RETRIES),
                Limit::Below(1.0),
            )
            .on(2),
        ],
        ..Experiment::new("How long does a steal take, and how often is it tried again?")
    }
}

/// Figure 2c, on every queue.
pub(crate) fn thieves() -> Experiment {
    Experiment {
        name: Some("thieves"),
        entries: each(&[Program::new(THROUGHPUT)], &queues()),
        workers: vec![2, 3, 4],
        placements: vec![Placement::Pinned],
        effort: EFFORT,
        columns: &["median", "spread", "steal-rate", "stolen", "retries-per-steal"],
        plots: &[Plot::Times],
        ..Experiment::new("How many tasks do thieves get from an owner that only pushes?")
    }
}
