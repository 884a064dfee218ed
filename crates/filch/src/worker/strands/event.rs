//! The events of forks, as words of a [log](super::log).

use filch_memory::{Memory, Native};

/// An event of a fork, which ends a strand and begins the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Event {
    /// The first branch begins. A word follows, the fork's kind.
    Fork,
    /// The first branch has ended: the second begins.
    Second,
    /// The second branch has ended.
    Join,
    /// The first branch has unwound, and the second never runs.
    Dropped,
}

/// The bits of a word that are an event; the others are the ticks since the last event.
const BITS: u32 = 2;

pub(super) type Word = <Native as Memory>::AtomicU64;

impl Event {
    /// The most ticks that a word holds.
    pub(super) const MOST: u64 = u64::MAX >> BITS;

    /// Returns the word of an event after so many ticks.
    #[inline]
    pub(super) fn after(self, ticks: u64) -> u64 {
        ticks << BITS | self as u64
    }

    /// Returns the event in a word, and the ticks before it.
    #[inline]
    pub(super) fn of(word: u64) -> (Self, u64) {
        let events = [Self::Fork, Self::Second, Self::Join, Self::Dropped];
        (events[word as usize % events.len()], word >> BITS)
    }
}
