//! Slots for forks that are not on the task stack, because it is full or the head is unknown.
//!
//! Invariant: forks end newest first, so the newest kept fork is the next to be joined.

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

use filch_memory::Native;

use crate::own::Own;
use crate::protocol::state::JobState;
use crate::slot::{Job, Slot};

/// The slots of one worker's forks that are not on its task stack.
#[derive(Default)]
pub(crate) struct Aside {
    /// Forks in progress, newest last, and whether thieves may have seen each.
    kept: UnsafeCell<Vec<(NonNull<Slot>, bool)>>,
    /// Spare slots. Each was leaked from a box.
    spare: UnsafeCell<Vec<NonNull<Slot>>>,
    /// The number of forks here because the task stack is full.
    overflow: Cell<usize>,
}

impl Drop for Aside {
    fn drop(&mut self) {
        for slot in self.spare.get_mut().drain(..) {
            // SAFETY: `keep` leaked it from a box, and nobody uses it any more.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}

impl Aside {
    /// Whether forks are here because the task stack is full.
    pub(crate) fn has_overflow(&self) -> bool {
        self.overflow.get() != 0
    }
}

impl Own<'_, Aside> {
    /// The number of forks here.
    pub(crate) fn len(self) -> usize {
        // SAFETY: only this thread uses the list, and `len` calls nothing else.
        unsafe { &*self.seen().kept.get() }.len()
    }

    /// Keeps the fork in `scratch`, in a slot that stays where it is until the fork is [taken back](Self::recycle).
    /// `push` returns whether it has shown the fork to thieves.
    pub(crate) fn keep(self, scratch: &Slot, push: impl FnOnce(NonNull<Job>) -> bool) {
        // SAFETY: only this thread uses the list, and `pop` calls nothing else.
        let spare = unsafe { &mut *self.spare.get() }.pop();
        let slot = spare.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(Slot::empty()))));
        // SAFETY: nobody else uses the slot, nor this thread's scratch slot.
        unsafe { slot.as_ref().fill_from(scratch) };
        let pushed = push(slot.cast());
        // SAFETY: only this thread uses the list, and `push` calls nothing else.
        unsafe { &mut *self.kept.get() }.push((slot, pushed));
    }

    /// Returns the state of the newest kept fork.
    pub(crate) fn newest_state(self) -> *const JobState<Native> {
        // SAFETY: only this thread uses the list, and `last` calls nothing else.
        let (slot, _) = unsafe { &*self.seen().kept.get() }.last().expect("forks and joins are nested");
        // SAFETY: a kept slot is alive.
        unsafe { &raw const (*slot.as_ptr()).job.state }
    }

    /// Takes the newest kept fork, and whether thieves may have seen it.
    pub(crate) fn newest(self) -> (NonNull<Slot>, bool) {
        // SAFETY: only this thread uses the list, and `pop` calls nothing else.
        unsafe { &mut *self.kept.get() }.pop().expect("forks and joins are nested")
    }

    /// Moves a slot's contents to `scratch`, and takes the slot back.
    ///
    /// # Safety
    /// The slot comes from [`newest`](Self::newest), and its job is settled or was not stolen.
    pub(crate) unsafe fn recycle(self, slot: NonNull<Slot>, scratch: &Slot) {
        // SAFETY: the slot is this worker's again, as are the scratch slot and the list.
        unsafe {
            slot.as_ref().job.state.reset();
            scratch.fill_from(slot.as_ref());
            (*self.spare.get()).push(slot);
        }
    }

    /// Keeps a fork for which the task stack has no room.
    pub(crate) fn keep_overflow(self, scratch: &Slot) {
        self.keep(scratch, |_| false);
        self.overflow.set(self.overflow.get() + 1);
    }

    /// Moves the newest such fork, which no thief has seen, to `scratch`.
    pub(crate) fn recall_overflow(self, scratch: &Slot) {
        self.overflow.set(self.overflow.get() - 1);
        // SAFETY: the slot was just taken from the list, and never shown to a thief.
        unsafe { self.recycle(self.newest().0, scratch) };
    }
}
