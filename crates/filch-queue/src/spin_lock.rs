//! A lock of one word, written against [`Memory`]: for the queues whose papers lock, and for a few instructions at a
//! time.
//!
//! **Idea.** Test and test-and-set: whoever finds the word raised only reads it, from its own cache, until it falls, so
//! that the holder's line is not taken away while it works.
//!
//! **Edge.** L: the store in a guard's drop (release) → the compare-and-swap in `try_lock` (acquire): what was done under
//! the lock is done before whatever the next holder does. The compare-and-swap drains the store buffer of a processor
//! that has one, which the fence-free queues rely on.
//!
//! Neither fair nor able to sleep. No code of others runs under it.

use filch_memory::{Atomic, Memory, Ordering};

pub(crate) struct SpinLock<M: Memory> {
    locked: M::AtomicBool,
}

/// The lock, held until this is dropped.
#[must_use = "the lock is released at once"]
pub(crate) struct Guard<'l, M: Memory>(&'l SpinLock<M>);

impl<M: Memory> SpinLock<M> {
    pub(crate) fn new() -> Self {
        Self { locked: Atomic::new(false) }
    }

    /// Takes the lock, and waits for it as long as that takes.
    pub(crate) fn lock(&self) -> Guard<'_, M> {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            let mut waiting = Waiting::default();
            // Relaxed: the compare-and-swap decides.
            while self.locked.load(Ordering::Relaxed) {
                waiting.pause::<M>();
            }
        }
    }

    /// Takes the lock, if it is free.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, M>> {
        // L: pairs with the store in the guard's drop. Relaxed on failure: nothing is used.
        let taken = self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Guard(self))
    }
}

/// How long somebody has been waiting.
#[derive(Default)]
pub(crate) struct Waiting(u32);

impl Waiting {
    /// Far more pauses than a critical section takes: whoever is waited for is probably not running.
    #[cfg(feature = "std")]
    const PAUSES: u32 = 100;

    /// Waits a little; gives the processor away if it has been long.
    pub(crate) fn pause<M: Memory>(&mut self) {
        M::spin_loop();
        self.0 = self.0.wrapping_add(1);
        #[cfg(feature = "std")]
        if self.0.is_multiple_of(Self::PAUSES) {
            std::thread::yield_now();
        }
    }
}

impl<M: Memory> Drop for Guard<'_, M> {
    fn drop(&mut self) {
        // L: pairs with the compare-and-swap in `try_lock`.
        self.0.locked.store(false, Ordering::Release);
    }
}
