//! The cells of private deques whose owners deal in one step: see [`sender`](super::sender), which has the rest of the
//! algorithm.
//!
//! **Idea.** A task is one word, so one compare-and-swap of the thief's cell from null to the task deals it: the
//! paper's figure 3 for one task. Any word other than null is a task, or means that the thief is not idle; the thief
//! itself knows which, by a flag beside the cell.
//!
//! **Invariants.**
//! * I1: one update replaces null: an owner's compare-and-swap, which deals, or the thief's swap, by which it stops
//!   being idle.
//!
//! **Edges.**
//! * E1: the compare-and-swap in `deal` (release) → the load in `collect`, or the swap in `close` (acquire): the
//!   contents of the task.

use alloc::collections::VecDeque;
use core::time::Duration;

use filch_memory::{Atomic, Memory, Ordering};

use super::dealt::Deals;
use crate::counts::Count;
use crate::{Steal, Task};

/// The tuning parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// The paper's δ, as in [`sender::Params`](super::sender::Params).
    pub gap: Duration,
}

impl Default for Params {
    /// As in [`sender::Params`](super::sender::Params).
    fn default() -> Self {
        Self { gap: super::sender::Params::default().gap }
    }
}

/// A cell for one task.
pub struct OneStep<M: Memory> {
    word: M::AtomicPtr<()>,
    /// Whether the thief is idle: it has written null, and has not read anything else in the cell since. Only the thief
    /// uses it.
    is_idle: M::AtomicBool,
}

/// The ordering of the thief's own flag: no other thread uses it.
const OWN: Ordering = Ordering::Relaxed;

/// Any word but null.
const BUSY: *mut () = core::ptr::dangling_mut();

impl<M: Memory> Deals<M> for OneStep<M> {
    type Params = Params;
    type Known = ();

    fn new() -> Self {
        Self { word: Atomic::new(BUSY), is_idle: Atomic::new(false) }
    }

    fn gap(params: &Params) -> Duration {
        params.gap
    }

    fn is_idle(&self) -> bool {
        // Relaxed: the compare-and-swap in `deal` validates it.
        self.word.load(Ordering::Relaxed).is_null()
    }

    unsafe fn deal(&self, tasks: &mut VecDeque<Task>, _: usize, _: &Params, grants: Option<&Count>) -> bool {
        let Some(task) = tasks.front().filter(|_| self.is_idle()) else { return false };
        // Before the thief has it: `HANDS_OVER`. If the deal fails, the count is briefly too high; it is never too low.
        if let Some(grants) = grants {
            grants.bump();
        }
        // I1. E1: pairs with the load in `collect` and the swap in `close`. Relaxed on failure: nothing is used.
        let dealt =
            self.word.compare_exchange(Task::NO_WORD, task.word(), Ordering::Release, Ordering::Relaxed).is_ok();
        if dealt {
            tasks.pop_front();
        } else if let Some(grants) = grants {
            grants.take_back();
        }
        dealt
    }

    unsafe fn open(&self, (): &mut (), _: bool) {
        self.is_idle.store(true, OWN);
        // Relaxed: an owner that sees it uses nothing that the thief wrote.
        self.word.store(Task::NO_WORD, Ordering::Relaxed);
    }

    unsafe fn collect(&self, (): &mut ()) -> Steal<Task> {
        if !self.is_idle.load(OWN) {
            return Steal::Empty;
        }
        // E1: pairs with the compare-and-swap in `deal`.
        let Some(task) = Task::from_word(self.word.load(Ordering::Acquire)) else { return Steal::Pending };
        self.is_idle.store(false, OWN);
        Steal::Task(task)
    }

    unsafe fn close(&self, (): &mut ()) -> Option<Task> {
        if !self.is_idle.load(OWN) {
            return None;
        }
        self.is_idle.store(false, OWN);
        // I1. E1: pairs with the compare-and-swap in `deal`.
        Task::from_word(self.word.swap(BUSY, Ordering::Acquire))
    }

    #[inline]
    fn has_task(&self, (): &()) -> bool {
        self.is_idle.load(OWN) && !self.is_idle()
    }

    #[inline]
    fn giver((): &()) -> Option<usize> {
        None
    }
}
