//! How coarse an owner's tasks are: whether it shares whatever it forks, or keeps it until somebody asks.
//!
//! **Idea.** A private task costs no atomic operation, but its owner has to answer whoever wants it, and answers nobody as long as
//! it runs a leaf. So tasks are worth keeping only where leaves are short. An owner begins by sharing all it forks; once a number of
//! joins in a row have come fast it keeps its forks, and shares on request. A request that has waited too long for its answer tells
//! it that leaves are long again, and so does a stack all of which has been stolen: what is forked next may be anything. Any other
//! request makes it doubt, for a few joins: what it forks next may be the last before a long leaf, and who asks is not always alone.
//! The oldest tasks, which are mostly the largest, are shared in any case.
//!
//! **Cost.** None on the path of a private fork and join. While all is shared, every fork and join is an atomic operation and
//! a fence, some tens of nanoseconds; a window of them ends that.
//!
//! What must always hold: it says only *how much* is shared, never what is right.

use super::limits::{Limits, Sharer};

/// A time, in ticks of a clock that runs at some gigahertz, or of another one where nobody looks.
pub type Time = u64;

/// When an owner changes its mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// So many joins in a row have to come fast before an owner keeps its forks; 0 if it always does.
    pub window: u32,
    /// So many have to if it has only been asked; 0 if that makes no difference.
    pub doubt: u32,
    /// So many of the oldest tasks are shared even by an owner that keeps its forks, unless it is alone: for those who come when it has
    /// begun a long leaf.
    pub ready: usize,
    /// So often in a row what is shared comes back unwanted before an owner minds nobody but those who ask, or sleep,
    /// until somebody steals.
    pub vain: u32,
    /// What is fast, for each of them on average.
    pub fine: Time,
    /// Longer than this nobody should wait for an answer.
    pub patience: Time,
}

impl Params {
    /// A loop that splits itself has some twenty joins before its blocks grow long. Above 2 µs for each, sharing it costs some percent
    /// at most; and 30 µs are what it takes to wake somebody. (At 3 GHz.)
    pub const DEFAULT: Self = Self { window: 32, doubt: 4, ready: 16, vain: 256, fine: 6_000, patience: 100_000 };
    /// An owner that keeps its forks until somebody asks.
    pub const FINE: Self = Self { window: 0, doubt: 0, ready: 0, vain: 0, fine: 0, patience: Time::MAX };
}

/// One owner's view of its tasks.
#[derive(Debug)]
pub struct Grain {
    is_coarse: bool,
    /// The last joins that were timed have come fast.
    was_fine: bool,
    /// So many joins are to come fast.
    window: u32,
    /// Tasks that have been taken back since they were all shared.
    joins: u32,
    /// When the first of them was.
    since: Time,
}

impl Grain {
    /// Of an owner that has seen no task yet: it keeps its forks until it [begins](Grain::begins) a stack.
    pub const fn new() -> Self {
        Self { is_coarse: false, was_fine: false, window: 0, joins: 0, since: 0 }
    }

    /// Whether whatever is forked is to be shared at once.
    #[inline]
    pub const fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// All tasks so far are stolen, and there is a new one.
    pub fn begins(&mut self, sharer: &impl Sharer) {
        let Params { window, doubt, .. } = sharer.grain();
        // What comes is mostly of one kind with what was there before.
        self.shares_for(if self.was_fine { doubt } else { window }, sharer);
    }

    /// Somebody has asked: what is forked next may be anything, though it is likely to be what it was.
    pub fn doubts(&mut self, sharer: &impl Sharer) {
        self.shares_for(sharer.grain().doubt, sharer);
    }

    fn shares_for(&mut self, window: u32, sharer: &impl Sharer) {
        if window > 0 && sharer.dormitory().len() > 1 {
            *self = Self { is_coarse: true, window, joins: 0, ..*self };
        }
    }

    /// Somebody has asked, perhaps: whether it has had to wait so long that everything is to be shared from now on.
    pub fn is_overdue<S: Sharer>(&mut self, limits: &Limits<S::Memory>, sharer: &S) -> bool {
        let is_early = |asked| sharer.now().saturating_sub(asked) < sharer.grain().patience;
        if limits.asked_at().is_none_or(is_early) {
            return false;
        }
        self.kept_waiting(sharer);
        self.is_coarse
    }

    /// Somebody has waited too long: everything is to be shared from now on.
    pub fn kept_waiting(&mut self, sharer: &impl Sharer) {
        self.was_fine = false;
        self.begins(sharer);
    }

    /// A task has been taken back while everything was shared; whether forks are to be kept from now on.
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
