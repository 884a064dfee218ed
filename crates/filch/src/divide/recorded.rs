//! Runs a loop whose strands are recorded: a loop is parallel over its items, but a piece of some microseconds is one
//! strand.
//!
//! Invariant: each item is mapped once, and results are reduced in the order of the items.

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::divisible::{Divisible, cut};
use super::forker::Forker;
use crate::worker::strands;

/// How such a loop splits: in halves, down to pieces that take this many ticks if they are like the last piece.
pub(super) struct Pieces {
    most: u64,
    /// The work of the last piece, and its items; 0 if no piece has run.
    ticks: <Native as Memory>::AtomicU64,
    items: <Native as Memory>::AtomicU64,
}

impl Pieces {
    pub(super) fn of(most: u64) -> Self {
        Self { most, ticks: Atomic::new(0), items: Atomic::new(0) }
    }

    /// Whether this many items are one piece: a piece is not many times larger than the one before, whose items may
    /// have been short by chance.
    fn is_one(&self, length: usize) -> bool {
        const GROWTH: u64 = 16;
        // Relaxed, here and below: one worker runs the whole loop.
        let (ticks, items) = (self.ticks.load(Ordering::Relaxed).max(1), self.items.load(Ordering::Relaxed));
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let takes_little = || product(ticks, length as u64) <= product(self.most, items);
        length <= 1 || length as u64 <= GROWTH * items && takes_little()
    }

    fn ran(&self, ticks: u64, items: usize) {
        self.ticks.store(ticks, Ordering::Relaxed);
        self.items.store(items as u64, Ordering::Relaxed);
    }
}

/// Runs a loop. Its pieces may fork.
pub(super) fn divide<K, D, T, Z, F, R>(mut forker: K, source: D, zero: &Z, fold: &F, reduce: &R, pieces: &Pieces) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let length = source.length();
    if pieces.is_one(length) {
        let before = strands::work();
        let sum = forker.within(|forker| fold(forker, zero(), source));
        pieces.ran(strands::work() - before, length);
        return sum;
    }
    let (left, right) = cut(source, length / 2);
    let (left, right) = forker.fork(
        |forker| divide(forker, left, zero, fold, reduce, pieces),
        |forker| divide(forker, right, zero, fold, reduce, pieces),
    );
    reduce(left, right)
}
