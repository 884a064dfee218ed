//! How long a steal takes.

use super::{EFFORT, queues, shares};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{PADWS, Paper, Table};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Experiment, Plot, Program, each};
use crate::identity::Placement;

static PAPER: Paper = Paper {
    document: &PADWS,
    place: "figure 2b",
    shows: "The mean time of a steal: highest on private deques, above that of ABP with all its fences; lowest on PadWS.",
    tables: &[Table {
        caption: "Mean time of a steal, over that of private deques.",
        heads: &["queue", "ratio"],
        rows: &[&["PadWS", "0.32"]],
    }],
    marks: &[],
};

const PROGRAM: [Option<&str>; 3] = [
    Some("steal-latency:n=100000:work=100:share=*"),
    Some("steal-latency:n=1000000:work=100:share=*"),
    Some("steal-latency:n=10000000:work=100:share=*"),
];

const ASKED: &str = "filch pdq-r pinned";
const DEALT: &str = "filch pdq-s:delta=0us pinned";
/// The text has "approximately 0.32×": a third more or less is the same on another machine.
const THIRD: Limit = Limit::Within(0.24, 0.43);

pub(super) fn experiment() -> Experiment {
    let over = |text, who, other, limit| {
        Claim::new(text, Pick::at(who, "10"), Measure::Over(Quantity::STEAL_TIME, Pick::at(other, "10")), limit).on(2)
    };
    let (abp, pad) = ("filch abp pinned", "filch padws pinned");
    Experiment {
        name: Some("padws-fig2b"),
        entries: each(&[Program::sized(PROGRAM)], &queues()),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: shares(&[5, 10, 20, 50]),
        effort: EFFORT,
        columns: &["stolen", "steal-mean", "steal-p50", "steal-p90", "steal-p99", "steal-elapsed", "retries-per-steal"],
        plots: &[Plot::Swept("steal-mean"), Plot::Swept("steal-elapsed"), Plot::Swept("steal-p99")],
        differs: &[
            "The paper does not say how it times a steal. A thief that waits for its owner (pdq-r, pdq-s) is timed by the clock, from its \
             request, or from when it says that it is idle, to the task. Of all others the time within their attempts counts, those that \
             came back without a task included, since a thief may do something else in between. The column steal-elapsed is by the clock for \
             all, so that both can be compared. Lines without it are older: they have pdq-r's time within its attempts, which is less.",
        ],
        claims: vec![
            over("A steal takes longer on a private deque than on ABP.", ASKED, abp, Limit::Above(1.0)),
            over("So it does if the owner deals tasks by itself.", DEALT, abp, Limit::Above(1.0)),
            over("A steal takes less time on PadWS than on ABP.", pad, abp, Limit::Below(1.0)),
            over("It takes less than on BWoS.", pad, "filch bwos-l pinned", Limit::Below(1.0)),
            over("It takes about a third of the time on a private deque whose thief asks.", pad, ASKED, THIRD),
            over("So it does where the owner deals.", pad, DEALT, THIRD),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How long does a steal take?")
    }
}
