//! Whether the owner of a split deque should move the split point by half-word stores or by updates of the whole word.

use crate::experiment::claim::{Claim, Limit};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Entry, Experiment, Plot, Program};

/// Half-word stores, which Lace has, need a fence when the shared part shrinks, and assembly; an update of the whole
/// word is a locked instruction also when it grows. Programs whose owners seldom move it, and queues whose owner always
/// does.
pub(super) fn experiment() -> Experiment {
    let entry = |program: Program, names: [&str; 2]| Entry { program, contenders: names.map(Contender::pool).to_vec() };
    let pools = ["split", "split:moves=half-stores"];
    let queues = ["lace", "lace:moves=half-stores"];
    let over = |text, of, other| {
        let over = Measure::Over(Quantity::Time, Pick::any(other));
        Claim::new(text, Pick::any(of), over, Limit::Within(0.87, 1.15)).in_programs(&["fib", "uts"])
    };
    let half_stores = "filch split:moves=half-stores";
    Experiment {
        name: Some("lace-rmw"),
        entries: vec![
            entry(Program::new("fib"), pools),
            entry(
                Program::sized([Some("uts:tree=T3:b=500:seed=4"), Some("uts:tree=T3S"), Some("uts:tree=T3L")]),
                pools,
            ),
            entry(
                Program::sized([
                    Some("owner-throughput:n=200000:share=20"),
                    Some("owner-throughput:n=1000000:share=20"),
                    Some("owner-throughput:n=10000000:share=20"),
                ]),
                queues,
            ),
        ],
        workers: vec![1, 2],
        effort: Effort { budget: 40, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "grows", "shrinks", "fork", "owner-rate"],
        plots: &[Plot::Times],
        claims: vec![
            over("On one worker, half-word stores change nothing.", half_stores, "filch split").on(1),
            over("Nor do they on two.", half_stores, "filch split").on(2),
            Claim::new(
                "An owner whose thieves take a fifth of its tasks is at least as fast with half-word stores.",
                Pick::any("filch lace:moves=half-stores"),
                Measure::Over(Quantity::OWNER_RATE, Pick::any("filch lace")),
                Limit::Above(0.9),
            )
            .on(2)
            .in_programs(&["owner-throughput"]),
        ],
        ..Experiment::new("Do half-word stores move the split point faster than updates of the whole word?")
    }
}
