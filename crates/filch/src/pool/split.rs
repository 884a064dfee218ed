//! The default pool: a direct task stack on the split deque.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** Tasks lie in the slots of a per-worker array, from their fork to their join. The index protocol of
//! [`filch_queue::lace::index`] says who may take which; the owner's part of it is folded into the two
//! [limits](crate::protocol::limits), so that a fork writes the task, compares twice, and calls twice.
//!
//! **Fields.** `stack`: slots, written by the owner; a thief reads the slots that it has won and leaves the result there.
//! `shared`: tail, split and the all-stolen hint, on a line of their own; thieves and the owner's cold path. `owner`: the
//! owner's copies. `words`: a Chase–Lev deque for forks by code that does not know the head.
//!
//! **Invariants.** With `split` the owner's copy, and `head` the exact head:
//! * I1: while not all stolen, the limits admit exactly the pops at or above split (or, requested, none), and pushes
//!   below the end (or none). While all are stolen, they admit nothing; while tasks are kept aside, no pops.
//! * I2: a slot below tail is its thief's from the winning compare-and-swap to the settling of its state, then the owner's.
//! * I3: at a cold pop, either the head is beyond the end, and the task is the newest one kept aside; or its index is at or
//!   above split and it is private; or it is the newest shared one.
//!
//! **Departures.** Lace keeps one head per worker in memory and tests flags; here the head is in a register and requests
//! overwrite the limits, so that the fast path has two compares in all. Lace's split request is answered only while
//! there is something to share; here it may also stay armed on the push limit, because thieves sleep.

use std::cell::UnsafeCell;

use filch_memory::Native;
use filch_queue::lace::index::{OwnerIndex, SharedIndex, StealIndex};
use filch_queue::{ChaseLev, Padded};

use super::Queued;
use super::direct::{self, Direct};
use crate::front::Front;
use crate::stack::Stack;
use crate::worker::Home;

/// The split deque with its direct task stack, from *Lace* (van Dijk and van de Pol, 2014). The default.
///
/// Pushing and popping touch nothing that thieves write, except when somebody asks for work. Stealing is lock-free. The
/// stack is reserved address space; when it is full, further tasks are kept aside, where thieves do not see them.
#[derive(Debug)]
pub struct Split {
    stack: Stack,
    shared: Padded<SharedIndex<Native>>,
    owner: UnsafeCell<OwnerIndex>,
    words: Queued<ChaseLev>,
}

// SAFETY: `owner` is touched by the worker's own thread only; the rest is made for sharing.
unsafe impl Sync for Split {}

impl Split {
    /// # Safety
    /// The current thread is this worker, and no other reference from here is alive.
    #[expect(clippy::mut_from_ref, reason = "the owner's part, which the owner's thread alone may ask for")]
    unsafe fn owner(&self) -> &mut OwnerIndex {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.owner.get() }
    }

    fn address_of(&self, index: u32) -> usize {
        self.stack.at(index as usize).addr()
    }

    /// Opens the limits as the owner's indices say, and tells sleepers.
    ///
    /// # Safety
    /// The current thread is this worker; not all tasks are stolen.
    unsafe fn reopen(&self, front: &Front, home: &Home, has_shared: bool) {
        // SAFETY: the caller's promise.
        let split = unsafe { self.owner() }.split();
        let end = self.address_of(self.stack.capacity() as u32);
        direct::reopen(front, home, end, self.address_of(split), has_shared);
    }

    /// Shares half of what lies privately below `head`; returns whether that was anything.
    ///
    /// # Safety
    /// As [`Split::reopen`]; the tasks below `head` have been written.
    unsafe fn share(&self, home: &Home, head: usize) -> bool {
        // SAFETY: the caller's promise.
        let grown = unsafe { self.owner() }.grow(&self.shared, head as u32) != 0;
        if grown {
            home.counters.grows.bump();
        }
        grown
    }
}

// SAFETY: the index protocol gives each task out once; the invariants of the file's head.
unsafe impl Direct for Split {
    const ASKS_AHEAD: bool = false;

    fn new(stack: Stack, words: Queued<ChaseLev>) -> Self {
        let (shared, owner) = SharedIndex::new();
        Self { stack, shared: Padded(shared), owner: UnsafeCell::new(owner), words }
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn words(&self) -> &Queued<ChaseLev> {
        &self.words
    }

    unsafe fn pushed(&self, front: &Front, home: &Home, index: usize) {
        let capacity = self.stack.capacity();
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        let has_shared = if !owner.is_all_stolen() {
            // SAFETY: not all stolen, and everything up to the head has been written.
            unsafe { self.share(home, (index + 1).min(capacity)) }
        } else if index < capacity {
            owner.publish_first(&self.shared, index as u32);
            true
        } else {
            return;
        };
        // SAFETY: not all stolen.
        unsafe { self.reopen(front, home, has_shared) };
    }

    unsafe fn take_back(&self, front: &Front, home: &Home, index: usize) -> bool {
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        if owner.is_all_stolen() {
            return false;
        }
        if index < owner.split() as usize {
            debug_assert_eq!(index + 1, owner.split() as usize, "everything newer has been joined: I3");
            if owner.shrink(&self.shared) {
                front.limits.close();
                return false;
            }
            home.counters.shrinks.bump();
        }
        let wanted = front.limits.is_wanted();
        // SAFETY: not all stolen; everything below the task has been written.
        let has_shared = wanted && unsafe { self.share(home, index.min(self.stack.capacity())) };
        // SAFETY: not all stolen.
        unsafe { self.reopen(front, home, has_shared) };
        true
    }

    unsafe fn polled(&self, front: &Front, home: &Home, index: usize) {
        // SAFETY: this worker; no other reference.
        if unsafe { self.owner() }.is_all_stolen() {
            return;
        }
        // SAFETY: not all stolen; the caller's promise.
        let has_shared = unsafe { self.share(home, index.min(self.stack.capacity())) };
        // SAFETY: not all stolen.
        unsafe { self.reopen(front, home, has_shared) };
    }

    unsafe fn joined(&self, front: &Front, index: usize) {
        self.stack.get(index).expect("a stolen task has a slot").state.reset();
        // What was pushed above meanwhile may have reopened the deque; it is gone, and what is left below is stolen.
        // SAFETY: this worker; no other reference.
        unsafe { self.owner() }.set_all_stolen(&self.shared);
        front.limits.close();
    }

    fn steal(&self) -> StealIndex<usize> {
        match self.shared.steal() {
            StealIndex::Index(index) => StealIndex::Index(index as usize),
            StealIndex::Retry => StealIndex::Retry,
            StealIndex::NothingShared => StealIndex::NothingShared,
            StealIndex::AllStolen => StealIndex::AllStolen,
        }
    }

    fn has_shared(&self) -> bool {
        self.shared.has_shared()
    }

    fn may_share(&self) -> bool {
        !self.shared.is_all_stolen()
    }

    unsafe fn wants_work(&self, _: &Front, _: usize) -> bool {
        // Asked for, or all stolen: somebody comes for the next one too.
        true
    }
}
