//! Workers of which none sleeps.

use filch::inside::protocol::grain::{self, Time};
use filch::inside::protocol::sharer::{Sharer, Wakes};
use filch::inside::protocol::sleep::Sleepers;
use filch_memory::{Memory, Sleep};

/// A worker among others, all awake.
pub(super) struct AllAwake<M: Memory> {
    sleepers: Sleepers<M>,
    workers: usize,
    grain: grain::Params,
}

impl<M: Memory> AllAwake<M> {
    pub(super) fn new(workers: usize, grain: grain::Params) -> Self {
        Self { sleepers: Sleepers::default(), workers, grain }
    }
}

impl<M: Sleep> Sharer for AllAwake<M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        &self.sleepers
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn wakes(&self, wakes: Wakes) {
        unreachable!("nobody sleeps, and {wakes:?} is to be woken");
    }

    fn has_aside(&self) -> bool {
        false
    }

    /// Returns 0: nothing takes any time.
    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.grain
    }
}
