//! Speed-up against the number of workers.

use super::{LACE, OF_LACE, OF_PRIVATE, PRIVATE, PRIVATE_DIFFERS, T3, T3_NAMES, pool, workers};
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{LACE as DOCUMENT, Mark, Paper, Table};
use crate::experiment::quantity::{Comparison, Measure, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &DOCUMENT,
    place: "figure 6",
    shows: "T1/TN of fib 50 and uts T3L. fib scales almost linearly; T3L gains little beyond 16 workers. The curves have no numbers; \
            their ends are in figure 5.",
    tables: &[Table {
        caption: "T1/T48, from figure 5.",
        heads: &["program", "Lace", "private"],
        rows: &[&["fib 50", "34.9", "39.8"], &["uts T3L", "19.9", "17.5"]],
    }],
    marks: &[
        Mark { column: "relative-speedup", program: "fib", label: "Lace in figure 5", points: &[(48.0, 34.9)] },
        Mark { column: "relative-speedup", program: "fib", label: "private in figure 5", points: &[(48.0, 39.8)] },
        Mark { column: "relative-speedup", program: "uts", label: "Lace in figure 5", points: &[(48.0, 19.9)] },
        Mark { column: "relative-speedup", program: "uts", label: "private in figure 5", points: &[(48.0, 17.5)] },
    ],
};

/// The paper's two pools with plain leapfrogging, and ours.
pub(super) fn experiment() -> Experiment {
    let programs = [[Some("fib"), Some("fib"), Some("fib:n=50")], T3].map(Program::sized);
    let contenders = [pool(LACE, "leapfrog"), pool(PRIVATE, "leapfrog"), Contender::pool("split")];
    let scales = |text, who, workers| {
        Claim::new(text, who, Measure::Of(Comparison::CapacityShare), Limit::Above(0.8)).on(workers)
    };
    Experiment {
        name: Some("lace-fig6"),
        entries: each(&programs, &contenders),
        workers: workers(&[1, 2, 4, 8]),
        effort: Effort { budget: 50, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "speedup", "relative-speedup", "capacity-share", "leaps"],
        plots: &[Plot::RelativeSpeedup, Plot::Times],
        claims: vec![
            scales("Two workers share fib and T3 almost perfectly on the split deque.", OF_LACE, 2),
            scales("So they do on private deques.", OF_PRIVATE, 2),
            scales("Eight workers share fib almost perfectly.", OF_LACE, 8).in_programs(&["fib"]),
            Claim::new(
                "T3 gains little beyond 16 workers.",
                OF_LACE,
                Measure::Over(Quantity::Time, OF_LACE.with_workers(16)),
                Limit::Above(0.6),
            )
            .on(48)
            .in_programs(T3_NAMES)
            .needs(Need::Processors(48)),
            Claim::new(
                "fib gains from each worker.",
                OF_LACE,
                Measure::Over(Quantity::Time, OF_LACE.with_workers(16)),
                Limit::Below(0.6),
            )
            .on(48)
            .in_programs(&["fib"])
            .needs(Need::Processors(48)),
        ],
        paper: Some(&PAPER),
        differs: PRIVATE_DIFFERS,
        ..Experiment::new("How far do a skewed and an unbalanced tree of tasks scale with plain leapfrogging?")
    }
}
