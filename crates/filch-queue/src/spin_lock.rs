//! A lock of one word, written against [`Memory`]: for the queues whose papers use a lock, and for short critical
//! sections.
//!
//! **Idea.** Test and test-and-set: a thread that finds the lock taken only reads the word, from its own cache, until
//! the lock is free, and so does not take the line away from the holder.
//!
//! **Edge.** L: the store in a guard's drop (release) → the compare-and-swap in `try_lock` (acquire): each holder's
//! work happens before the next holder's. The compare-and-swap drains the store buffer of a processor that has one; the
//! fence-free queues rely on that.
//!
//! The lock is not fair, and its waiters do not sleep. No foreign code runs under it.

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

    /// Takes the lock, and waits until it is free.
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

    /// Takes the lock if it is free.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, M>> {
        // L: pairs with the store in the guard's drop. Relaxed on failure: nothing is used.
        let taken = self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Guard(self))
    }
}

/// How long a thread has been waiting.
#[derive(Default)]
pub(crate) struct Waiting(u32);

impl Waiting {
    /// Far more pauses than a critical section takes: the awaited thread is probably not running.
    #[cfg(feature = "std")]
    const PAUSES: u32 = 100;

    /// Waits a little; yields the processor if it has waited long.
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
