//! The common part of peers that have loops over numbers, and no forks.

use filch_workloads::{ForkJoin, Grain, forks_by_halves};

/// A scheduler of loops.
pub(crate) trait Loops {
    /// Runs `f` on every number below `n`.
    fn each<F: Fn(usize) + Sync>(&self, n: usize, f: F);
}

pub(crate) struct Flat<'l, L>(pub(crate) &'l L);

impl<L: Loops> ForkJoin for Flat<'_, L> {
    type Branch<'b> = Self;

    /// Not a fork: the programs that it runs have none.
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Self) -> RA,
        B: FnOnce(Self) -> RB,
    {
        (a(Flat(self.0)), b(Flat(self.0)))
    }

    forks_by_halves!();

    fn for_indices<F: Fn(usize) + Sync>(&mut self, n: usize, _: Grain, f: F) {
        self.0.each(n, f);
    }
}
