//! Communicating private deques: no thread but the owner ever touches the deque.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, <https://doi.org/10.1145/2442516.2442538>.
//!
//! **Idea.** The owner works on an ordinary deque, and checks now and then whether to give a thief something: because
//! the thief has asked ([`PdqR`], [`PdqR2`], and ours, [`PdqRAsync`] and [`PdqR2Async`]), or because a clock says so
//! and the thief is idle ([`PdqS`] and [`PdqSAtOnce`], and ours, [`PdqSTold`] and [`PdqSOneStep`]). It hands the tasks
//! over on a desk. There is no race for a task, so there is no fence, and any deque and any policy of how much to give
//! will do.
//!
//! Invariant: only the owner touches the tasks on a desk between its claim of a request and its answer; at all other
//! times only the thief does.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use filch_memory::{Cell, Memory};

use crate::{Amount, Padded, Task};

mod asking;
#[cfg(feature = "std")]
mod dealt;
#[cfg(feature = "std")]
pub mod one_step;
pub mod receiver;
#[cfg(feature = "std")]
pub mod sender;
#[cfg(feature = "std")]
mod two_steps;
mod waits;
mod withdraws;

pub use receiver::{PdqR, PdqR2, PdqR2Async, PdqRAsync};
#[cfg(feature = "std")]
pub use sender::{PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold};

const PAPER: &str = "Acar, Charguéraud and Rainey, Work Stealing with Private Deques, PPoPP 2013";

/// How many tasks a thief has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    One,
    Many,
}

/// The place where an owner puts the tasks for one thief: a number that the protocol interprets, the first task, and a
/// bag for the others.
struct Desk<M: Memory> {
    state: M::AtomicU32,
    first: M::Cell<Option<Task>>,
    bag: M::Cell<VecDeque<Task>>,
}

type Desks<M> = Arc<[Padded<Desk<M>>]>;

/// Refuses numbers of thieves that the protocols cannot count.
fn check_number(thieves: usize) {
    // Twice their number, plus a few, must fit in 32 bits.
    assert!(thieves < 1 << 30, "the number of thieves is out of range");
}

/// Makes a desk for each thief.
fn desks<M: Memory>(thieves: usize, state: u32) -> Desks<M> {
    check_number(thieves);
    (0..thieves).map(|_| Padded(Desk::new(state))).collect()
}

impl<M: Memory> Desk<M> {
    fn new(state: u32) -> Self {
        Self { state: filch_memory::Atomic::new(state), first: Cell::new(None), bag: Cell::new(VecDeque::new()) }
    }

    /// Puts the oldest tasks on the desk, and returns how many. There is at least one task, and the desk is empty. A
    /// single task never allocates.
    ///
    /// # Safety
    /// The caller is the owner and has claimed this desk's request without having answered it.
    unsafe fn give(&self, tasks: &mut VecDeque<Task>, wish: Wish, share: Amount) -> usize {
        let more = match wish {
            Wish::One => 0,
            Wish::Many => share.of(u32::try_from(tasks.len()).unwrap_or(u32::MAX)) as usize - 1,
        };
        let oldest = tasks.pop_front();
        // SAFETY: the caller's promise: the thief does not touch the desk before the answer.
        self.first.with_mut(|first| unsafe { *first = oldest });
        if more > 0 {
            self.bag.with_mut(|bag| {
                // SAFETY: as above.
                unsafe { &mut *bag }.extend(tasks.drain(..more));
            });
        }
        1 + more
    }

    /// Returns the first task, and puts the others into `loot`, which is empty. There are others only if there was a
    /// [wish](Wish::Many) for them.
    ///
    /// # Safety
    /// The caller is the thief, whose only request has been granted.
    unsafe fn take(&self, wish: Wish, loot: &mut VecDeque<Task>) -> Task {
        if wish == Wish::Many {
            // SAFETY: the caller's promise: the owner does not touch the desk after its answer.
            self.bag.with_mut(|bag| core::mem::swap(unsafe { &mut *bag }, loot));
        }
        // SAFETY: as above.
        self.first.with_mut(|first| unsafe { (*first).take() }).expect("what was granted")
    }
}

/// Appends the first task and the oldest of the loot to `to`, at most `max` tasks in all; returns how many.
fn pass_on(first: Task, loot: &mut VecDeque<Task>, max: usize, to: &mut alloc::vec::Vec<Task>) -> usize {
    let more = loot.len().min(max - 1);
    to.push(first);
    to.extend(loot.drain(..more));
    1 + more
}
