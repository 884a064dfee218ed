//! The thief's side of the private deques whose thieves ask: see [`receiver`](super::receiver), which has the whole
//! algorithm.
//!
//! Invariant: a desk is for at most one request (I1 of that module).

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::receiver::{BLOCKED, CLEAR, DECLINED, FIRST_CODE, FREE, GRANTED, PENDING, Shared};
use super::{Desk, Wish, pass_on};
use crate::{Steal, StealMany, Task};

/// A thief's side: the thief waits for the answer, or may withdraw.
pub struct Thief<M: Memory = Native, const WAITS: bool = false> {
    pub(super) shared: Arc<Shared<M>>,
    pub(super) index: u32,
    /// The outstanding request.
    pub(super) asked: Option<u32>,
    pub(super) loot: VecDeque<Task>,
}

/// Returns how many tasks the request with this code asks for.
pub(super) fn wish(code: u32) -> Wish {
    if code.is_multiple_of(2) { Wish::One } else { Wish::Many }
}

impl<M: Memory, const WAITS: bool> Thief<M, WAITS> {
    #[inline]
    fn desk(&self) -> &Desk<M> {
        &self.shared.desks[self.index as usize]
    }

    /// Puts a request into the cell, if the owner may have tasks and nobody else is asking.
    fn ask(&mut self, wish: Wish) -> Steal<Task> {
        // Relaxed: whatever the flag says, the owner answers from the tasks that it has.
        if !self.shared.has_tasks.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        // Relaxed: this thief itself clears it. I1.
        if WAITS && self.desk().state.load(Ordering::Relaxed) != CLEAR {
            return Steal::Aborted;
        }
        // Relaxed: published by E1.
        self.desk().state.store(PENDING, Ordering::Relaxed);
        let code = FIRST_CODE + 2 * self.index + u32::from(wish == Wish::Many);
        // E1: pairs with the look at the cell in `claim`. Relaxed on failure: nothing is used.
        let answer = match self.shared.request.compare_exchange(FREE, code, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => {
                self.asked = Some(code);
                return Steal::Pending;
            }
            Err(BLOCKED) => Steal::Empty,
            // The owner has somebody else to answer first.
            Err(_) => {
                if WAITS {
                    Steal::Aborted
                } else {
                    Steal::Pending
                }
            }
        };
        self.clear();
        answer
    }

    /// Leaves the desk to the next request, perhaps to another victim.
    fn clear(&self) {
        if WAITS {
            // Relaxed: no request is outstanding, so nobody else looks.
            self.desk().state.store(CLEAR, Ordering::Relaxed);
        }
    }

    /// Collects the answer to the outstanding request with this code, if the answer has come. Returns the first task,
    /// and puts the others into `loot`.
    fn collect(&mut self, code: u32) -> Steal<Task> {
        // E2: pairs with the store in `answer`.
        let state = self.desk().state.load(Ordering::Acquire);
        if state == PENDING {
            return Steal::Pending;
        }
        self.asked = None;
        let answer = if state == GRANTED {
            let Self { shared, loot, .. } = self;
            // SAFETY: the only request has been granted.
            Steal::Task(unsafe { shared.desks[self.index as usize].take(wish(code), loot) })
        } else {
            Steal::Empty
        };
        self.clear();
        answer
    }

    /// Returns a task of `loot`, or collects the outstanding answer, or asks.
    fn obtain(&mut self, wish: Wish) -> Steal<Task> {
        if let Some(task) = self.loot.pop_front() {
            return Steal::Task(task);
        }
        match self.asked {
            Some(code) => self.collect(code),
            None => self.ask(wish),
        }
    }
}

impl<M: Memory, const WAITS: bool> crate::Thief<Task> for Thief<M, WAITS> {
    fn steal(&mut self) -> Steal<Task> {
        self.obtain(Wish::One)
    }

    /// Withdraws the request, or waits for an answer that is under way. In the paper's form it always waits for the
    /// answer.
    fn quiesce(&mut self) -> Option<Task> {
        let Some(code) = self.asked else { return self.loot.pop_front() };
        // Relaxed, both: nobody will use anything that the request published, and nothing is used here.
        let withdraws =
            || self.shared.request.compare_exchange(code, FREE, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !WAITS && withdraws() {
            self.asked = None;
            return None;
        }
        // I2: the owner is between its claim and its answer.
        loop {
            match self.collect(code) {
                Steal::Pending => M::spin_loop(),
                answer => return answer.task(),
            }
        }
    }

    /// Counts tasks on this thief's desk, not on others'.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed, both: whatever orders the push before this call makes them recent enough.
        let may_be_on_desk = || self.asked.is_some() && self.desk().state.load(Ordering::Relaxed) != DECLINED;
        self.shared.has_tasks.load(Ordering::Relaxed) || !self.loot.is_empty() || may_be_on_desk()
    }
}

impl<M: Memory, const WAITS: bool> StealMany<Task> for Thief<M, WAITS> {
    /// Asks for as many tasks as `Params::share` says. The next attempts return the tasks that exceed `max`.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.obtain(Wish::Many).map(|first| pass_on(first, &mut self.loot, max, loot))
    }
}
