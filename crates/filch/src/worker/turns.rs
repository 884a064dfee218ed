//! Turns: now and then a worker looks first for work that it may have passed over, because it found nearer work.
//!
//! Invariant: between two turns a worker makes at most [`FINDS`] × ([`PASSES`] + 1) finds.

use std::cell::Cell;

use crate::shared::common::Lane;

/// After this many finds a worker asks whether it is the next turn.
const FINDS: i32 = 32;
/// How many times in a row it may not be the next turn, because the worker has work itself.
const PASSES: u32 = 31;

/// A worker's count of what it finds.
pub(crate) struct Turns {
    finds_left: Cell<i32>,
    passes_left: Cell<u32>,
    lane: Cell<Lane>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { finds_left: Cell::new(FINDS), passes_left: Cell::new(PASSES), lane: Cell::new(Lane::Now) }
    }
}

impl Turns {
    /// Counts something that the worker has found to run.
    pub(crate) fn note_find(&self) {
        self.finds_left.set(self.finds_left.get().wrapping_sub(1));
    }

    /// Whether it is the turn of what the worker may have passed over: its mail, injected jobs, and what other workers
    /// have. Such a job may block until something has run that the worker has itself; so while the worker has anything,
    /// many more finds pass before the turn.
    #[inline(always)]
    pub(crate) fn is_next(&self, has_own: impl FnOnce() -> bool) -> bool {
        self.finds_left.get() <= 0 && self.is_next_at_last(has_own)
    }

    #[cold]
    fn is_next_at_last(&self, has_own: impl FnOnce() -> bool) -> bool {
        let passes = self.passes_left.get();
        let is_next = passes == 0 || !has_own();
        if !is_next {
            self.passes_left.set(passes - 1);
            self.finds_left.set(FINDS);
        }
        is_next
    }

    /// Begins that turn. Returns the lane of injected jobs that comes first; the lanes alternate.
    pub(crate) fn begin(&self) -> Lane {
        self.finds_left.set(FINDS);
        self.passes_left.set(PASSES);
        let next = self.lane.get().other();
        self.lane.replace(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of finds before the next turn.
    fn finds(turns: &Turns, has_own: bool) -> i32 {
        (0..)
            .find(|_| {
                turns.is_next(|| has_own) || {
                    turns.note_find();
                    false
                }
            })
            .unwrap()
    }

    #[test]
    fn own_work_postpones_the_turn_but_not_for_ever() {
        let turns = Turns::default();
        for lane in [Lane::Now, Lane::Whenever, Lane::Now] {
            assert_eq!(finds(&turns, false), FINDS);
            assert_eq!(turns.begin(), lane);
        }
        assert_eq!(finds(&turns, true), FINDS * (PASSES as i32 + 1));
    }
}
