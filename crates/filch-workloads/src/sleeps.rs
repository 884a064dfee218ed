//! Tasks that sleep: they show how work spreads over any number of workers, on any number of processors.
//!
//! `spread` has a given number of leaves of equal length in a tree of forks, in lists, all forked at once, or in a
//! loop. With as many leaves as workers the best time is that of one leaf, on any machine. The excess is due to leaves
//! that nobody could take, or for which nobody was woken. `grain` has leaves of very different length, log-uniform
//! between 10 µs and the longest, under random forks of two, of many, and loops. The greedy bound is T₁/P + T∞.
//!
//! What they stress: only sharing and waking. A worker answers nobody while its leaf sleeps.

use std::thread;
use std::time::Duration;

use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::sleeps::{Grain, MOST_LEAVES, SHORTEST, Shape, Spread};

use crate::answer::{Answer, expect};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain as LoopGrain};

impl Prepare for Spread {
    type Instance = SpreadInstance;

    fn prepare(&self) -> Result<SpreadInstance, ParamError> {
        Ok(SpreadInstance { params: *self })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct SpreadInstance {
    params: Spread,
}

impl Runs for SpreadInstance {
    fn serial(&mut self) -> Answer {
        Answer::Number((0..self.params.n).map(|_| self.leaf()).sum())
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Number(self.params.n))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn nesting(&self) -> u64 {
        match self.params.shape {
            Shape::List | Shape::Backwards => self.params.n,
            Shape::Tree | Shape::Forks | Shape::Loop => 64,
        }
    }
}

impl Forks for SpreadInstance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        let Spread { n, shape, .. } = self.params;
        let plan = &*self;
        let leaves = match shape {
            Shape::Tree => plan.tree(j, n),
            Shape::List => plan.list(j, n),
            Shape::Backwards => plan.backwards(j, n),
            Shape::Forks => j.fork_all(0..n, |_, _| plan.leaf(), 0, |sum, leaf| sum + leaf),
            Shape::Loop => {
                let block = |sum, block: std::ops::Range<u64>| sum + block.map(|_| plan.leaf()).sum::<u64>();
                j.fold_blocks(0..n, LoopGrain::Advice(1), 0, block, |a, b| a + b)
            }
        };
        Answer::Number(leaves)
    }
}

impl SpreadInstance {
    /// Runs one leaf and counts it.
    fn leaf(&self) -> u64 {
        thread::sleep(Duration::from_micros(self.params.micros));
        1
    }

    fn tree<J: ForkJoin>(&self, mut j: J, n: u64) -> u64 {
        if n == 1 {
            return self.leaf();
        }
        let (a, b) = j.join(move |j| self.tree(j, n / 2), move |j| self.tree(j, n - n / 2));
        a + b
    }

    fn list<J: ForkJoin>(&self, mut j: J, n: u64) -> u64 {
        if n == 1 {
            return self.leaf();
        }
        let (others, leaf) = j.join(move |j| self.list(j, n - 1), move |_| self.leaf());
        others + leaf
    }

    fn backwards<J: ForkJoin>(&self, mut j: J, n: u64) -> u64 {
        if n == 1 {
            return self.leaf();
        }
        let (leaf, others) = j.join(move |_| self.leaf(), move |j| self.backwards(j, n - 1));
        leaf + others
    }
}

impl Prepare for Grain {
    type Instance = GrainInstance;

    fn prepare(&self) -> Result<GrainInstance, ParamError> {
        Ok(GrainInstance { params: *self })
    }
}

/// The program; it needs no memory.
#[derive(Debug)]
pub struct GrainInstance {
    params: Grain,
}

impl Runs for GrainInstance {
    fn serial(&mut self) -> Answer {
        Answer::Number(self.leaves(0..self.params.n))
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        let right = (0..self.params.n).fold(0, |sum: u64, leaf| sum.wrapping_add(self.mark(leaf)));
        expect(answer, &Answer::Number(right))
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn nesting(&self) -> u64 {
        self.params.n
    }
}

impl Forks for GrainInstance {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer {
        Answer::Number(self.node(j, 0, self.params.n))
    }
}

impl GrainInstance {
    /// Returns the leaf's contribution to the answer, which shows a leaf that is left out or run twice.
    fn mark(&self, leaf: u64) -> u64 {
        hash(self.params.seed, leaf)
    }

    /// Returns how long a leaf sleeps.
    fn length(&self, leaf: u64) -> Duration {
        // In [0, 1): the upper bits as a fraction.
        let place = (self.mark(leaf) >> 11) as f64 / (1_u64 << 53) as f64;
        let (shortest, longest) = (SHORTEST as f64, self.params.longest as f64);
        Duration::from_nanos((1e3 * shortest * (longest / shortest).powf(place)) as u64)
    }

    fn leaf(&self, leaf: u64) -> u64 {
        thread::sleep(self.length(leaf));
        self.mark(leaf)
    }

    fn leaves(&self, leaves: std::ops::Range<u64>) -> u64 {
        leaves.fold(0, |sum: u64, leaf| sum.wrapping_add(self.leaf(leaf)))
    }

    /// Runs the leaves from `first` up to `end`, forked at random.
    fn node<J: ForkJoin>(&self, mut j: J, first: u64, end: u64) -> u64 {
        let count = end - first;
        if count == 1 {
            return self.leaf(first);
        }
        // A different number for each node.
        let chance = hash(!self.params.seed, first.wrapping_mul(MOST_LEAVES).wrapping_add(end));
        match chance % 4 {
            0 if count <= 40 => {
                let block = |sum: u64, block: std::ops::Range<u64>| sum.wrapping_add(self.leaves(block));
                j.fold_blocks(first..end, LoopGrain::Advice(1), 0, block, u64::wrapping_add)
            }
            1 => {
                let parts = count.min(3 + chance / 4 % 6);
                let bound = move |part: u64| first + count * part / parts;
                let part = |j: J::Branch<'_>, part: u64| self.node(j, bound(part), bound(part + 1));
                j.fork_all(0..parts, part, 0, |sum: u64, part| sum.wrapping_add(part))
            }
            _ => {
                let middle = first + 1 + chance / 4 % (count - 1);
                let (a, b) = j.join(move |j| self.node(j, first, middle), move |j| self.node(j, middle, end));
                a.wrapping_add(b)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_leaves_are_log_uniform() {
        let grain = GrainInstance { params: Grain { n: 10_000, longest: 100_000, seed: 3 } };
        let shorter = |micros: u64| {
            (0..grain.params.n).filter(|&leaf| grain.length(leaf) < Duration::from_micros(micros)).count()
        };
        assert_eq!((shorter(SHORTEST), shorter(100_000)), (0, 10_000));
        for (micros, share) in [(100, 2500), (1000, 5000), (10_000, 7500)] {
            assert!(shorter(micros).abs_diff(share) < 300, "{} below {micros} µs", shorter(micros));
        }
    }
}
