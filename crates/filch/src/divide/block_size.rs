//! How many items a loop runs in one go.
//!
//! Invariant: this affects only how long a thief waits, never which items run.

use filch_queue::clock;

use crate::protocol::sharer::Time;
use crate::worker::home::Outer;

/// The number of items in a block: few enough that a thief waits only microseconds, and enough that the check costs
/// nothing.
pub(crate) struct Pace {
    pub(crate) block: usize,
    started: Time,
    /// Whether the last block took no longer than a thief may wait.
    pub(crate) is_fine: bool,
    /// The number of times the rest has been halved since the last block.
    halved: u32,
    /// The time when the surrounding block began, a fine block of several items of another loop; 0 if there is none.
    inner_since: Time,
    /// When the loop has taken so long that a worker that naps should help.
    long_at: Time,
    /// While its blocks are fine, the loop lends nothing before this time. It is in the future if the loop was short
    /// lately.
    lends_from: Time,
    /// The items of the largest block so far, and the time that they took.
    measured: (usize, Time),
}

impl Pace {
    /// About 5 µs.
    const AIM: Time = 15_000;
    /// About 60 µs: a loop that has taken so long probably takes longer than it takes to wake a worker.
    const CALL: Time = 180_000;
    const GROWTH: usize = 4;
    /// About 2.5 µs: a shorter loop takes no less time on two workers.
    const SHORT: Time = 7_500;
    /// The number of items that a rate is about.
    const UNIT: Time = 1024;

    pub(crate) fn start() -> Self {
        Self::start_at(clock::now())
    }

    fn start_at(started: Time) -> Self {
        Self {
            block: 1,
            started,
            is_fine: false,
            halved: 0,
            inner_since: 0,
            long_at: started + Self::CALL,
            lends_from: 0,
            measured: (0, 0),
        }
    }

    /// Starts a loop of `length` items that lately had this [rate](Self::rate). If its items were fine, it runs one
    /// before it lends any: so if they take long this time, thieves wait for one item.
    pub(crate) fn start_again(rate: Time, length: usize) -> Self {
        let ticks = |items: usize| rate.saturating_mul(items as Time) / Self::UNIT;
        let new = Self::start();
        let lends_from = if ticks(length) <= Self::SHORT { new.started + Self::SHORT } else { 0 };
        Self { is_fine: ticks(1) <= Self::AIM, lends_from, ..new }
    }

    /// Starts a loop of `length` items inside a fine block of an outer loop. It probably takes less time than that
    /// block, so it reads the clock only after some of its items.
    pub(crate) fn start_within(outer: Outer, length: usize) -> Self {
        /// The first block is one part in eight, so thieves can get most of the items if these take long this time.
        const PART: usize = 8;
        const MOST: usize = 16;
        Self {
            block: (length / PART).clamp(1, MOST),
            is_fine: true,
            inner_since: outer.began.max(1),
            long_at: Time::MAX,
            ..Self::start_at(outer.looked)
        }
    }

    /// Returns the ticks that [`UNIT`](Self::UNIT) items take, if a block has shown it.
    pub(crate) fn rate(&self) -> Option<Time> {
        let (items, took) = self.measured;
        (took * Self::UNIT).checked_div(items as Time)
    }

    /// Whether the loop has just become long.
    #[inline]
    pub(crate) fn is_long_now(&mut self) -> bool {
        let is_long = self.started > self.long_at;
        if is_long {
            self.long_at = Time::MAX;
        }
        is_long
    }

    fn is_inner(&self) -> bool {
        self.inner_since != 0
    }

    /// Whether the loop lends some of its rest now. Inside a fine block of an outer loop it leaves lending to that
    /// loop, which has more items and answers soon. While it is probably short, it lends nothing.
    #[inline]
    pub(crate) fn lends(&self, is_asked: impl FnOnce() -> bool) -> bool {
        !self.is_fine || !self.is_inner() && self.started >= self.lends_from && is_asked()
    }

    /// The number of items that the loop keeps of its `rest` when it lends the others: half of them, or only its next
    /// block if the last block was long and the loop has halved its rest `halvings` times since.
    #[inline]
    pub(crate) fn keeps(&mut self, rest: usize, halvings: u32) -> usize {
        if self.is_fine || self.halved < halvings {
            self.halved += 1;
            rest / 2
        } else {
            self.block
        }
    }

