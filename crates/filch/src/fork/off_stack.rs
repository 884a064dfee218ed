//! Slots for forks that are not on the task stack: it is full, or the head is unknown, or the worker runs the fork
//! early, before its join. A fork that is run early leaves an empty task on the stack, which a thief may take like any
//! other; the [floor](crate::protocol::limits) of the limits makes its join cold.
//!
//! Invariant: forks end newest first, so the newest kept fork is the next of these to be joined.

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

use filch_memory::Native;

use crate::fork::job;
use crate::fork::own::{Own, with_taken};
use crate::fork::slot::{Job, Slot};
use crate::protocol::state::JobState;

/// The slots of one worker's forks that are not on its task stack.
#[derive(Default)]
pub(crate) struct Aside {
    kept: UnsafeCell<Kept>,
    /// The first spare slot, which [has the next](Slot::next_spare). Each was leaked from a box.
    spare: Cell<Option<NonNull<Slot>>>,
    /// The number of forks that are here because the task stack is full.
    overflow: Cell<usize>,
    /// Forks that the worker has run before their joins, newest last: each with the index of its former slot on the
    /// stack, and its slot here.
    early: Cell<Vec<(usize, NonNull<Slot>)>>,
}

/// Forks in progress, newest last, and whether thieves may have seen each.
type Kept = Vec<(NonNull<Slot>, bool)>;

impl Drop for Aside {
    fn drop(&mut self) {
        while let Some(slot) = self.spare.get() {
            // SAFETY: `spare` leaked the slot from a box, and nobody uses it any more.
            let slot = unsafe { Box::from_raw(slot.as_ptr()) };
            self.spare.set(slot.next_spare());
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
    /// Gives `f` the list of the kept forks, and `item`.
    #[inline(always)]
    fn with<T, R>(self, item: T, f: fn(&mut Kept, T) -> R) -> R {
        // SAFETY: only this thread uses the list; and `f`, which captures nothing, does not come back here.
        f(unsafe { &mut *self.kept.get() }, item)
    }

    /// Returns the number of forks in progress here.
    pub(crate) fn len(self) -> usize {
        self.with((), |kept, ()| kept.len())
    }

    /// Moves the fork from `scratch` to a slot that stays where it is until the fork is [taken back](Self::recycle).
    /// `push` returns whether it has shown the fork to thieves.
    pub(crate) fn keep(self, scratch: &Slot, push: impl FnOnce(NonNull<Job>) -> bool) {
        let slot = self.spare();
        // SAFETY: nobody else uses the slot, nor this thread's scratch slot.
        unsafe { slot.as_ref().fill_from(scratch) };
        let pushed = push(slot.cast());
        self.with((slot, pushed), Vec::push);
    }

    /// Returns a spare slot.
    #[inline]
    fn spare(self) -> NonNull<Slot> {
        let Some(slot) = self.spare.get() else { return NonNull::from(Box::leak(Box::new(Slot::empty()))) };
        // SAFETY: a spare slot is alive.
        self.spare.set(unsafe { slot.as_ref() }.next_spare());
        slot
    }

    /// Takes back a slot that nobody uses any more.
    #[inline]
    fn put_back(self, slot: NonNull<Slot>) {
        // SAFETY: the slot is alive.
        unsafe { slot.as_ref() }.set_next_spare(self.spare.get());
        self.spare.set(Some(slot));
    }

    /// Gives `f` the list of the forks that have been run early.
    fn with_early<R>(self, f: impl FnOnce(&mut Vec<(usize, NonNull<Slot>)>) -> R) -> R {
        with_taken(&self.early, f)
    }

    /// Moves the fork at this index of the stack, the newest that has not been run, out of its slot, so that the worker
    /// can run it before its join; leaves an empty task in the slot. `recall` calls its argument while no other thread
    /// can use the slot, or returns `false` if the fork is stolen.
    pub(crate) fn take_early(
        self,
        index: usize,
        slot: &Slot,
        recall: impl FnOnce(&mut dyn FnMut()) -> bool,
    ) -> Option<NonNull<Job>> {
        let spare = self.spare();
        // SAFETY: nobody else uses the spare slot, nor the slot on the stack while `recall` calls this.
        let mut take = || unsafe {
            spare.as_ref().fill_from(slot);
            job::empty(slot);
        };
        if recall(&mut take) {
            self.with_early(|early| {
                let at = early.partition_point(|(other, _)| *other < index);
                early.insert(at, (index, spare));
            });
            return Some(spare.cast());
        }
        self.put_back(spare);
        None
    }

    /// Returns the index of the newest fork on the stack below `head` that has not been run early.
    pub(crate) fn newest_below(self, head: usize) -> Option<usize> {
        let below = |early: &mut Vec<(usize, _)>| {
            let above = early.iter().rev().zip(1..).take_while(|((index, _), nth)| index + nth == head);
            head - above.count()
        };
        self.with_early(below).checked_sub(1)
    }

    /// Returns one more than the index of the newest fork that has been run early; 0 if there is none.
    pub(crate) fn above_early(self) -> usize {
        self.with_early(|early| early.last().map_or(0, |(index, _)| index + 1))
    }

    /// Returns where the fork at this index of the stack lies, if it has been run early, and removes it from the list.
    pub(crate) fn ran_early(self, index: usize) -> Option<NonNull<Slot>> {
        self.with_early(|early| early.pop_if(|(newest, _)| *newest == index)).map(|(_, slot)| slot)
    }

    /// Returns the state of the newest kept fork.
    pub(crate) fn newest_state(self) -> *const JobState<Native> {
        let newest = self.with((), |kept, ()| kept.last().map(|(slot, _)| *slot));
        let slot = newest.expect("forks and joins are nested");
        // SAFETY: a kept slot is alive.
        unsafe { &raw const (*slot.as_ptr()).job.state }
    }

    /// Removes the newest kept fork from the list; returns its slot, and whether thieves may have seen it.
    pub(crate) fn newest(self) -> (NonNull<Slot>, bool) {
        self.with((), |kept, ()| kept.pop()).expect("forks and joins are nested")
    }

    /// Moves a slot's contents to `scratch`, and takes the slot back.
    ///
    /// # Safety
    /// The slot comes from [`newest`](Self::newest) or [`ran_early`](Self::ran_early), and its job is settled or was
    /// not stolen.
    pub(crate) unsafe fn recycle(self, slot: NonNull<Slot>, scratch: &Slot) {
        // SAFETY: the slot is this worker's again, as is the scratch slot.
        unsafe {
            slot.as_ref().job.state.reset();
            scratch.fill_from(slot.as_ref());
        }
        self.put_back(slot);
    }

    /// Keeps a fork for which the task stack has no room.
    pub(crate) fn keep_overflow(self, scratch: &Slot) {
        self.keep(scratch, |_| false);
        self.overflow.set(self.overflow.get() + 1);
    }

    /// Moves the newest fork that found no room on the stack, and that no thief has seen, to `scratch`.
    pub(crate) fn recall_overflow(self, scratch: &Slot) {
        self.overflow.set(self.overflow.get() - 1);
        // SAFETY: the slot was just taken from the list, and never shown to a thief.
        unsafe { self.recycle(self.newest().0, scratch) };
    }
}
