//! The thief's side of the private deques whose owners deal: see [`sender`](super::sender), which has the whole
//! algorithm.
//!
//! Invariant: one thread at a time uses a desk as its thief, which owns what is [known](Deals::Known) of the desk.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt::Debug;
use core::time::Duration;

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::sender::{Shared, Told};
use crate::counts::Count;
use crate::{Steal, Task};

/// What differs between the forms.
pub trait Form: Copy + Debug + Send + Sync + 'static {
    const NAME: &'static str;
    const FOLLOWS: &'static str;
    const DEPARTURES: &'static [&'static str];
    /// Whether an idle thief is idle for all owners.
    const FOR_ALL: bool;
    /// Whether an idle thief does not learn who has dealt, though all owners may.
    const NAMELESS: bool = false;
    type Params: Copy + Default + Debug + Send + Sync + 'static;
    type Desk<M: Memory>: Deals<M, Params = Self::Params>;
}

/// The place where owners deal to one thief, and its protocol.
pub trait Deals<M: Memory>: Sized + Send + Sync {
    type Params;
    /// State that only the thief knows.
    type Known: Default + Send;

    /// Makes the place of a thief that is not idle.
    fn new() -> Self;

    fn gap(params: &Self::Params) -> Duration;

    /// Owner: returns whether the thief seems to be idle.
    fn is_idle(&self) -> bool;

    /// Owner number `giver`: deals the oldest tasks, if there are any and the thief is still idle, and returns whether
    /// it has dealt. Adds them to `grants` before the thief has them.
    ///
    /// # Safety
    /// The caller is an owner that this thief steals from.
    unsafe fn deal(
        &self,
        tasks: &mut VecDeque<Task>,
        giver: usize,
        params: &Self::Params,
        grants: Option<&Count>,
    ) -> bool;

    /// Thief: becomes idle, and takes several tasks if the owner can deal several.
    ///
    /// # Safety
    /// The caller is the thief, and is not idle.
    unsafe fn open(&self, known: &mut Self::Known, many: bool);

    /// Thief: returns a task that it has received; pending if it is idle, empty if it is not.
    ///
    /// # Safety
    /// The caller is the thief.
    unsafe fn collect(&self, known: &mut Self::Known) -> Steal<Task>;

    /// Thief: returns a task that it has received; otherwise stops being idle.
    ///
    /// # Safety
    /// The caller is the thief.
    unsafe fn close(&self, known: &mut Self::Known) -> Option<Task>;

    /// Thief: returns whether there seems to be a task for it.
    fn has_task(&self, known: &Self::Known) -> bool;

    /// Thief: returns the owner that dealt the tasks collected last, if the desk says that.
    fn giver(known: &Self::Known) -> Option<usize>;
}

/// A thief's side of an [`Of`](super::sender::Of) deque: it receives from all owners, one after the other, or from one.
pub struct Thief<M: Memory = Native, F: Form = Told> {
    pub(super) shared: Arc<Shared<M, F>>,
    pub(super) index: usize,
    pub(super) known: <F::Desk<M> as Deals<M>>::Known,
}

impl<M: Memory, F: Form> Thief<M, F> {
    /// Becomes idle, if the victim may have tasks. Precondition: the thief is not idle.
    fn ask(&mut self, many: bool) -> Steal<Task> {
        // Relaxed: a hint.
        if !self.shared.has_tasks.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        // SAFETY: this is the thief of that number, the only one, and `collect` has found that it is not idle.
        unsafe { self.shared.desks[self.index].open(&mut self.known, many) };
        self.want();
        Steal::Pending
    }

    /// Makes the owner look at the desks, if it does not do that by itself.
    #[inline]
    fn want(&self) {
        // Relaxed, both: a hint. Written only if that changes it, since the owner reads it all the time.
        if !F::FOR_ALL && !self.shared.wanted.load(Ordering::Relaxed) {
            self.shared.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Returns a received task, with the others in the loot; if there is none, asks.
    pub(super) fn obtain(&mut self, many: bool) -> Steal<Task> {
        // SAFETY: this is the thief of that number, the only one.
        match unsafe { self.shared.desks[self.index].collect(&mut self.known) } {
            Steal::Empty => self.ask(many),
            Steal::Pending => {
                self.want();
                Steal::Pending
            }
            task => task,
        }
    }
}

impl<M: Memory, F: Form> crate::Thief<Task> for Thief<M, F> {
    fn steal(&mut self) -> Steal<Task> {
        self.obtain(false)
    }

    /// Stops being idle.
    fn quiesce(&mut self) -> Option<Task> {
        // SAFETY: as in `obtain`.
        unsafe { self.shared.desks[self.index].close(&mut self.known) }
    }

    /// Counts tasks on this thief's desk, not on others'.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes it recent enough.
        self.shared.has_tasks.load(Ordering::Relaxed) || self.shared.desks[self.index].has_task(&self.known)
    }

    #[inline]
    fn taken_from(&self) -> Option<usize> {
        if F::FOR_ALL { <F::Desk<M> as Deals<M>>::giver(&self.known) } else { None }
    }
}
