//! Whether programs need a cut-off below which they do not fork.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, Sweep, each};

/// fib with forks only above an argument; fib(25) is a quarter of a millisecond of work.
pub(crate) fn experiment() -> Experiment {
    let contenders = [Contender::pool("split"), Contender::peer("rayon"), Contender::peer("chili")];
    let values = [0, 5, 10, 15, 20, 25].map(|cutoff: u32| cutoff.to_string()).to_vec();
    let needs = |text, who, limit| {
        let over_any = Measure::Over(Quantity::Time, Pick::any(who));
        Claim::new(text, Pick::at(who, "0"), over_any, limit).on(2)
    };
    Experiment {
        name: Some("cutoff"),
        entries: each(&[Program::new("fib:cutoff=*")], &contenders),
        workers: vec![1, 2],
        sweep: Some(Sweep { parameter: "cutoff", values, meaning: "argument of fib up to which it does not fork" }),
        effort: Effort { budget: 60, ..Effort::default() },
        columns: &["median", "spread", "overhead", "speedup", "steals"],
        plots: &[Plot::Swept("median"), Plot::Swept("speedup"), Plot::Times],
        claims: vec![
            needs(
                "filch needs no cut-off: without one, its time is less than 1.5 times that with any.",
                "filch split",
                Limit::Below(1.5),
            ),
            needs(
                "rayon needs a cut-off: without one, it takes more than twice its time with any.",
                "rayon",
                Limit::Above(2.0),
            ),
        ],
        ..Experiment::new("Does a program need a cut-off below which it does not fork?")
    }
}
