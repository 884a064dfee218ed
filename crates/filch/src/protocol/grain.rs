//! How coarse an owner's tasks are: whether it shares every fork, or keeps forks until a thief asks.
//!
//! **Idea.** A private task costs no atomic operation, but its owner must answer thieves, and does not answer while it
//! runs a leaf. So private tasks pay only where leaves are short. An owner begins by sharing all its forks. After
//! several fast joins in a row it keeps its forks and shares on request. A request that has waited too long tells it
//! that leaves are long again, and so does a stack whose tasks are all stolen, because the next fork may be of any
//! size. Any other request makes it doubt for a few joins: its next fork may be the last before a long leaf, and
//! several thieves may want work. The oldest tasks, mostly the largest, are always shared.
//!
//! **Cost.** None for a private fork and join. While all tasks are shared, every fork and join costs an atomic
//! operation and a fence, some tens of nanoseconds, until a window of joins is over.
//!
//! Invariant: this affects only *how much* is shared, never correctness.

use super::limits::{Limits, Sharer};

/// A time, in ticks of a clock of some gigahertz, or of any other clock where nobody reads it.
pub type Time = u64;

/// When an owner changes between sharing its forks and keeping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The number of consecutive fast joins before an owner keeps its forks; 0 if it always keeps them.
    pub window: u32,
    /// The same after a request; 0 if requests make no difference.
    pub doubt: u32,
    /// How many of the oldest tasks an owner shares even while it keeps its forks, unless it is the only worker: for
    /// thieves that come after it has begun a long leaf.
    pub ready: usize,
    /// How many times in a row shared tasks come back unstolen before an owner shares only for workers that ask or
    /// sleep, until the next theft.
    pub vain: u32,
    /// The greatest average time of a fast join.
    pub fine: Time,
    /// The longest that a thief should wait for an answer.
    pub patience: Time,
}

impl Params {
    /// A self-splitting loop has some twenty joins before its blocks grow long. For joins longer than 2 µs, sharing
    /// costs a few percent at most; and it takes 30 µs to wake a worker. (At 3 GHz.)
    pub const DEFAULT: Self = Self { window: 32, doubt: 4, ready: 16, vain: 256, fine: 6_000, patience: 100_000 };
    /// For an owner that keeps its forks until a thief asks.
    pub const FINE: Self = Self { window: 0, doubt: 0, ready: 0, vain: 0, fine: 0, patience: Time::MAX };
}

/// One owner's view of its tasks.
#[derive(Debug)]
pub struct Grain {
    is_coarse: bool,
    /// Whether the last timed joins were fast.
    was_fine: bool,
    /// The number of joins that must be fast.
    window: u32,
    /// The number of tasks taken back since all were shared.
    joins: u32,
    /// The time of the first of them.
    since: Time,
}

impl Grain {
    /// The grain of an owner that has seen no task: it keeps its forks until it [begins](Grain::begins) a stack.
    pub const fn new() -> Self {
        Self { is_coarse: false, was_fine: false, window: 0, joins: 0, since: 0 }
    }

    /// Whether every fork is to be shared at once.
    #[inline]
    pub const fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// Reports a new task when all older ones are stolen.
    pub fn begins(&mut self, sharer: &impl Sharer) {
        let Params { window, doubt, .. } = sharer.grain();
        // New tasks mostly resemble the previous ones.
        self.shares_for(if self.was_fine { doubt } else { window }, sharer);
    }

    /// Reports a request: the next forks may be of any grain, though they probably resemble the last ones.
    pub fn doubts(&mut self, sharer: &impl Sharer) {
        self.shares_for(sharer.grain().doubt, sharer);
    }

    fn shares_for(&mut self, window: u32, sharer: &impl Sharer) {
        if window > 0 && sharer.dormitory().len() > 1 {
            *self = Self { is_coarse: true, window, joins: 0, ..*self };
        }
    }

    /// Returns whether a request, if there is one, has waited so long that all tasks are shared from now on.
    pub fn is_overdue<S: Sharer>(&mut self, limits: &Limits<S::Memory>, sharer: &S) -> bool {
        let is_early = |asked| sharer.now().saturating_sub(asked) < sharer.grain().patience;
        if limits.asked_at().is_none_or(is_early) {
            return false;
        }
        self.kept_waiting(sharer);
        self.is_coarse
    }

    /// Reports that a thief has waited too long: all tasks are shared from now on.
    pub fn kept_waiting(&mut self, sharer: &impl Sharer) {
        self.was_fine = false;
        self.begins(sharer);
    }

    /// Reports that a task was taken back while all were shared. Returns whether forks are kept from now on.
    pub fn is_fine_after(&mut self, sharer: &impl Sharer) -> bool {
        let Params { window, fine, .. } = sharer.grain();
        self.joins += 1;
        if self.joins == 1 {
            self.since = sharer.now();
        } else if self.joins > self.window {
            let now = sharer.now();
            self.was_fine = now.saturating_sub(self.since) <= fine.saturating_mul(Time::from(self.window));
            *self = Self { is_coarse: !self.was_fine, window, joins: 1, since: now, ..*self };
        }
        !self.is_coarse
    }
}

impl Default for Grain {
    fn default() -> Self {
        Self::new()
    }
}
