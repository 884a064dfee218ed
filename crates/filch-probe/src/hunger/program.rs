//! Random programs: trees of forks, loops and scopes above sleeping leaves.

use std::time::Duration;

use fastrand::Rng;

/// A program, or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Sleeps for this time.
    Leaf(Duration),
    /// Computes `fib` of this number, with a fork per call and tasks of nanoseconds, and then continues.
    Fine(u64, Box<Node>),
    /// Joins two branches.
    Join(Box<[Node; 2]>),
    /// Forks all at once.
    Forks(Vec<Node>),
    /// Spawns all in a scope.
    Scope(Vec<Node>),
    /// Runs the items of a loop.
    Loop(Vec<Node>),
}

/// The parameters of random programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomPrograms {
    /// The number of leaves.
    pub(super) leaves: usize,
    /// The longest leaf, in microseconds.
    pub(super) longest: u32,
    /// Whether fine tasks are between the leaves.
    pub(super) is_mixed: bool,
}

/// The shortest leaf, in microseconds.
const SHORTEST: f64 = 10.0;
/// The most leaves of a list: each leaf is forked under all leaves before it.
const LONGEST_LIST: usize = 60;

impl RandomPrograms {
    /// Returns the program of this seed.
    pub(super) fn program(self, seed: u64) -> Node {
        self.node(&mut Rng::with_seed(seed), self.leaves)
    }

    fn leaf(self, rng: &mut Rng) -> Node {
        let micros = SHORTEST * (f64::from(self.longest) / SHORTEST).powf(rng.f64());
        Node::Leaf(Duration::from_secs_f64(micros * 1e-6))
    }

    fn node(self, rng: &mut Rng, leaves: usize) -> Node {
        let node = self.forks(rng, leaves);
        if self.is_mixed && rng.u8(..3) == 0 { Node::Fine(rng.u64(5..20), Box::new(node)) } else { node }
    }

    fn forks(self, rng: &mut Rng, leaves: usize) -> Node {
        if leaves == 1 {
            return self.leaf(rng);
        }
        match rng.u8(..8) {
            0 | 1 => Node::Loop(self.parts(rng, leaves, 42)),
            2 => Node::Forks(self.parts(rng, leaves, 10)),
            3 => Node::Scope(self.parts(rng, leaves, 14)),
            4 if leaves <= LONGEST_LIST => {
                (1..leaves).fold(self.leaf(rng), |rest, _| Node::Join(Box::new([rest, self.leaf(rng)])))
            }
            5 if leaves <= LONGEST_LIST => {
                (1..leaves).fold(self.leaf(rng), |rest, _| Node::Join(Box::new([self.leaf(rng), rest])))
            }
            _ => {
                let first = rng.usize(1..leaves);
                Node::Join(Box::new([first, leaves - first].map(|leaves| self.node(rng, leaves))))
            }
        }
    }

    fn parts(self, rng: &mut Rng, leaves: usize, most: usize) -> Vec<Node> {
        let parts = rng.usize(2..=most).min(leaves);
        let bound = |part| leaves * part / parts;
        (0..parts).map(|part| self.node(rng, bound(part + 1) - bound(part))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(node: &Node) -> usize {
        match node {
            Node::Leaf(length) => {
                assert!((10..=5000).contains(&length.as_micros()), "{length:?}");
                1
            }
            Node::Fine(_, rest) => leaves(rest),
            Node::Join(both) => both.iter().map(leaves).sum(),
            Node::Forks(nodes) | Node::Scope(nodes) | Node::Loop(nodes) => nodes.iter().map(leaves).sum(),
        }
    }

    #[test]
    fn programs_have_the_requested_leaves() {
        for is_mixed in [false, true] {
            let kind = RandomPrograms { leaves: 300, longest: 5000, is_mixed };
            for seed in 0..50 {
                let program = kind.program(seed);
                assert_eq!(leaves(&program), 300);
                assert_eq!(format!("{program:?}").contains("Fine"), is_mixed);
            }
        }
    }
}
