//! How long a worker looks before it sleeps.
//!
//! What must always hold: whoever waits for others says so to the checker, or goes to sleep after finitely many rounds.

use std::marker::PhantomData;

use filch::protocol::waiting::Patience;
use filch_memory::Memory;

/// A number of rounds.
pub(super) struct Rounds<M>(u32, PhantomData<M>);

impl<M> Rounds<M> {
    pub(super) fn new(rounds: u32) -> Self {
        Self(rounds, PhantomData)
    }
}

impl<M: Memory> Patience for Rounds<M> {
    fn wait(&mut self) -> bool {
        let waits = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        waits
    }

    fn hold_on(&mut self) {
        M::spin_loop();
    }

    /// One more chance would be one more round of the same.
    fn renew(&mut self) {}
}

/// It waits until something changes, or not at all.
pub(super) struct Awake<M>(bool, PhantomData<M>);

impl<M> Awake<M> {
    pub(super) fn new(waits: bool) -> Self {
        Self(waits, PhantomData)
    }
}

impl<M: Memory> Patience for Awake<M> {
    fn wait(&mut self) -> bool {
        if self.0 {
            M::spin_loop();
        }
        self.0
    }

    fn hold_on(&mut self) {
        M::spin_loop();
    }

    fn renew(&mut self) {}
}
