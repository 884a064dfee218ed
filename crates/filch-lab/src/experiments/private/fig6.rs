//! Private deques where tasks are long, or tiny and irregular.

use super::printed;
use crate::experiment::claim::{Claim, Limit, Need};
use crate::experiment::paper::{Mark, PRIVATE, Paper, Table};
use crate::experiment::quantity::{Comparison, Measure, Pick, Quantity};
use crate::experiment::{Contender, Effort, Entry, Experiment, Plot, Program, Sweep, each};
use crate::experiments::{two_and_all, up_to_all};
use crate::identity::Placement;

static INTERRUPTS: Paper = Paper {
    document: &PRIVATE,
    place: "figure 6a",
    shows: "A matrix product of 3.7 s with leaves of 0.8, 6.5 and 54 ms, on sender-initiated deques whose workers are interrupted every 0.2 \
            to 2 ms by signals. With every period and every leaf, the time is at most 3.7 % longer than on concurrent deques.",
    tables: &[],
    marks: &[],
};

static SEARCH: Paper = Paper {
    document: &PRIVATE,
    place: "figure 6b",
    shows: "Pseudo-depth-first search with bags of nodes, of which thieves get half, is more than 20 times as fast on 30 processors. With a \
            task for each node it takes three times as long or more.",
    tables: &[Table {
        caption: "The graphs, and the times on one processor.",
        heads: &["graph", "nodes", "edges", "T1"],
        rows: &[
            &["3d-grid", "40 million", "", "11.5 s"],
            &["rlg", "40 million", "150 million", "12.8 s"],
            &["rmat", "40 million", "90, as printed", "9.1 s"],
        ],
    }],
    marks: &[Mark { column: "speedup", program: "", label: "the paper's: more than 20", points: &[(30.0, 20.0)] }],
};

const CONCURRENT: &str = "filch chase-lev:idle=spin:victims=one random pinned";
const SIGNAL: &str = "filch pdq-s:interrupts=signal:ticks=always:idle=spin:victims=one random pinned";
const FLAG: &str = "filch pdq-s:interrupts=flag:ticks=always:idle=spin:victims=one random pinned";
const THIEVES: &str = "filch pdq-r:interrupts=thieves:idle=spin:victims=one random pinned";
const NEVER: &str = "filch pdq-s:idle=spin:victims=one random pinned";

/// Leaves of about 0.8, 6.5 and 54 ms, each eight times as much work as the one before.
const LEAVES: [[Option<&str>; 3]; 3] = [
    [Some("n=320:cutoff=80"), Some("n=640:cutoff=80"), Some("n=2560:cutoff=80")],
    [Some("n=320:cutoff=160"), Some("n=640:cutoff=160"), Some("n=2560:cutoff=160")],
    [None, Some("n=640:cutoff=320"), Some("n=2560:cutoff=320")],
];
/// Products of eight leaves: with more, a thief's wait for the end of one is a small part of the time.
const FEW_LEAVES: &[&str] = &["matmul-inplace:n=320:cutoff=160", "matmul-inplace:n=640:cutoff=320"];

/// Time with interrupts of long tasks.
pub(super) fn interrupts() -> Experiment {
    let sized = |leaf: [Option<&str>; 3], poll: &str| {
        let texts = leaf.map(|leaf| leaf.map(|leaf| format!("matmul-inplace:{leaf}{poll}")));
        Program::sized(texts.each_ref().map(Option::as_deref))
    };
    // A signal needs no help; a flag is seen by leaves that look.
    let by_signal = [
        printed("chase-lev"),
        printed("pdq-s:interrupts=signal:every=*:ticks=always"),
        printed("pdq-r:interrupts=thieves:every=*"),
        printed("pdq-s"),
        Contender::pool("pdq-s-told:interrupts=signal"),
    ];
    let by_flag = [printed("chase-lev"), printed("pdq-s:interrupts=flag:every=*:ticks=always")];
    let entries = LEAVES.iter().flat_map(|&leaf| {
        let [signal, flag] = [sized(leaf, ""), sized(leaf, ":poll=on")];
        [
            Entry { program: signal, contenders: by_signal.to_vec() },
            Entry { program: flag, contenders: by_flag.to_vec() },
        ]
    });
    let over_concurrent = |text, who, limit| {
        Claim::new(text, Pick::any(who), Measure::Over(Quantity::Time, Pick::any(CONCURRENT)), limit).on(2)
    };
    Experiment {
        name: Some("private-fig6a"),
        entries: entries.collect(),
        workers: two_and_all(30),
        placements: vec![Placement::Pinned],
        sweep: Some(Sweep {
            parameter: "every",
            values: ["200us", "600us", "2ms"].map(str::to_owned).to_vec(),
            meaning: "time between two interrupts",
        }),
        effort: Effort { budget: 60, visit: 0.02, ..Effort::default() },
        columns: &["median", "spread", "speedup", "migrations", "idle"],
        plots: &[Plot::Swept("median")],
        differs: &[
            "Flags that leaves look at are ours; the paper has signals.",
            "Section 4 also names interrupts that idle processors send to their targets, in the receiver-initiated algorithm, but has no \
             figures for them. Here a thief interrupts once it has waited for a period.",
        ],
        claims: vec![
            over_concurrent(
                "With signals, whatever their period and the length of leaves, the time is at most 3.7 % longer than on concurrent deques.",
                SIGNAL,
                Limit::Below(1.037),
            ),
            over_concurrent(
                "So it is where idle workers interrupt those whom they ask, in the receiver-initiated algorithm.",
                THIEVES,
                Limit::Below(1.037),
            ),
            over_concurrent("So it is with flags that leaves look at.", FLAG, Limit::Below(1.037)),
            over_concurrent(
                "Without interrupts, thieves wait for the end of a leaf, and the time is longer by a tenth or more.",
                NEVER,
                Limit::Above(1.1),
            )
            .in_programs(FEW_LEAVES),
        ],
        paper: Some(&INTERRUPTS),
        ..Experiment::new("What do long tasks cost on private deques, if interrupts make owners answer?")
    }
}

