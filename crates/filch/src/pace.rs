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
    /// Whether the loop is within a block of several items of another loop, which is fine.
    is_inner: bool,
}

impl Pace {
    /// About 5 µs.
    const AIM: Time = 15_000;
    const GROWTH: usize = 4;

    pub(crate) fn start() -> Self {
        Self { block: 1, started: clock::now(), is_fine: false, is_inner: false }
    }

    /// Starts a loop of so many items. If it is within a block of an outer loop that has been fine (`lately`), it
    /// probably takes less than the block, so that the clock is worth looking at only after some of the items.
    pub(crate) fn start_within(lately: Time, length: usize) -> Self {
        /// Of the items. So if they take long this time, most of them are for thieves.
        const PART: usize = 8;
        const MOST: usize = 16;
        match lately {
            0 => Self::start(),
            started => Self { block: (length / PART).clamp(1, MOST), started, is_fine: true, is_inner: true },
        }
    }

    /// What loops within the next block, of so many items, start with; `None`: what this loop started with.
    pub(crate) fn within(&self, items: usize) -> Option<Time> {
        (self.is_fine && items > 1 && !self.is_inner).then_some(self.started)
    }

    /// Adapts the block size after a block, or a smaller rest, of `items` items, before a rest of so many. Returns what
    /// other loops in the block around an inner loop start with, if that has changed.
    pub(crate) fn adjust(&mut self, items: usize, rest: usize) -> Option<Time> {
        if self.is_inner && rest == 0 {
            return None;
        }
        let now = clock::now();
        let took = now.saturating_sub(self.started);
        self.is_fine = took <= Self::AIM * Self::GROWTH as Time * 2;
        // What is left after halving has more than half a block; a smaller rest says little of a whole one.
        if took < Self::AIM && items > self.block / 2 {
            let is_far = self.is_inner && took < Self::AIM / (Self::GROWTH * Self::GROWTH) as Time;
            let growth = if is_far { Self::GROWTH * Self::GROWTH } else { Self::GROWTH };
            self.block = self.block.saturating_mul(growth);
        } else if !self.is_fine {
            self.block = (self.block / Self::GROWTH).max(1);
        }
        self.started = now;
        if !self.is_inner {
            return None;
        }
        self.is_inner = self.is_fine;
        Some(if self.is_inner { now } else { 0 })
    }
}
