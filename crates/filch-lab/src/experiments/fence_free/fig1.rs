//! The price of the owner's fence, on one worker.

use super::{COARSE, FINE, programs};
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{FENCE_FREE, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, each};
use crate::identity::Placement;

static PAPER: Paper = Paper {
    document: &FENCE_FREE,
    place: "figure 1",
    shows: "The times of several widely used CilkPlus programs on one worker, without the fence of the owner's take, over those with it, on \
            Haswell. The fence accounts for up to about 25 % of the time. The text gives no number for a single program.",
    tables: &[],
    marks: &[],
};

const TIME_PER_TASK: Quantity = Quantity::Per(&Quantity::Time, &Quantity::Tasks);

pub(super) fn experiment() -> Experiment {
    // Each take of a task is one fence.
    let contenders = ["the", "the-unfenced", "chase-lev", "chase-lev-unfenced"].map(Contender::pool);
    let without = |text, (unfenced, fenced), limit| {
        let over = Measure::Over(Quantity::Time, Pick::any(fenced));
        Claim::new(text, Pick::any(unfenced), over, limit).on(1)
    };
    let the = ("filch the-unfenced pinned", "filch the pinned");
    let chase_lev = ("filch chase-lev-unfenced pinned", "filch chase-lev pinned");
    Experiment {
        name: Some("ff-fig1"),
        entries: each(&programs(), &contenders),
        workers: vec![1],
        placements: vec![Placement::Pinned],
        effort: Effort { budget: 60, visit: 0.1, ..Effort::default() },
        columns: &["median", "spread", "overhead", "fork", "to-baseline"],
        plots: &[Plot::Times, Plot::Forks],
        differs: &[
            "We take the eleven programs of table 1. The text does not say which the figure shows, nor in which the fence costs most: that \
             programs of tiny tasks gain, fib above all, is what we expect of it.",
        ],
        // Those of a twentieth are ours: what two equal times may differ by.
        claims: vec![
            without("THE is never slower without its fence.", the, Limit::Below(1.05)),
            without("Nor is Chase and Lev's deque.", chase_lev, Limit::Below(1.05)),
            without("Programs of tiny tasks gain from THE without its fence.", the, Limit::Below(0.95))
                .in_programs(FINE),
            without("So they do from Chase and Lev's deque.", chase_lev, Limit::Below(0.95)).in_programs(FINE),
            without("Programs of long tasks gain nothing.", the, Limit::Within(0.95, 1.05)).in_programs(COARSE),
            // "Up to about 25 %": a fifth of that is left for other processors.
            without("In no program does the fence take much more than a quarter of the time.", the, Limit::Above(0.7)),
            without("Where it costs most, it takes a fifth or more.", the, Limit::Below(0.8)).in_programs(&["fib"]),
            // It says how long: the document has no number.
            Claim::new(
                "A take costs time for its fence.",
                Pick::any("filch the pinned"),
                Measure::Beyond(TIME_PER_TASK, Pick::any("filch the-unfenced pinned")),
                Limit::Above(0.0),
            )
            .on(1)
            .in_programs(&["fib"]),
        ],
        paper: Some(&PAPER),
        ..Experiment::new("What does the owner's fence cost?")
    }
}
