//! The thief's side of the private deques whose owners deal: see [`sender`](super::sender), which has the whole algorithm.
//!
//! Invariant: I1 of that module: an idle desk leaves that state by one compare-and-swap.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::sender::{BUSY, FIRST_CODE, INCOMING, Shared, WANTS_MANY, WANTS_ONE};
use super::{Desk, Wish, pass_on};
use crate::{Steal, StealMany, Task};

/// A thief's side of an [`Of`](super::sender::Of) deque: for all givers one after the other, or for one.
pub struct Thief<M: Memory = Native, const FOR_ALL: bool = false> {
    pub(super) shared: Arc<Shared<M>>,
    pub(super) index: usize,
    /// Who has dealt what was collected last.
    pub(super) giver: Option<usize>,
    pub(super) loot: VecDeque<Task>,
}

impl<M: Memory, const FOR_ALL: bool> Thief<M, FOR_ALL> {
    #[inline]
    fn desk(&self) -> &Desk<M> {
        &self.shared.desks[self.index]
    }

    /// Becomes idle, if the victim may have tasks.
    fn ask(&mut self, wish: Wish) -> Steal<Task> {
        // Relaxed: a hint.
        if !self.shared.has_tasks.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        let wants = match wish {
            Wish::One => WANTS_ONE,
            Wish::Many => WANTS_MANY,
        };
        // E1: pairs with the compare-and-swap in `deal_to`.
        self.desk().state.store(wants, Ordering::Release);
        self.want();
        Steal::Pending
    }

    /// Makes the owner look at the desks, if it does not do that by itself.
    #[inline]
    fn want(&self) {
        // Relaxed, both: a hint. Written only if that changes it, since the owner reads it all the time.
        if !FOR_ALL && !self.shared.wanted.load(Ordering::Relaxed) {
            self.shared.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Collects what has been dealt: the first task, with the others in `loot`, which is empty. If nothing has been, returns the state of
    /// the desk.
    fn collect(&mut self) -> Result<Task, u32> {
        // E2: pairs with the store in `deal_to`.
        let state = self.desk().state.load(Ordering::Acquire);
        let Some(code) = state.checked_sub(FIRST_CODE) else { return Err(state) };
        self.giver = Some((code / 2) as usize);
        let wish = if code.is_multiple_of(2) { Wish::One } else { Wish::Many };
        let desk = &self.shared.desks[self.index];
        // SAFETY: an owner has dealt, and none will again before this thief is idle again.
        let task = unsafe { desk.take(wish, &mut self.loot) };
        // Relaxed: nobody else changes it, and E1 comes before anybody uses the desk.
        desk.state.store(BUSY, Ordering::Relaxed);
        Ok(task)
    }

    /// The first task of what there is, with the others in `loot`.
    fn obtain(&mut self, wish: Wish) -> Steal<Task> {
        if let Some(task) = self.loot.pop_front() {
            return Steal::Task(task);
        }
        match self.collect() {
            Ok(task) => Steal::Task(task),
            Err(BUSY) => self.ask(wish),
            Err(_) => {
                self.want();
                Steal::Pending
            }
        }
    }
}

impl<M: Memory, const FOR_ALL: bool> crate::Thief<Task> for Thief<M, FOR_ALL> {
    fn steal(&mut self) -> Steal<Task> {
        self.obtain(Wish::One)
    }

    /// Stops being idle, or waits for incoming tasks.
    fn quiesce(&mut self) -> Option<Task> {
        if let Some(task) = self.loot.pop_front() {
            return Some(task);
        }
        loop {
            match self.collect() {
                Ok(task) => return Some(task),
                Err(BUSY) => return None,
                // I1: an owner is dealing.
                Err(INCOMING) => M::spin_loop(),
                Err(wants) => {
                    // Relaxed, both: the desk has not been touched, and nothing is used here.
                    let left = self.desk().state.compare_exchange(wants, BUSY, Ordering::Relaxed, Ordering::Relaxed);
                    if left.is_ok() {
                        return None;
                    }
                }
            }
        }
    }

    /// Counts tasks on this thief's desk, not on others'.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed, both: whatever orders the push before this call makes them recent enough.
        let is_on_desk = || self.desk().state.load(Ordering::Relaxed) >= INCOMING;
        self.shared.has_tasks.load(Ordering::Relaxed) || !self.loot.is_empty() || is_on_desk()
    }

    #[inline]
    fn taken_from(&self) -> Option<usize> {
        if FOR_ALL { self.giver } else { None }
    }
}

impl<M: Memory, const FOR_ALL: bool> StealMany<Task> for Thief<M, FOR_ALL> {
    /// Wants as many as `Params::share` allows. The next attempts return what exceeds `max`.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.obtain(Wish::Many).map(|first| pass_on(first, &mut self.loot, max, loot))
    }
}
