//! Computations as graphs of nodes that take a step each (appendix A, *Assumptions*).
//!
//! Invariants: every edge leads to a node of a higher number; node 0 is the only one without a predecessor; a node has
//! at most two successors and two predecessors.

/// No successor.
const NONE: u32 = u32::MAX;

/// A binary fork–join computation.
///
/// ```
/// use filch_sim::Builder;
///
/// // A fork, its two branches, and their join.
/// let mut builder = Builder::default();
/// let [fork, first, second, join] = std::array::from_fn(|_| builder.node());
/// builder.fork(fork, first, second);
/// builder.edge(first, join);
/// builder.edge(second, join);
/// let dag = builder.dag();
/// assert_eq!((dag.work(), dag.span(), dag.forks()), (4, 3, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Dag {
    successors: Vec<[u32; 2]>,
    predecessors: Vec<u8>,
    span: u32,
    forks: u32,
}

impl Dag {
    /// T1: the number of nodes.
    pub fn work(&self) -> u64 {
        self.successors.len() as u64
    }

    /// T∞: the most nodes on a path.
    pub fn span(&self) -> u32 {
        self.span
    }

    /// F, the branching depth: the most forks on a path.
    pub fn forks(&self) -> u32 {
        self.forks
    }

    /// The successors of a node. The owner of a fork runs the first one next, and thieves can take the second one.
    pub fn successors(&self, node: u32) -> impl DoubleEndedIterator<Item = u32> + use<> {
        self.successors[node as usize].into_iter().filter(|&successor| successor != NONE)
    }

    /// The number of predecessors of each node.
    pub(crate) fn predecessors(&self) -> &[u8] {
        &self.predecessors
    }

    /// Whether a node has two successors.
    pub fn is_fork(&self, node: u32) -> bool {
        self.successors[node as usize][1] != NONE
    }

    /// All nodes, each before its successors.
    pub(crate) fn nodes(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        0..u32::try_from(self.successors.len()).expect("a builder numbers nodes in 32 bits")
    }
}

/// Makes a [`Dag`], node by node.
#[derive(Debug, Default)]
pub struct Builder {
    successors: Vec<[u32; 2]>,
    predecessors: Vec<u8>,
}

impl Builder {
    /// Adds a node, and returns its number. The first one is the root.
    pub fn node(&mut self) -> u32 {
        let node =
            u32::try_from(self.successors.len()).ok().filter(|&node| node != NONE).expect("fewer than 2³² nodes");
        self.successors.push([NONE; 2]);
        self.predecessors.push(0);
        node
    }

    /// Adds a chain of at least one node, and returns its first and last node.
    pub fn chain(&mut self, nodes: u32) -> (u32, u32) {
        let first = self.node();
        let last = (1..nodes).fold(first, |last, _| {
            let next = self.node();
            self.edge(last, next);
            next
        });
        (first, last)
    }

    /// Lets `to` depend on `from`.
    ///
    /// # Panics
    ///
    /// If `to` is not the younger node, or either node has two such edges.
    pub fn edge(&mut self, from: u32, to: u32) {
        assert!(from < to, "an edge leads from an older node to a younger one, not from {from} to {to}");
        let place = self.successors[from as usize].iter_mut().find(|successor| **successor == NONE);
        *place.expect("a node has at most two successors") = to;
        self.predecessors[to as usize] += 1;
        assert!(self.predecessors[to as usize] <= 2, "a node has at most two predecessors");
    }

    /// Makes a node a fork, whose owner runs `first` next.
    ///
    /// # Panics
    ///
    /// As [`Builder::edge`] does.
    pub fn fork(&mut self, node: u32, first: u32, second: u32) {
        self.edge(node, first);
        self.edge(node, second);
    }

    /// Returns the graph.
    ///
    /// # Panics
    ///
    /// If there is no node, or another one than the first lacks a predecessor.
    pub fn dag(self) -> Dag {
        let Self { successors, predecessors } = self;
        let roots = predecessors.iter().filter(|&&number| number == 0).count();
        assert!(roots == 1, "one node has no predecessor, not {roots}");
        let mut dag = Dag { successors, predecessors, span: 0, forks: 0 };
        // The longest path of nodes, and of forks, that ends before each node.
        let mut before = vec![(0, 0); dag.successors.len()];
        for node in dag.nodes() {
            let (nodes, forks) = before[node as usize];
            let through = (nodes + 1, forks + u32::from(dag.is_fork(node)));
            (dag.span, dag.forks) = (dag.span.max(through.0), dag.forks.max(through.1));
            for successor in dag.successors(node) {
                let known = &mut before[successor as usize];
                *known = (known.0.max(through.0), known.1.max(through.1));
            }
        }
        dag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_no_parallelism() {
        let mut builder = Builder::default();
        assert_eq!(builder.chain(5), (0, 4));
        let dag = builder.dag();
        assert_eq!((dag.work(), dag.span(), dag.forks()), (5, 5, 0));
        assert_eq!(dag.successors(4).count(), 0);
    }

    #[test]
    #[should_panic(expected = "two predecessors")]
    fn a_join_has_two_branches() {
        let mut builder = Builder::default();
        let nodes: [u32; 4] = std::array::from_fn(|_| builder.node());
        (0..3).for_each(|from| builder.edge(nodes[from], nodes[3]));
    }

    #[test]
    #[should_panic(expected = "not 2")]
    fn there_is_one_root() {
        let mut builder = Builder::default();
        builder.chain(2);
        builder.chain(2);
        builder.dag();
    }
}
