//! How many items a loop runs in one go.
//!
//! Invariant: this affects only how long a thief waits, never which items run.

use filch_queue::clock;

use crate::protocol::sharer::Time;

/// The number of items in a block: few enough that a thief waits only microseconds, and enough that the check costs
/// nothing.
pub(crate) struct Pace {
    pub(crate) block: usize,
    started: Time,
    /// Whether the last block took no longer than a thief may wait.
    pub(crate) is_fine: bool,
}

impl Pace {
    /// About 5 µs.
    const AIM: Time = 15_000;
    const GROWTH: usize = 4;

    pub(crate) fn start() -> Self {
        Self { block: 1, started: clock::now(), is_fine: false }
    }

    /// Adapts the block size after a block, or a smaller rest, of `items` items.
    pub(crate) fn adjust(&mut self, items: usize) {
        let now = clock::now();
        let took = now.saturating_sub(self.started);
        self.is_fine = took <= Self::AIM * Self::GROWTH as Time * 2;
        // What is left after halving has more than half a block; a smaller rest says little of a whole one.
        if took < Self::AIM && items > self.block / 2 {
            self.block = self.block.saturating_mul(Self::GROWTH);
        } else if !self.is_fine {
            self.block = (self.block / Self::GROWTH).max(1);
        }
        self.started = now;
    }
}