const SENDER: &str = "filch pdq-s:end=transfers:idle=spin:victims=one pinned";
const OURS: &str = "filch pdq-r-async:end=transfers pinned";

/// Speed-up of a search whose tasks are bags.
pub(super) fn search() -> Experiment {
    // The numbers of edges are the paper's shares of those of nodes; its 90 edges of rmat are taken for 90 million.
    let graphs = [
        ["graph=grid:n=100000", "graph=grid:n=300000", "graph=grid:n=40000000"],
        [
            "graph=randlocal:n=60000:degree=4",
            "graph=randlocal:n=300000:degree=4",
            "graph=randlocal:n=40000000:edges=150000000",
        ],
        ["graph=rmat:n=100000:degree=2", "graph=rmat:n=600000:degree=2", "graph=rmat:n=40000000:edges=90000000"],
    ];
    let forms = ["items=*", "split=one", "task=node"];
    let program = |graph: [&str; 3], form: &str| {
        let texts = graph.map(|graph| format!("pseudo-dfs:{graph}:{form}"));
        Program::sized(texts.each_ref().map(|text| Some(text.as_str())))
    };
    let programs: Vec<Program> = graphs.iter().flat_map(|&graph| forms.map(|form| program(graph, form))).collect();
    let contenders =
        [Contender::pool("pdq-s:end=transfers:idle=spin:victims=one"), Contender::pool("pdq-r-async:end=transfers")];
    Experiment {
        name: Some("private-fig6b"),
        entries: each(&programs, &contenders),
        workers: [vec![1], up_to_all(30)].concat(),
        placements: vec![Placement::Pinned],
        sweep: Some(Sweep {
            parameter: "items",
            values: ["32", "128", "1024"].map(str::to_owned).to_vec(),
            meaning: "visits before a worker leaves its bag to answer thieves",
        }),
        effort: Effort { budget: 60, visit: 0.03, ..Effort::default() },
        columns: &["median", "spread", "overhead", "speedup", "relative-speedup", "capacity-share", "migrations"],
        plots: &[Plot::Swept("speedup"), Plot::Speedup],
        differs: &[
            "The paper prints “90 edges” for rmat. We take that for 90 million, a little more than two for each node.",
        ],
        claims: vec![
            Claim::new(
                "On 30 processors the search is more than 20 times as fast as sequentially.",
                Pick::at(SENDER, "128"),
                Measure::Of(Comparison::Speedup),
                Limit::Above(20.0),
            )
            .needs(Need::Processors(30)),
            Claim::new(
                "On two processors it reaches nine tenths of what they can do together.",
                Pick::at(SENDER, "128"),
                Measure::Of(Comparison::CapacityShare),
                Limit::Above(0.9),
            )
            .with("task", "bag")
            .on(2),
            Claim::new(
                "With a task for each node it takes three times as long.",
                Pick::any(SENDER),
                Measure::OverWith(Quantity::Time, "task", "bag"),
                Limit::Above(3.0),
            ),
            Claim::new(
                "Thieves that get half a bag need no more time than thieves that get one node.",
                Pick::at(SENDER, "128"),
                Measure::OverWith(Quantity::Time, "split", "one"),
                Limit::Below(1.05),
            )
            .on(2),
            Claim::new(
                "They get fewer bags.",
                Pick::at(OURS, "128"),
                Measure::OverWith(Quantity::Counter("migrations"), "split", "one"),
                Limit::Below(0.9),
            )
            .on(2),
        ],
        paper: Some(&SEARCH),
        ..Experiment::new("How fast is an irregular search whose tasks are bags of nodes?")
    }
}
