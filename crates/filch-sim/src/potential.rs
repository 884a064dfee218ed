//! The potential of deques, which bounds the idle time (definition A.1).
//!
//! Φ(Q) is 0 for an empty deque, and otherwise exp(μ·D(Q) + κ·F(Q)): D(Q) is the largest depth potential of its nodes,
//! F(Q) the largest fork potential, and 1 more for a node that is not the newest. Potentials are kept as logarithms,
//! since F may be thousands.

use crate::bound::{Bound, KAPPA};
use crate::dag::Dag;
use crate::engine::Machine;

/// How far a node is from the root, or from the end.
///
/// The document has two readings, and the lemma that a step never increases the potential (A.5) holds for neither. It
/// does for the longest path from the root, with the rest of the proof as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// What remains of T∞ and F after the longest path from the root.
    FromRoot,
    /// What remains after the shortest such path, as definition A.1 says. A join has more of it than the end of its
    /// longer branch.
    ShortestFromRoot,
    /// The longest path to the end, as figure 7 says. The oldest node of a deque may have less of it than the others,
    /// if its branch is the shorter one; then a transfer adds its potential and takes none away.
    ToEnd,
}

/// The potentials of all nodes of a computation, on a machine.
///
/// ```
/// use filch_sim::{Distance, Machine, Potential, Protocol, Shape};
///
/// let dag = "fib:n=5".parse::<Shape>()?.dag();
/// let machine = Machine { workers: 2, delta: 10, protocol: Protocol::Sender };
/// let potential = Potential::new(&dag, machine, Distance::FromRoot);
/// let root = potential.log(&[0]).unwrap();
/// // A fork leaves two nodes, of which the older one is not the newest.
/// let forked: Vec<u32> = dag.successors(0).rev().collect();
/// assert!(potential.log(&forked).unwrap() < root);
/// assert_eq!(potential.log(&[]), None);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Potential {
    /// The depth and the fork potential of each node.
    nodes: Vec<(u32, u32)>,
    mu: f64,
}

impl Potential {
    /// Computes the potentials of all nodes.
    pub fn new(dag: &Dag, machine: Machine, distance: Distance) -> Self {
        let mu = Bound::new(dag, machine).mu();
        let nodes = match distance {
            Distance::ToEnd => to_end(dag),
            Distance::FromRoot => from_root(dag, u32::max),
            Distance::ShortestFromRoot => from_root(dag, u32::min),
        };
        Self { nodes, mu }
    }

    /// The depth and the fork potential of a node.
    pub fn of(&self, node: u32) -> (u32, u32) {
        self.nodes[node as usize]
    }

    /// Returns ln Φ of a deque whose newest node comes last; `None` if it is empty.
    pub fn log(&self, deque: &[u32]) -> Option<f64> {
        let (&newest, _) = deque.split_last()?;
        let depth = deque.iter().map(|&node| self.of(node).0).max()?;
        let forks = deque.iter().map(|&node| self.of(node).1 + u32::from(node != newest)).max()?;
        Some(self.mu * f64::from(depth) + KAPPA * f64::from(forks))
    }
}

fn to_end(dag: &Dag) -> Vec<(u32, u32)> {
    let mut nodes = vec![(1, 0); dag.predecessors().len()];
    for node in dag.nodes().rev() {
        for successor in dag.successors(node) {
            let ((depth, forks), known) = (nodes[successor as usize], &mut nodes[node as usize]);
            *known = (known.0.max(depth + 1), known.1.max(forks));
        }
        nodes[node as usize].1 += u32::from(dag.is_fork(node));
    }
    nodes
}

/// What is left of T∞ and F after the nodes and forks before each node, on the paths that `of` prefers.
fn from_root(dag: &Dag, of: fn(u32, u32) -> u32) -> Vec<(u32, u32)> {
    let mut before: Vec<Option<(u32, u32)>> = vec![None; dag.predecessors().len()];
    before[0] = Some((0, 0));
    for node in dag.nodes() {
        let Some((nodes, forks)) = before[node as usize] else { continue };
        let through = (nodes + 1, forks + u32::from(dag.is_fork(node)));
        for successor in dag.successors(node) {
            let known = &mut before[successor as usize];
            *known = Some(known.map_or(through, |known| (of(known.0, through.0), of(known.1, through.1))));
        }
    }
    let left = |(nodes, forks)| (dag.span() - nodes, dag.forks() - forks);
    before.into_iter().map(|before| left(before.expect("every node is reached from the root"))).collect()
}
