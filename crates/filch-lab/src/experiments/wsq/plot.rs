//! From which size on jobs pay.

use super::{ENDS, LOOP, RECORDS, SOURCE, THEIRS, VICTIMS, WAITS};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{Paper, WSQ};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};
use crate::experiments::up_to_all;

static PAPER: Paper = Paper {
    document: &WSQ,
    place: "the plot of its README",
    shows: "The speed-up of 10000 jobs of 100 to 7000 rounds over a loop, on one to sixteen threads: it approaches the number of threads. \
            The curves have no numbers.",
    tables: &[],
    marks: &[],
};

/// Below the same job system: the source's queue, and the two that split the work in other ways.
pub(super) fn experiment() -> Experiment {
    let values = std::iter::once(100).chain((200..=7000).step_by(200)).map(|rounds: u32| rounds.to_string()).collect();
    let speedup = |text, at, workers, limit| {
        Claim::new(text, Pick::at(THEIRS, at), Measure::Of(Comparison::Speedup), limit).on(workers)
    };
    let faster = |text, who| {
        let over = Measure::Over(Quantity::Time, Pick::any(who).with_workers(1));
        Claim::new(text, Pick::any(who), over, Limit::Below(1.0)).on(2)
    };
    Experiment {
        name: Some("wsq-plot"),
        entries: each(
            &[Program::new("wsq:k=*")],
            &[SOURCE, "chase-lev:capacity=65472:idle=spin", "padws:capacity=65472:idle=spin"].map(Contender::pool),
        ),
        workers: [vec![1], up_to_all(16)].concat(),
        sweep: Some(Sweep { parameter: "k", values, meaning: "rounds of work per job, some 1.5 ns each" }),
        effort: Effort { budget: 50, visit: 0.02, ..Effort::default() },
        columns: &["median", "spread", "task-time", "speedup", "capacity-share", "steals"],
        plots: &[Plot::Swept("speedup")],
        differs: &[
            "The source has a curve for each number of threads up to sixteen, and a point for each hundred rounds; ours are the doublings of \
             threads, and every second point at most.",
            LOOP,
            WAITS,
            ENDS,
            VICTIMS,
            RECORDS,
        ],
        claims: vec![
            speedup("On one worker, jobs of 7000 rounds are as fast as a loop.", "7000", 1, Limit::Above(0.95)),
            Claim::new(
                "On two, they use almost all that the processors have.",
                Pick::at(THEIRS, "7000"),
                Measure::Of(Comparison::CapacityShare),
                Limit::Above(0.9),
            )
            .on(2),
            speedup("They are almost twice as fast.", "7000", 2, Limit::Above(1.8)),
            faster("At every size, two workers are faster than one.", THEIRS),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("From which size on do jobs pay?")
    }
}
