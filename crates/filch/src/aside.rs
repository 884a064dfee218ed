//! Slots for forks that have no place on the task stack: it is full, or the head is not known.
//!
//! What must always hold: forks end newest first, so the newest that was kept is the one whose join comes next.

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

use crate::own::Own;
use crate::slot::{Job, Slot};

/// The slots of one worker's forks that have no place on its task stack.
#[derive(Default)]
pub(crate) struct Aside {
    /// Forks in progress, the newest last, and whether thieves may have seen each.
    kept: UnsafeCell<Vec<(NonNull<Slot>, bool)>>,
    /// Slots for further ones. Each was leaked from a box.
    spare: UnsafeCell<Vec<NonNull<Slot>>>,
    /// How many forks are here because the task stack is full.
    overflow: Cell<usize>,
}

impl Drop for Aside {
    fn drop(&mut self) {
        for slot in self.spare.get_mut().drain(..) {
            // SAFETY: leaked from a box by `keep`, and in nobody's use any more.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}

impl Aside {
    /// Whether there are forks here because the task stack is full.
    pub(crate) fn has_overflow(&self) -> bool {
        self.overflow.get() != 0
    }
}

impl Own<'_, Aside> {
    /// Keeps the fork that lies in `scratch`, in a slot that stays where it is until the fork is [taken back](Self::recycle). `push` says
    /// whether it has shown it to thieves.
    pub(crate) fn keep(self, scratch: &Slot, push: impl FnOnce(NonNull<Job>) -> bool) {
        // SAFETY: the list is this thread's, and taking from it calls nothing.
        let spare = unsafe { &mut *self.spare.get() }.pop();
        let slot = spare.unwrap_or_else(|| NonNull::from(Box::leak(Box::new(Slot::empty()))));
        // SAFETY: a slot in nobody's use, and the scratch slot, which is this thread's.
        unsafe { slot.as_ref().fill_from(scratch) };
        let pushed = push(slot.cast());
        // SAFETY: the list is this thread's, and adding to it calls nothing.
        unsafe { &mut *self.kept.get() }.push((slot, pushed));
    }

    /// The newest fork that was kept, and whether thieves may have seen it.
    pub(crate) fn newest(self) -> (NonNull<Slot>, bool) {
        // SAFETY: the list is this thread's, and taking from it calls nothing.
        unsafe { &mut *self.kept.get() }.pop().expect("forks and joins are nested")
    }

    /// Moves what a slot holds into `scratch`, and takes the slot back.
    ///
    /// # Safety
    /// The slot comes from [`newest`](Self::newest), and its job is settled or was never stolen.
    pub(crate) unsafe fn recycle(self, slot: NonNull<Slot>, scratch: &Slot) {
        // SAFETY: the slot is this worker's again, and so are the scratch slot and the list.
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

    /// Moves the newest of those, which no thief has seen, into `scratch`.
    pub(crate) fn recall_overflow(self, scratch: &Slot) {
        self.overflow.set(self.overflow.get() - 1);
        // SAFETY: just taken from the list, and never shown to a thief.
        unsafe { self.recycle(self.newest().0, scratch) };
    }
}
