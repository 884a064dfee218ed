//! A spot: where a waiting worker is.
//!
//! Invariant: while a job runs at a spot, nobody uses the spot itself. The job came out of a queue, hence from a
//! closure that is `Send`, and cannot have a thread's spot.

use filch_memory::Native;

use crate::fork::{here::Here, own::Own};
use crate::protocol::{sleep::Dormitory, waiting::Sleeper};
use crate::worker::plumbing::{Plumbing, Pool};
use crate::worker::{core::Core, home::Home};

/// This thread's worker at the head of its task stack, where it steals and runs stolen tasks.
pub(super) struct Spot<'w, P: Pool> {
    pub(super) core: &'w Core<P>,
    pub(super) here: Here<'w, P>,
}

impl<'w, P: Pool> Spot<'w, P> {
    pub(super) fn at(here: Here<'w, P>) -> Self {
        Self { core: here.core(), here }
    }

    pub(super) fn home(&self) -> Own<'w, Home> {
        self.here.home()
    }

    /// Returns the worker at this head, for a job to run here meanwhile.
    pub(super) fn below(&self) -> Here<'_> {
        // SAFETY: the front and head are exact; and the job cannot use this spot, by the invariant above.
        unsafe { Here::new(self.here.front(), self.here.head()) }
    }
}

/// A waiting loop at a worker's spot.
pub(super) trait Standing {
    type Pool: Pool;

    fn core(&self) -> &Core<Self::Pool>;

    /// Whether the worker leaves its seat to callers now, even if the pool's workers never sleep.
    fn leaves_seat(&self) -> bool {
        false
    }

    /// Does this at the spot.
    fn at(&self, what: fn(&Here<'_, Self::Pool>));
}

impl<S: Standing> Sleeper for S {
    type Memory = Native;

    fn dormitory(&self) -> &Dormitory<Native> {
        self.core().home.dormitory()
    }

    fn index(&self) -> usize {
        self.core().home.index
    }

    fn sleeps(&self) -> bool {
        self.core().home.sleeps() || self.leaves_seat()
    }

    fn settle(&self) {
        self.core().home.settle();
        self.at(S::Pool::settle);
    }

    fn note_request(&self) {
        self.core().home.note_request();
    }

    fn rest(&self) {
        self.at(S::Pool::rest);
    }

    fn park(&self) {
        self.core().home.park();
    }

    fn note_sleep(&self) {
        self.core().home.note_sleep();
    }

    fn note_woken(&self) {
        self.core().home.note_woken();
    }

    fn note_wake_up(&self) {
        self.core().home.note_wake_up();
    }
}
