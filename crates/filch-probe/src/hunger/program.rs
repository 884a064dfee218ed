//! Random programs: trees of forks, loops and scopes above leaves that sleep.

use std::time::Duration;

use fastrand::Rng;

/// A program, or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Sleeps so long.
    Leaf(Duration),
    /// Forks as `fib` of this number does, tasks of some nanoseconds, and then goes on.
    Fine(u64, Box<Node>),
    /// A join of two.
    Join(Box<[Node; 2]>),
    /// All forked at once.
    Forks(Vec<Node>),
    /// All spawned in a scope.
    Scope(Vec<Node>),
    /// The items of a loop.
    Loop(Vec<Node>),
}

/// What random programs are like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// How many leaves.
    pub(super) leaves: usize,
    /// The longest, in microseconds.
    pub(super) longest: u32,
    /// Whether there are fine tasks between them.
    pub(super) is_mixed: bool,
}

/// Of a leaf, in microseconds.
const SHORTEST: f64 = 10.0;
/// Lists are no longer, since each of their leaves is forked under all before it.
const LONGEST_LIST: usize = 60;

impl Kind {
    /// The program of this seed.
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
    fn programs_have_as_many_leaves_as_they_should() {
        for is_mixed in [false, true] {
            let kind = Kind { leaves: 300, longest: 5000, is_mixed };
            for seed in 0..50 {
                let program = kind.program(seed);
                assert_eq!(leaves(&program), 300);
                assert_eq!(format!("{program:?}").contains("Fine"), is_mixed);
            }
        }
    }
}
