//! Whether thieves should take half of a queue.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};

const ONE: [&str; 3] = ["filch hendler-shavit:steal=one", "filch dsq:steal=one", "filch pdq-r:steal=one"];
const HALF: [&str; 3] = ["filch hendler-shavit:steal=half", "filch dsq:steal=half", "filch pdq-r:steal=half"];

/// A search of a graph, a task per vertex, and an unbalanced tree, on the three queues that were made for it.
pub(super) fn experiment() -> Experiment {
    let programs = [
        Program::sized([
            Some("pseudo-dfs:n=150000:task=node"),
            Some("pseudo-dfs:n=1000000:task=node"),
            Some("pseudo-dfs:n=40000000:task=node"),
        ]),
        Program::sized([Some("uts:tree=T3:b=500:seed=4"), Some("uts:tree=T3S"), Some("uts:tree=T3L")]),
    ];
    let contenders: Vec<Contender> = ["hendler-shavit", "dsq", "pdq-r"]
        .into_iter()
        .flat_map(|name| ["one", "half"].map(|amount| Contender::pool(format!("{name}:steal={amount}"))))
        .collect();
    let fewer = |text, nth: usize| {
        let over = Measure::Over(Quantity::Counter("attempts"), Pick::any(ONE[nth]));
        Claim::new(text, Pick::any(HALF[nth]), over, Limit::Below(0.5)).on(2).in_programs(&["pseudo-dfs"])
    };
    let no_slower = |text, nth: usize| {
        let over = Measure::Over(Quantity::Time, Pick::any(ONE[nth]));
        Claim::new(text, Pick::any(HALF[nth]), over, Limit::Below(1.1)).on(2)
    };
    Experiment {
        name: Some("half"),
        entries: each(&programs, &contenders),
        workers: vec![1, 2],
        effort: Effort { budget: 40, visit: 0.08, ..Effort::default() },
        columns: &["median", "spread", "relative-speedup", "steals", "migrations", "leaps"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            fewer("In a search, thieves that take half come half as often to Hendler and Shavit's queue.", 0),
            fewer("So they do to the split queue of Dinan et al.", 1),
            no_slower("Nothing becomes slower on Hendler and Shavit's queue.", 0),
            no_slower("Nor on the split queue of Dinan et al.", 1),
            no_slower("Nor on private deques.", 2),
        ],
        ..Experiment::new("Should a thief take half of a queue?")
    }
}