    /// A hint for loops nested in the next block of `items` items; `None` keeps the hint with which this loop started.
    pub(crate) fn within(&self, items: usize) -> Option<Outer> {
        (self.is_fine && items > 1 && !self.is_inner()).then_some(Outer { began: self.started, looked: self.started })
    }

    /// Adapts the block size after a block, or a smaller rest, of `items` items, with `rest` items to go. After a block
    /// of an inner loop, returns the hint for other loops in the surrounding block, if it has changed.
    pub(crate) fn adjust(&mut self, items: usize, rest: usize) -> Option<Outer> {
        const LONG: Time = Pace::AIM * Pace::GROWTH as Time * 2;
        if self.is_inner() && rest == 0 {
            return None;
        }
        let now = clock::now();
        let took = now.saturating_sub(self.started);
        self.is_fine = took <= LONG;
        self.halved = 0;
        if items >= self.measured.0 {
            self.measured = (items, took);
        }
        // A rest after halving has more than half a block; a smaller one says little about a whole block.
        if took < Self::AIM && items > self.block / 2 {
            let is_far = took < Self::AIM / (Self::GROWTH * Self::GROWTH) as Time;
            let growth = if is_far { Self::GROWTH * Self::GROWTH } else { Self::GROWTH };
            self.block = self.block.saturating_mul(growth);
        } else if !self.is_fine {
            self.block = (self.block / Self::GROWTH).max(1);
        }
        self.started = now;
        if !self.is_inner() {
            return None;
        }
        let began = self.inner_since;
        if !self.is_fine || now.saturating_sub(began) > LONG {
            // The surrounding block takes longer than the blocks before it, and its loop answers nobody meanwhile.
            self.inner_since = 0;
        }
        Some(Outer { began, looked: if self.is_fine { now } else { 0 } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_knows_nothing_of_its_items_keeps_halves_and_then_one_item() {
        let mut pace = Pace::start();
        let mut rest = 1000;
        let kept = [(); 4].map(|()| {
            assert!(pace.lends(|| false));
            rest = pace.keeps(rest, 3);
            rest
        });
        assert_eq!(kept, [500, 250, 125, 1]);
        pace.adjust(1, 124);
        assert_eq!(pace.keeps(124, 3), 62, "again");
    }

    #[test]
    fn an_inner_loop_leaves_lending_to_the_outer_one_until_that_answers_nobody_for_long() {
        let now = clock::now();
        let mut soon = Pace::start_within(Outer { began: now, looked: now }, 100);
        assert!(!soon.lends(|| true));
        let told = soon.adjust(12, 88).expect("there is a block around it");
        // Unless the test was interrupted.
        assert_eq!((told.began, soon.lends(|| true)), (now, !soon.is_inner()));
        let mut late = Pace::start_within(Outer { began: 1, looked: now }, 100);
        assert!(!late.lends(|| true));
        late.adjust(12, 88);
        assert!(late.lends(|| true));
        assert!(Pace::start().lends(|| false), "nobody knows yet how long its items take");
    }

    #[test]
    fn a_loop_lends_only_to_those_who_ask_if_its_items_were_fine_lately_and_nothing_while_it_is_probably_short() {
        let now = clock::now();
        let lends =
            |rate: Time, length, is_asked: bool| Pace::start_again(rate * Pace::UNIT, length).lends(|| is_asked);
        assert!(lends(Pace::AIM + 1, 2, false), "its items were long");
        assert!(lends(Pace::AIM, 2, true) && !lends(Pace::AIM, 2, false));
        let mut short = Pace::start_again(Pace::UNIT, Pace::SHORT as usize);
        assert!(!short.lends(|| true));
        short.lends_from = now;
        assert!(short.lends(|| true), "it has taken longer");
        short.lends_from = Time::MAX;
        short.is_fine = false;
        assert!(short.lends(|| false), "its first item was long");
    }

    #[test]
    fn the_rate_is_that_of_the_largest_block() {
        let mut pace = Pace::start();
        assert_eq!(pace.rate(), None);
        for (items, took) in [(1, 100), (16, 160), (4, 400)] {
            pace.started = clock::now() - took;
            pace.block = items;
            pace.adjust(items, 1000);
        }
        let rate = pace.rate().expect("there were blocks");
        assert!((10 * Pace::UNIT..).contains(&rate) && pace.measured.0 == 16, "{rate}");
    }
}
