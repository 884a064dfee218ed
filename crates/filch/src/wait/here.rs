//! This thread's worker, at the head of its task stack: the capability to steal, to run, and to wait.
//!
//! What must always hold: a [`Here`] is used only by the thread that is the worker, while the front is current and the head exact. Its
//! maker has promised that; so whatever has one need not ask for it again.

use filch_memory::Native;

use crate::front::Front;
use crate::job::Slot;
use crate::pool::{Plumbing, Pool};
use crate::protocol::sleep::Dormitory;
use crate::protocol::waiting::Sleeper;
use crate::worker::{Core, Home};

pub(crate) struct Here<'w, P: Pool> {
    pub(crate) core: &'w Core<P>,
    pub(crate) front: &'w Front,
    /// What is run from here may use the slots from this one up.
    pub(crate) head: *mut Slot,
}

impl<P: Pool> Clone for Here<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Pool> Copy for Here<'_, P> {}

impl<'w, P: Pool> Here<'w, P> {
    /// # Safety
    /// As long as this or a copy of it is used, the current thread is the worker `core`; `front` is one of its fronts; and if that is a
    /// stack front, `head` is exact: no live job lies at or above it.
    pub(crate) unsafe fn new(core: &'w Core<P>, front: &'w Front, head: *mut Slot) -> Self {
        Self { core, front, head }
    }

    /// The worker of `front`.
    ///
    /// # Safety
    /// As [`Here::new`]; the worker's pool is of type `P`.
    pub(crate) unsafe fn at(front: &'w Front, head: *mut Slot) -> Self {
        // SAFETY: the caller's promises.
        unsafe { Self::new(Core::of(front), front, head) }
    }

    pub(crate) fn home(&self) -> &'w Home {
        &self.core.home
    }
}

/// What a worker does at its head that cannot go on.
pub(super) trait Standing {
    type Pool: Pool;

    fn here(&self) -> Here<'_, Self::Pool>;
}

impl<S: Standing> Sleeper for S {
    type Memory = Native;

    fn dormitory(&self) -> &Dormitory<Native> {
        self.here().home().dormitory()
    }

    fn index(&self) -> usize {
        self.here().home().index
    }

    fn sleeps(&self) -> bool {
        self.here().home().sleeps()
    }

    fn settles(&self) {
        self.here().home().settles();
        <S::Pool as Plumbing>::settles(self.here().core);
    }

    fn has_asked(&self) {
        self.here().home().has_asked();
    }

    fn parks(&self) {
        self.here().home().parks();
    }

    fn has_woken(&self) {
        self.here().home().has_woken();
    }
}
