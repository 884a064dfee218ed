//! How often workers steal, leap, and move the split point.

use super::{LACE, OF_LACE, OURS, T2, T3_FOR_MANY, T3_NAMES, pool, workers};
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{LACE as DOCUMENT, Paper, Table};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

static PAPER: Paper = Paper {
    document: &DOCUMENT,
    place: "figure 7",
    shows: "Each shrink of the shared part is a fence, and there is no other. T3L has far more of everything, since its stolen subtrees \
            are small.",
    tables: &[Table {
        caption: "Means of seven runs on 48 workers. The numbers of tasks are those of section 4.1.",
        heads: &["program", "tasks", "steals", "leaps", "grows", "shrinks"],
        rows: &[
            &["fib 50", "20365011073", "865", "50569", "70789", "97750"],
            &["uts T2L", "96793509", "4554", "82440", "72222", "57701"],
            &["uts T3L", "111345630", "158566", "4443432", "2173006", "846509"],
            &["queens 15", "171129071", "1964", "6053", "5694", "6618"],
            &["matmul 4096", "3595117", "2492", "12456", "13081", "9911"],
        ],
    }],
    marks: &[],
};

/// The same algorithm as a queue of words.
const QUEUE: &str = "lace:moves=half-stores:loss=give-up";
const OF_QUEUE: Pick = Pick::any("filch lace:moves=half-stores:loss=give-up leapfrog");

const FENCES: Quantity = Quantity::Per(&Quantity::Counter("shrinks"), &Quantity::Tasks);
const LEAPS: Quantity = Quantity::Per(&Quantity::Counter("leaps"), &Quantity::Counter("steals"));
const EVENTS: Quantity = Quantity::Per(
    &Quantity::Sum(&[
        Quantity::Counter("steals"),
        Quantity::Counter("leaps"),
        Quantity::Counter("grows"),
        Quantity::Counter("shrinks"),
    ]),
    &Quantity::Tasks,
);

/// The paper's deque, as the direct stack and as a queue of words; and ours, whose owner shares more: tasks of
/// microseconds all, since there a fence costs little.
pub(super) fn experiment() -> Experiment {
    let programs = [
        [Some("fib"), Some("fib"), Some("fib:n=50")],
        T2,
        T3_FOR_MANY,
        [Some("queens"), Some("queens"), Some("queens:n=15")],
        [Some("matmul:n=512"), Some("matmul:n=1024"), Some("matmul:n=4096")],
    ]
    .map(Program::sized);
    let contenders = [pool(LACE, "leapfrog"), pool(QUEUE, "leapfrog"), Contender::pool("split")];
    let fences_less = |text, who, limit| Claim::new(text, who, Measure::Is(FENCES), Limit::Below(limit)).on(2);
    Experiment {
        name: Some("lace-fig7"),
        entries: each(&programs, &contenders),
        workers: workers(&[2]),
        effort: Effort { budget: 50, visit: 0.1, ..Effort::default() },
        columns: &["median", "steals", "leaps", "grows", "shrinks", "relative-speedup"],
        plots: &[Plot::Times],
        claims: vec![
            fences_less("An owner fences, to take tasks back, for fewer than one task in a hundred.", OF_LACE, 0.01),
            fences_less("So does the owner of a queue of words.", OF_QUEUE, 0.01),
            fences_less("By filch's own policy it does so for fewer than one short task in thirty.", OURS, 0.033)
                .in_programs(&["fib", "uts", "queens"]),
            Claim::new(
                "An owner fences for more than one task in a million.",
                OF_LACE,
                Measure::Is(FENCES),
                Limit::Above(1e-6),
            )
            .needs(Need::Processors(48)),
            Claim::new(
                "Per task, T3 has at least ten times as many steals, leaps and moves of the split point as fib.",
                OF_LACE,
                Measure::Over(EVENTS, OF_LACE.in_program("fib")),
                Limit::Above(10.0),
            )
            .on(2)
            .in_programs(T3_NAMES),
            Claim::new(
                "Workers that wait for a stolen task take more tasks than idle ones.",
                OF_LACE,
                Measure::Is(LEAPS),
                Limit::Above(1.0),
            )
            .needs(Need::Processors(48)),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("How often do workers steal, leap, and move the split point?")
    }
}
