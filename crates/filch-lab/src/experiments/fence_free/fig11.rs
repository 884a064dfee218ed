//! Graph programs on queues whose owners have no fence.

use super::Threads;
use crate::experiment::claim::{Claim, Limit};
use crate::experiment::paper::{FENCE_FREE, Paper};
use crate::experiment::quantity::{Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Experiment, Plot, Program, each};
use crate::identity::Placement;

static TIMES: Paper = Paper {
    document: &FENCE_FREE,
    place: "figure 11a",
    shows: "The transitive closure of a K-graph, a random graph and a torus on four processors of Haswell; the torus on two. All queues \
            without the owner's fence are alike. FF-CL takes 17 % less time than Chase and Lev's deque on average, and on the torus 33 % less, \
            as does the idempotent LIFO. Spanning trees behave alike.",
    tables: &[],
    marks: &[],
};

static SHARES: Paper = Paper {
    document: &FENCE_FREE,
    place: "figure 11b",
    shows: "Owners run the vast majority of the tasks themselves. The share that thieves take from FF-CL is small, but not zero.",
    tables: &[],
    marks: &[],
};

/// Both programs on three graphs. Parents are set by compare-and-swap on every queue.
fn programs(closure_only: bool) -> Vec<Program> {
    let graphs = [
        ["graph=kgraph:n=100000", "graph=kgraph:n=300000", "graph=kgraph:n=10000000"],
        ["graph=random:n=100000", "graph=random:n=300000", "graph=random:n=10000000"],
        ["graph=torus:n=200000", "graph=torus:n=1000000", "graph=torus:n=10000000"],
    ];
    let on = |form: &str, tail: &str| {
        graphs.map(|graph| {
            let texts = graph.map(|graph| format!("{form}:{graph}{tail}"));
            Program::sized(texts.each_ref().map(|text| Some(text.as_str())))
        })
    };
    let closures = on("closure", "").to_vec();
    if closure_only { closures } else { [closures, on("spanning-tree", ":adopt=swap").to_vec()].concat() }
}

/// Queues that return a task twice cannot count tasks to notice the end, so none does.
const QUEUES: [&str; 4] = ["chase-lev:end=homes", "ff-cl:end=homes", "idem-lifo", "idem-de"];
const BASE: &str = "filch chase-lev:end=homes pinned";
const FENCE_FREE_CL: &str = "filch ff-cl:end=homes pinned";
const OWNERS_SHARE: &[&str] = &["closure"];

/// Figure 11a.
pub(super) fn times() -> Experiment {
    let mean = |text, who, over, limit| {
        Claim::new(text, Pick::any(who), Measure::MeanOver(Quantity::Time, Pick::any(over)), limit)
            .on(2)
            .in_programs(OWNERS_SHARE)
    };
    let threads = Threads::here(4);
    let all = |text| {
        let over = Measure::MeanOver(Quantity::Time, Pick::any(BASE));
        // As on two processors.
        Claim::new(text, Pick::any(FENCE_FREE_CL), over, Limit::Below(0.92))
            .in_programs(&["closure:graph=kgraph", "closure:graph=random"])
    };
    Experiment {
        name: Some("ff-fig11a"),
        entries: each(&programs(false), &QUEUES.map(Contender::pool)),
        workers: threads.all(),
        placements: vec![Placement::Pinned],
        effort: Effort { budget: 60, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "speedup", "to-baseline", "steals"],
        plots: &[Plot::Times, Plot::Speedup],
        claims: vec![
            // 17 % less in the text, on four processors of Haswell; half of that on two of another processor is ours.
            mean(
                "On average, FF-CL takes a twelfth less time than Chase and Lev's deque, or better.",
                FENCE_FREE_CL,
                BASE,
                Limit::Below(0.92),
            ),
            // The text has no number for "comparable".
            mean(
                "It takes as long as the idempotent LIFO.",
                FENCE_FREE_CL,
                "filch idem-lifo pinned",
                Limit::Within(0.85, 1.15),
            ),
            mean(
                "It takes as long as the idempotent deque.",
                FENCE_FREE_CL,
                "filch idem-de pinned",
                Limit::Within(0.85, 1.15),
            ),
            // A third less in the text.
            Claim::new(
                "On the torus FF-CL takes a quarter less time, or better.",
                Pick::any(FENCE_FREE_CL),
                Measure::Over(Quantity::Time, Pick::any(BASE)),
                Limit::Below(0.75),
            )
            .on(2)
            .in_programs(&["closure:graph=torus"]),
            Claim::new(
                "Spanning trees behave alike: on average FF-CL takes a twelfth less time than Chase and Lev's deque.",
                Pick::any(FENCE_FREE_CL),
                Measure::MeanOver(Quantity::Time, Pick::any(BASE)),
                Limit::Below(0.92),
            )
            .on(2)
            .in_programs(&["spanning-tree"]),
            threads.on_four_cores(all("On four processors FF-CL takes as much less time.")),
            threads.on_shared_cores(all("With two threads on each core, too.")),
        ],
        paper: Some(&TIMES),
        ..Experiment::new("Does a queue that returns each task once need more time than one that may return it twice?")
    }
}

/// Figure 11b.
pub(super) fn shares() -> Experiment {
    const STOLEN: Quantity = Quantity::Per(&Quantity::Counter("steals"), &Quantity::Counter("run"));
    let share = |text, who, limit| Claim::new(text, Pick::any(who), Measure::Is(STOLEN), limit).on(2);
    Experiment {
        name: Some("ff-fig11b"),
        entries: each(&programs(true), &QUEUES.map(Contender::pool)),
        workers: Threads::here(4).all(),
        placements: vec![Placement::Pinned],
        effort: Effort { budget: 30, visit: 0.06, ..Effort::default() },
        columns: &["median", "spread", "steals", "tasks-per-second"],
        plots: &[Plot::Times],
        claims: vec![
            share("Owners run nine tenths of the tasks of Chase and Lev's deque, or more.", BASE, Limit::Below(0.1)),
            share("So they do of FF-CL.", FENCE_FREE_CL, Limit::Below(0.1)),
            share("So they do of the idempotent LIFO.", "filch idem-lifo pinned", Limit::Below(0.1)),
            share("So they do of the idempotent deque.", "filch idem-de pinned", Limit::Below(0.1)),
            share(
                "Thieves get some tasks of FF-CL, although they stay away from its owner.",
                FENCE_FREE_CL,
                Limit::Above(0.0),
            ),
        ],
        paper: Some(&SHARES),
        ..Experiment::new("How many tasks do thieves take of a graph program?")
    }
}
