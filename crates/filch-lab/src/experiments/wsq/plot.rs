//! From which size on jobs pay.

use filch_protocol::cores;

use super::SOURCE;
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{Paper, WSQ};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

static PAPER: Paper = Paper {
    document: &WSQ,
    place: "the plot of its README",
    shows: "The speed-up of 10000 jobs of 100 to 7000 rounds over a loop, on one to sixteen threads: it approaches the number of threads. \
            The curves have no numbers.",
    tables: &[],
    marks: &[],
};

const THEIRS: &str = "filch wsq:steal=half:first=oldest";

/// Below the same job system: the source's queue, and the two that split the work in other ways.
pub(super) fn experiment() -> Experiment {
    let values = [100, 200, 400, 700, 1000, 2000, 3000, 5000, 7000].map(|rounds: u32| rounds.to_string()).to_vec();
    let all = cores().clamp(2, 16);
    let speedup = |text, at, workers, limit| {
        Claim::new(text, Pick::at(THEIRS, at), Measure::Of(Comparison::Speedup), limit).on(workers)
    };
    let faster = |text, who| {
        let over = Measure::Over(Quantity::Time, Pick::any(who).with_workers(1));
        Claim::new(text, Pick::any(who), over, Limit::Below(1.0)).on(2)
    };
    Experiment {
        name: Some("wsq-plot"),
        entries: each(&[Program::new("wsq:k=*")], &[SOURCE, "chase-lev", "padws"].map(Contender::pool)),
        workers: if all > 2 { vec![1, 2, all] } else { vec![1, 2] },
        sweep: Some(Sweep { parameter: "k", values, meaning: "rounds of work per job, some 1.5 ns each" }),
        effort: Effort { budget: 50, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "task-time", "speedup", "capacity-share", "steals"],
        plots: &[Plot::Swept("speedup")],
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
