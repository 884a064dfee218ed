//! Experiments of ours: the parts that the documents leave open.

mod asym;
mod fences;
mod half;
mod heartbeat;
mod lace_moves;
mod mutants;
mod pad_cross;
mod pad_keep;
mod pad_poll;
mod pad_prefetch;
mod pad_revoke;

use crate::experiment::{Experiment, Program, Sweep};

/// Returns all experiments of this group.
pub(super) fn all() -> Vec<Experiment> {
    let all = vec![
        lace_moves::experiment(),
        pad_cross::experiment(),
        pad_revoke::experiment(),
        pad_prefetch::experiment(),
        pad_keep::experiment(),
        pad_poll::experiment(),
        half::experiment(),
        heartbeat::experiment(),
        asym::experiment(),
        fences::experiment(),
        mutants::experiment(),
    ];
    all.into_iter().map(|experiment| Experiment { is_ours: true, ..experiment }).collect()
}

/// A fat and a thin tree of a few thousand nodes, since some nodes work for 20 µs.
const TREES: [[Option<&str>; 3]; 2] = [
    [
        Some("trees:tree=fat:fanout=18:depth=3:spin=*"),
        Some("trees:tree=fat:fanout=25:depth=3:spin=*"),
        Some("trees:tree=fat:fanout=50:depth=3:spin=*"),
    ],
    [
        Some("trees:tree=thin:depth=12:spin=*"),
        Some("trees:tree=thin:depth=13:spin=*"),
        Some("trees:tree=thin:depth=16:spin=*"),
    ],
];

fn trees() -> [Program; 2] {
    TREES.map(Program::sized)
}

/// The work of a node.
fn spins() -> Option<Sweep> {
    let values = ["200", "2000", "20000"].map(str::to_owned).to_vec();
    Some(Sweep { parameter: "spin", values, meaning: "nanoseconds of work per node" })
}
