//! Waiting for several things to end, on a worker or any other thread.
//!
//! **Fields.** [`Latch`]: `pending`, the number of things that have not ended; `waiter`, how to wake the waiting
//! thread. [`Pending`]: that number alone. [`Event`]: the word that a thread other than a worker sleeps on.
//!
//! **Invariants.**
//! * I1: the subtraction is the last access to the latch by the thread that ends the last thing, because the waiter may
//!   then return and free the latch. That thread has copied everything it needs before.
//! * I2: a late notification wakes the event's thread in vain the next time; no notification is lost.
//!
//! **Edges.**
//! * E1: the subtractions (release; each, as a read–modify–write, continues the release sequences of earlier ones) →
//!   [`Pending::is_over`] (acquire): the things that ended.
//! * E2: [`Event::notify`] (release) → [`Event::wait`] (acquire): the subtraction before it.

use std::fmt;

use filch_memory::{Atomic, AtomicInt, Memory, Ordering, Sleep};

/// A handle to wake the thread that waits for a latch.
pub trait Waiter: Clone {
    /// Wakes the thread: the last thing has ended. The latch may be gone.
    fn wake(&self);
}

/// A count of things that have not ended, and the thread that waits for them.
///
/// ```
/// use std::sync::Arc;
///
/// use filch::inside::protocol::latch::{Event, Latch};
/// use filch_memory::Native;
///
/// let latch = Latch::<Native, _>::new(2, Arc::new(Event::<Native>::default()));
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         // SAFETY: the latch outlives the threads, each of which ends one thing.
///         s.spawn(|| unsafe { Latch::end(&raw const latch) });
///     }
///     while !latch.is_over() {
///         latch.waiter().wait();
///     }
/// });
/// ```
#[derive(Debug)]
pub struct Latch<M: Memory, W> {
    pending: Pending<M>,
    waiter: W,
}

/// The number of things that have not ended.
///
/// ```
/// use std::sync::Arc;
///
/// use filch::inside::protocol::latch::{Event, Latch};
/// use filch_memory::Native;
///
/// let latch = Latch::<Native, _>::new(1, Arc::new(Event::<Native>::default()));
/// assert!(!latch.count().is_over());
/// // SAFETY: the latch is alive, and one thing ends.
/// unsafe { Latch::end(&raw const latch) };
/// assert!(latch.count().is_over());
/// ```
pub struct Pending<M: Memory>(M::AtomicUsize);

impl<M: Memory> fmt::Debug for Pending<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a statistic.
        self.0.load(Ordering::Relaxed).fmt(f)
    }
}

impl<M: Memory> Pending<M> {
    /// Whether all things have ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        // E1.
        self.0.load(Ordering::Acquire) == 0
    }
}

impl<M: Memory, W: Waiter> Latch<M, W> {
    /// Creates a latch that is over when `pending` things have ended.
    pub fn new(pending: usize, waiter: W) -> Self {
        Self { pending: Pending(Atomic::new(pending)), waiter }
    }

    /// Adds things to wait for. Precondition: the latch is not over; the caller knows of a thing that has not ended.
    pub fn add(&self, things: usize) {
        // Relaxed: the caller knows of a thing that keeps the latch from being over.
        self.pending.0.fetch_add(things, Ordering::Relaxed);
    }

    /// Whether all things have ended.
    pub fn is_over(&self) -> bool {
        self.pending.is_over()
    }

    /// The number of things that have not ended. A snapshot.
    pub fn pending(&self) -> usize {
        // Relaxed: a statistic.
        self.pending.0.load(Ordering::Relaxed)
    }

    /// The count that a wait looks at.
    pub fn count(&self) -> &Pending<M> {
        &self.pending
    }

    /// The handle to wake the waiting thread.
    pub fn waiter(&self) -> &W {
        &self.waiter
    }

    /// Ends one thing.
    ///
    /// # Safety
    /// The latch is alive, and this thing is counted and has not ended yet. The latch may be gone after the call.
    pub unsafe fn end(this: *const Self) {
        // SAFETY: the latch is alive, since this thing has not ended.
        let pending = unsafe { &(*this).pending.0 };
        // Relaxed: the compare-and-swap decides.
        let mut count = pending.load(Ordering::Relaxed);
        while count > 1 {
            // E1. Another thread will end the last thing.
            match pending.compare_exchange_weak(count, count - 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => count = now,
            }
        }
        // Nothing else is pending, so only this thread may add or end things.
        // SAFETY: as above.
        let waiter = unsafe { (*this).waiter.clone() };
        // E1.
        pending.fetch_sub(1, Ordering::Release);
        waiter.wake();
    }
}

/// An event for one thread, not a worker, to sleep on.
#[derive(Debug)]
pub struct Event<M: Memory>(M::AtomicU32);

const NOTHING: u32 = 0;
const NOTIFIED: u32 = 1;
const SLEEPING: u32 = 2;

impl<M: Memory> Default for Event<M> {
    fn default() -> Self {
        Self(Atomic::new(NOTHING))
    }
}

impl<M: Sleep> Event<M> {
    /// Wakes the thread that sleeps here, or the next that comes to sleep.
    pub fn notify(&self) {
        // E2.
        if self.0.swap(NOTIFIED, Ordering::Release) == SLEEPING {
            M::wake_one(&self.0);
        }
    }

    /// Sleeps until notified, and consumes the notification.
    pub fn wait(&self) {
        // Relaxed: it publishes nothing, and on failure the swap below acquires.
        let sleeps = self.0.compare_exchange(NOTHING, SLEEPING, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // Relaxed: the swap below acquires.
        while sleeps && self.0.load(Ordering::Relaxed) == SLEEPING {
            M::wait(&self.0, SLEEPING);
        }
        // E2.
        self.0.swap(NOTHING, Ordering::Acquire);
    }
}

impl<M: Sleep> Waiter for std::sync::Arc<Event<M>> {
    fn wake(&self) {
        self.notify();
    }
}
