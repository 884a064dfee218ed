//! How often a thief that does not wait for an answer has to come again.

use super::{EFFORT, shares};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{PADWS, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};
use crate::identity::Placement;

static PAPER: Paper = Paper {
    document: &PADWS,
    place: "figure 2d",
    shows: "The mean number of retries of a steal by asynchronous delegation alone (adws), against the share of stolen tasks: most steals \
            need none.",
    tables: &[],
    marks: &[],
};

const PROGRAM: [Option<&str>; 3] = [
    Some("steal-latency:n=100000:work=100:share=*"),
    Some("steal-latency:n=1000000:work=100:share=*"),
    Some("steal-latency:n=10000000:work=100:share=*"),
];

/// The paper's queue, with blocks too, and private deques whose thieves come back as well.
pub(super) fn experiment() -> Experiment {
    let retries = |text, who, limit| {
        let of = Pick::among(who, &["5", "10", "20"]);
        Claim::new(text, of, Measure::Is(Quantity::RETRIES), limit).on(2)
    };
    Experiment {
        name: Some("padws-fig2d"),
        entries: each(&[Program::sized(PROGRAM)], &["adws", "padws", "pdq-r-async"].map(Contender::pool)),
        workers: vec![2],
        placements: vec![Placement::Pinned],
        sweep: shares(&[5, 10, 20, 30, 50]),
        effort: Effort { budget: 30, ..EFFORT },
        columns: &["stolen", "retries-per-steal", "steal-mean", "steal-p99"],
        plots: &[Plot::Swept("retries-per-steal"), Plot::Swept("stolen")],
        claims: vec![
            // If there is less than one retry for two steals, most need none, as the text says.
            retries(
                "Up to a fifth of the tasks, most steals by asynchronous delegation need no retry.",
                "filch adws pinned",
                Limit::Below(0.5),
            ),
            retries("So they do with blocks.", "filch padws pinned", Limit::Below(0.5)),
            retries(
                "A steal from a private deque, whose thief asks for itself, needs more than one.",
                "filch pdq-r-async pinned",
                Limit::Above(1.0),
            ),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How often must a thief come again if it does not wait for an answer?")
    }
}
