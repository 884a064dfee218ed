//! How deep the workers' stacks of tasks become.

use super::{LACE, OF_LACE, OF_LACE_RANDOM, T3_FOR_MANY, WOOL, pool, workers};
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{LACE as DOCUMENT, Paper, Table};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &DOCUMENT,
    place: "section 4.3",
    shows: "Leapfrogging bounds a worker's stack by that of a sequential run; random stealing has no such bound, but takes at most a \
            megabyte more per worker.",
    tables: &[Table {
        caption: "uts T3L on 48 workers: the greatest number of tasks on a worker's stack, from the lowest stack to the highest.",
        heads: &["while waiting", "lowest", "highest"],
        rows: &[&["leapfrogging", "6500", "12500"], &["leapfrogging, then random stealing", "17000", "21000"]],
    }],
    marks: &[],
};

const DEPTH: Quantity = Quantity::Counter("peak_depth");
const WOOL_TRANSITIVE: Pick = Pick::any("filch wool:loss=give-up:leaps=adaptive transitive");

/// The direct stacks: pools with queues have none. The bound depends on whom a worker may steal from, and not on how
/// fast it is; but where workers share processors, few tasks are stolen, and the first worker's stack stays the
/// deepest.
pub(super) fn experiment() -> Experiment {
    let contenders = [
        pool(LACE, "leapfrog"),
        Contender::pool(format!("{LACE}:leaps=1")),
        pool(&format!("{WOOL}:leaps=adaptive"), "transitive"),
        Contender::pool("split"),
    ];
    let bounded = |text, who: Pick| {
        Claim::new(text, who, Measure::Over(DEPTH, who.with_workers(1)), Limit::Below(1.001))
            .on(8)
            .on_shared_processors()
    };
    Experiment {
        name: Some("lace-depth"),
        entries: each(&[Program::sized(T3_FOR_MANY)], &contenders),
        workers: workers(&[1, 2, 4, 8]),
        effort: Effort { budget: 40, visit: 0.1, ..Effort::default() },
        columns: &["median", "depth", "least-depth", "steals", "leaps"],
        plots: &[Plot::Times],
        claims: vec![
            bounded("With plain leapfrogging, no stack becomes deeper than that of one worker.", OF_LACE),
            bounded("Nor does it with transitive leapfrogging.", WOOL_TRANSITIVE),
            Claim::new(
                "Random stealing makes the deepest stack deeper.",
                OF_LACE_RANDOM,
                Measure::Over(DEPTH, OF_LACE),
                Limit::Above(1.3),
            )
            .on(8)
            .needs(Need::Processors(8)),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How deep do the workers' stacks become if they may steal from anyone while they wait?")
    }
}
