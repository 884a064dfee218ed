//! How long a worker searches before it sleeps.
//!
//! Invariant: a thread that waits for others tells the checker, or goes to sleep after finitely many rounds.

use std::marker::PhantomData;

use filch::inside::protocol::waiting::Backoff;
use filch_memory::Memory;

/// A number of rounds, of which the last ones may be long.
pub(super) struct Rounds<M> {
    left: u32,
    long: u32,
    memory: PhantomData<M>,
}

impl<M> Rounds<M> {
    pub(super) fn new(rounds: u32) -> Self {
        Self { left: rounds, long: 0, memory: PhantomData }
    }

    /// As many rounds more, each of which may be long.
    pub(super) fn then_long(self, rounds: u32) -> Self {
        Self { left: self.left + rounds, long: rounds, ..self }
    }
}

impl<M: Memory> Backoff for Rounds<M> {
    fn wait(&mut self) -> bool {
        let waits = self.left > 0;
        self.left = self.left.saturating_sub(1);
        waits
    }

    fn may_be_long(&self) -> bool {
        (1..=self.long).contains(&self.left)
    }

    fn hold_on(&mut self) {
        M::spin_loop();
    }

    /// Does nothing: one more chance would only repeat the last round.
    fn renew(&mut self) {}
}

/// Waits until something changes, or not at all.
pub(super) struct Awake<M>(bool, PhantomData<M>);

impl<M> Awake<M> {
    pub(super) fn new(waits: bool) -> Self {
        Self(waits, PhantomData)
    }
}

impl<M: Memory> Backoff for Awake<M> {
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
