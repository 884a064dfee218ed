//! How coarse an owner's tasks are: whether it shares every fork, or keeps forks until a thief asks.
//!
//! **Idea.** A private task costs no atomic operation, but its owner must answer thieves, and does not answer while it
//! runs a leaf. So private tasks pay only where leaves are short. An owner begins by sharing all its forks. After
//! several fast joins in a row it keeps its forks and shares on request. A request that has waited too long tells it
//! that leaves are long again, and so does a stack whose tasks are all stolen, because the next fork may be of any
//! size. Any other request while nothing is shared makes it doubt for a few joins: its next fork may be the last before
//! a long leaf, and several thieves may want work.
//!
//! **Cost.** None for a private fork and join. While all tasks are shared, every fork and join costs an atomic
//! operation and a fence, some tens of nanoseconds, until a window of joins is over.
//!
//! Invariant: this affects only *how much* is shared, never correctness.

use super::limits::Limits;
use super::sharer::Sharer;
pub use super::sharer::{Params, Time};

/// One owner's view of its tasks.
#[derive(Debug)]
pub struct Grain {
    is_coarse: bool,
    /// Whether `is_coarse` never changes.
    is_fixed: bool,
    /// Whether the last timed joins were fast.
    was_fine: bool,
    /// The number of joins that must be fast.
    window: u32,
    /// The number of tasks taken back since all were shared.
    joins: u32,
    /// The time of the first of these joins.
    since: Time,
}

impl Grain {
    /// The grain of an owner that has seen no task: it keeps its forks until it [begins](Grain::begin) a stack.
    pub const fn new() -> Self {
        Self { is_coarse: false, is_fixed: false, was_fine: false, window: 0, joins: 0, since: 0 }
    }

    /// The grain of an owner that always keeps its forks.
    pub const fn fixed() -> Self {
        Self { is_fixed: true, ..Self::new() }
    }

    /// Whether every fork is to be shared at once.
    #[inline]
    pub const fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// Reports a new task when all older ones are stolen.
    pub fn begin(&mut self, sharer: &impl Sharer) {
        let Params { window, doubt, .. } = sharer.grain();
        // New tasks mostly resemble the previous ones.
        self.share_for_window(if self.was_fine { doubt } else { window }, sharer);
    }

    /// Reports a request: the next forks may be of any grain, though they probably resemble the last ones.
    pub fn doubt(&mut self, sharer: &impl Sharer) {
        self.share_for_window(sharer.grain().doubt, sharer);
    }

    fn share_for_window(&mut self, window: u32, sharer: &impl Sharer) {
        if window > 0 && !self.is_fixed && sharer.workers() > 1 {
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
        self.begin(sharer);
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
