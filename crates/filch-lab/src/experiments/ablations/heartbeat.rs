//! How often a worker should promote a fork to a task that thieves can take.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

const BEATING: &str = "filch heartbeat";

/// fib and an unbalanced tree; the default pool, which shares on request, for comparison.
pub(super) fn experiment() -> Experiment {
    let programs = [
        Program::new("fib"),
        Program::sized([Some("uts:tree=T3:b=500:seed=4"), Some("uts:tree=T3S"), Some("uts:tree=T3L")]),
    ];
    let values = ["10us", "30us", "100us", "300us", "1ms"].map(str::to_owned).to_vec();
    Experiment {
        name: Some("hb"),
        entries: each(&programs, &["heartbeat:beat=*", "split"].map(Contender::pool)),
        workers: vec![1, 2],
        sweep: Some(Sweep { parameter: "beat", values, meaning: "time between two promotions" }),
        effort: Effort { budget: 40, visit: 0.08, ..Effort::default() },
        columns: &["median", "spread", "overhead", "relative-speedup", "capacity-share", "grows", "steals"],
        plots: &[Plot::Swept("median"), Plot::Swept("relative-speedup"), Plot::Swept("grows")],
        claims: vec![
            Claim::new(
                "One worker, whom no beat interrupts, takes less than twice the time of the default pool.",
                Pick::at(BEATING, "100us"),
                Measure::Over(Quantity::Time, Pick::any("filch split")),
                Limit::Below(2.0),
            )
            .on(1),
            Claim::new(
                "On fib, a beat of 10 µs makes two workers at most a fifth slower than one of a millisecond.",
                Pick::at(BEATING, "10us"),
                Measure::Over(Quantity::Time, Pick::at(BEATING, "1ms")),
                Limit::Below(1.2),
            )
            .on(2)
            .in_programs(&["fib"]),
            Claim::new(
                "It promotes at least three times as often.",
                Pick::at(BEATING, "10us"),
                Measure::Over(Quantity::Counter("grows"), Pick::at(BEATING, "1ms")),
                Limit::Above(3.0),
            )
            .on(2),
            Claim::new(
                "With a beat of 100 µs, two workers use almost all that the processors have.",
                Pick::at(BEATING, "100us"),
                Measure::Of(Comparison::CapacityShare),
                Limit::Above(0.8),
            )
            .on(2),
        ],
        ..Experiment::new("How often should a worker promote a fork to a task?")
    }
}
