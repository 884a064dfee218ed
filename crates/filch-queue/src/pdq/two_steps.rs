//! The desks of private deques whose owners deal in two steps: see [`sender`](super::sender), which has the whole
//! algorithm.
//!
//! Invariant: an idle desk leaves that state by one compare-and-swap (I1 of that module).

use alloc::collections::VecDeque;
use core::time::Duration;

use filch_memory::{Atomic, Memory, Ordering};

use super::dealt::Deals;
use super::sender::Params;
use super::{Desk, Wish, pass_on};
use crate::counts::Count;
use crate::{Steal, StealMany, Task};

// The states of a desk: one of these, or a code.
const BUSY: u32 = 0;
const WANTS_ONE: u32 = 1;
const WANTS_MANY: u32 = 2;
const INCOMING: u32 = 3;
/// The first code: to it are added twice the giver's number, and one if the thief wanted many.
const FIRST_CODE: u32 = 4;

/// A desk for many tasks, and for the number of the owner that has dealt them.
pub struct TwoSteps<M: Memory>(Desk<M>);

// SAFETY: one side at a time touches the bag, by the invariant of the module above; a task may go to another thread.
unsafe impl<M: Memory> Sync for TwoSteps<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for TwoSteps<M> {}

/// The tasks that a thief has received and not returned, and their giver.
#[derive(Debug, Default)]
pub struct Received {
    loot: VecDeque<Task>,
    /// The owner that dealt the tasks collected last.
    giver: Option<usize>,
}

impl<M: Memory> TwoSteps<M> {
    /// Collects the tasks dealt: returns the first, and puts the others into the loot, which is empty. If no task has
    /// been dealt, returns the state of the desk.
    ///
    /// # Safety
    /// The caller is the thief.
    unsafe fn receive(&self, received: &mut Received) -> Result<Task, u32> {
        let desk = &self.0;
        // E2: pairs with the store in `deal`.
        let state = desk.state.load(Ordering::Acquire);
        let Some(code) = state.checked_sub(FIRST_CODE) else { return Err(state) };
        received.giver = Some((code / 2) as usize);
        let wish = if code.is_multiple_of(2) { Wish::One } else { Wish::Many };
        // SAFETY: an owner has dealt, and none will again before this thief is idle again.
        let task = unsafe { desk.take(wish, &mut received.loot) };
        // Relaxed: nobody else changes it, and E1 comes before anybody uses the desk.
        desk.state.store(BUSY, Ordering::Relaxed);
        Ok(task)
    }
}

impl<M: Memory> Deals<M> for TwoSteps<M> {
    type Params = Params;
    type Known = Received;

    fn new() -> Self {
        Self(Desk::new(BUSY))
    }

    fn gap(params: &Params) -> Duration {
        params.gap
    }

    fn is_idle(&self) -> bool {
        // Relaxed: the compare-and-swap in `deal` validates it, and acquires.
        wish(self.0.state.load(Ordering::Relaxed)).is_some()
    }

    unsafe fn deal(&self, tasks: &mut VecDeque<Task>, giver: usize, params: &Params, grants: Option<&Count>) -> bool {
        let desk = &self.0;
        // Relaxed: as in `is_idle`.
        let wants = desk.state.load(Ordering::Relaxed);
        let Some(wish) = wish(wants) else { return false };
        // E1: pairs with the store in `open`. Relaxed on failure: nothing is used.
        if desk.state.compare_exchange(wants, INCOMING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // SAFETY: the compare-and-swap has claimed this desk, and the answer is next.
        let given = unsafe { desk.give(tasks, wish, params.share) };
        let code = FIRST_CODE + 2 * giver as u32 + u32::from(wish == Wish::Many);
        // Before the thief has them: `HANDS_OVER`.
        if let Some(grants) = grants {
            grants.add(given as u64);
        }
        // E2: pairs with the load in `receive`.
        desk.state.store(code, Ordering::Release);
        true
    }

    unsafe fn open(&self, _: &mut Received, many: bool) {
        // E1: pairs with the compare-and-swap in `deal`.
        self.0.state.store(if many { WANTS_MANY } else { WANTS_ONE }, Ordering::Release);
    }

    unsafe fn collect(&self, received: &mut Received) -> Steal<Task> {
        if let Some(task) = received.loot.pop_front() {
            return Steal::Task(task);
        }
        // SAFETY: the caller's promise.
        match unsafe { self.receive(received) } {
            Ok(task) => Steal::Task(task),
            Err(BUSY) => Steal::Empty,
            Err(_) => Steal::Pending,
        }
    }

    /// Stops being idle, or waits for incoming tasks.
    unsafe fn close(&self, received: &mut Received) -> Option<Task> {
        if let Some(task) = received.loot.pop_front() {
            return Some(task);
        }
        loop {
            // SAFETY: the caller's promise.
            match unsafe { self.receive(received) } {
                Ok(task) => return Some(task),
                Err(BUSY) => return None,
                // I1: an owner is dealing.
                Err(INCOMING) => M::spin_loop(),
                Err(wants) => {
                    // Relaxed, both: the desk has not been touched, and nothing is used here.
                    let left = self.0.state.compare_exchange(wants, BUSY, Ordering::Relaxed, Ordering::Relaxed);
                    if left.is_ok() {
                        return None;
                    }
                }
            }
        }
    }

    #[inline]
    fn has_task(&self, received: &Received) -> bool {
        // Relaxed: whatever orders the push before this call makes it recent enough.
        !received.loot.is_empty() || self.0.state.load(Ordering::Relaxed) >= INCOMING
    }

    #[inline]
    fn giver(received: &Received) -> Option<usize> {
        received.giver
    }
}

/// Returns what a thief whose desk has this state wants, if it is idle.
fn wish(state: u32) -> Option<Wish> {
    match state {
        WANTS_ONE => Some(Wish::One),
        WANTS_MANY => Some(Wish::Many),
        _ => None,
    }
}

impl<M: Memory, F: super::dealt::Form<Desk<M> = TwoSteps<M>>> StealMany<Task> for super::sender::Thief<M, F> {
    /// Asks for as many tasks as `Params::share` allows. If the owner deals more than `max`, the next attempts return
    /// the others.
    fn steal_many(&mut self, max: usize, loot: &mut alloc::vec::Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.obtain(true).map(|first| pass_on(first, &mut self.known.loot, max, loot))
    }
}
