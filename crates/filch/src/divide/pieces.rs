//! How a loop divides whose strands are recorded: it is parallel over its items, but a piece of some microseconds is
//! one strand.
//!
//! Invariant: one worker runs the whole loop.

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::worker::strands;

/// Such a loop splits in halves, down to pieces that take this many ticks if they are like the last piece.
pub(super) struct Pieces {
    most: u64,
    /// The work of the last piece, and its items; 0 if no piece has run.
    ticks: <Native as Memory>::AtomicU64,
    items: <Native as Memory>::AtomicU64,
}

impl Pieces {
    /// Returns the beginning of a loop; `None` if this thread does not record.
    pub(super) fn here() -> Option<Self> {
        Some(Self { most: strands::piece()?, ticks: Atomic::new(0), items: Atomic::new(0) })
    }

    /// Whether this many items are one piece: a piece is not many times larger than the one before, whose items may
    /// have been short by chance.
    pub(super) fn is_one(&self, length: usize) -> bool {
        const GROWTH: u64 = 16;
        // Relaxed, here and below: one worker runs the whole loop.
        let (ticks, items) = (self.ticks.load(Ordering::Relaxed).max(1), self.items.load(Ordering::Relaxed));
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let takes_little = || product(ticks, length as u64) <= product(self.most, items);
        length <= 1 || length as u64 <= GROWTH * items && takes_little()
    }

    /// Runs a piece of this many items.
    pub(super) fn run<T>(&self, items: usize, piece: impl FnOnce() -> T) -> T {
        let before = strands::work();
        let sum = piece();
        self.ticks.store(strands::work() - before, Ordering::Relaxed);
        self.items.store(items as u64, Ordering::Relaxed);
        sum
    }
}
