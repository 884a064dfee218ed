//! How often an owner should look for requests.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};
use crate::identity::Placement;

/// The rate of the owner against the time of a steal.
pub(super) fn experiment() -> Experiment {
    let programs = [
        Program::sized([
            Some("owner-throughput:n=200000:share=10:work=20"),
            Some("owner-throughput:n=1000000:share=10:work=20"),
            Some("owner-throughput:n=10000000:share=10:work=20"),
        ]),
        Program::sized([
            Some("steal-latency:n=200000:share=10:work=20"),
            Some("steal-latency:n=1000000:share=10:work=20"),
            Some("steal-latency:n=10000000:share=10:work=20"),
        ]),
    ];
    let values = [1, 2, 4, 16, 64].map(|operations: u32| operations.to_string()).to_vec();
    let over = |text, who, of, limit| {
        Claim::new(text, Pick::at(who, "64"), Measure::Over(of, Pick::at(who, "1")), limit).on(2)
    };
    Experiment {
        name: Some("pad-poll"),
        entries: each(&programs, &["padws:poll=*", "adws:poll=*"].map(Contender::pool)),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: Some(Sweep { parameter: "poll", values, meaning: "operations from one look for requests to the next" }),
        effort: Effort { budget: 40, visit: 0.06, ..Effort::default() },
        columns: &["owner-rate", "stolen", "steal-mean", "steal-p99", "retries-per-steal"],
        plots: &[Plot::Swept("owner-rate"), Plot::Swept("steal-mean"), Plot::Swept("retries-per-steal")],
        claims: vec![
            over(
                "An owner that looks at each 64th operation is hardly faster.",
                "filch adws pinned",
                Quantity::OWNER_RATE,
                Limit::Within(0.85, 1.25),
            )
            .in_programs(&["owner-throughput"]),
            over(
                "But its thieves come in vain several times as often.",
                "filch adws pinned",
                Quantity::RETRIES,
                Limit::Above(2.0),
            )
            .in_programs(&["steal-latency"]),
            over("And a steal takes longer.", "filch adws pinned", Quantity::STEAL_TIME, Limit::Above(1.5))
                .in_programs(&["steal-latency"]),
        ],
        ..Experiment::new("How often should an owner look for requests?")
    }
}
