//! Communicating private deques: no thread but the owner ever touches the deque.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, <https://doi.org/10.1145/2442516.2442538>.
//!
//! **Idea.** The owner works on an ordinary deque, and checks now and then whether to give a thief something: because
//! the thief has asked ([`PdqR`], [`PdqR2`]), or because a clock says so and the thief is idle ([`PdqS`]). It hands the
//! tasks over on a desk that belongs to the two of them. There is no race for a task, so there is no fence; and any
//! deque will do, and any policy of how much to give.
//!
//! Invariant: the owner touches a desk's bag between its claiming a request and its answer, the thief at all other
//! times.

use alloc::collections::VecDeque;

use filch_memory::{Cell, Memory};

use crate::{Amount, Task};

pub mod receiver;
#[cfg(feature = "std")]
pub mod sender;

pub use receiver::{PdqR, PdqR2};
#[cfg(feature = "std")]
pub use sender::PdqS;

const PAPER: &str = "Acar, Charguéraud and Rainey, Work Stealing with Private Deques, PPoPP 2013";

/// How many tasks a thief has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    One,
    Many,
}

/// Where an owner puts what it gives to one thief: a number that the protocol interprets, and a bag.
struct Desk<M: Memory> {
    state: M::AtomicU32,
    bag: M::Cell<VecDeque<Task>>,
}

impl<M: Memory> Desk<M> {
    fn new(state: u32) -> Self {
        // Room for one task, so that giving one never allocates.
        Self { state: filch_memory::Atomic::new(state), bag: Cell::new(VecDeque::with_capacity(1)) }
    }

    /// Moves the oldest tasks into the bag. There is at least one task, and the bag is empty.
    ///
    /// # Safety
    /// The caller is the owner and has claimed this desk's request without having answered it.
    unsafe fn give(&self, tasks: &mut VecDeque<Task>, wish: Wish, share: Amount) {
        let count = match wish {
            Wish::One => 1,
            Wish::Many => share.of(u32::try_from(tasks.len()).unwrap_or(u32::MAX)) as usize,
        };
        self.bag.with_mut(|bag| {
            // SAFETY: the caller's promise: the thief does not touch the bag before the answer.
            unsafe { &mut *bag }.extend(tasks.drain(..count));
        });
    }

    /// Empties the bag into `loot`, which is empty.
    ///
    /// # Safety
    /// The caller is the thief and has no unanswered request.
    unsafe fn take(&self, loot: &mut VecDeque<Task>) {
        self.bag.with_mut(|bag| {
            // SAFETY: the caller's promise: the owner does not touch the bag after its answer.
            core::mem::swap(unsafe { &mut *bag }, loot);
        });
    }
}

/// Moves up to `max` received tasks to the caller's loot; returns how many.
fn pass_on(loot: &mut VecDeque<Task>, max: usize, to: &mut alloc::vec::Vec<Task>) -> usize {
    let count = loot.len().min(max);
    to.extend(loot.drain(..count));
    count
}
