//! Waiting for a number of things to end, by whatever kind of thread.
//!
//! **Fields.** [`Latch`]: `pending`, how many things have not ended; `waiter`, the way to wake who waits. [`Event`]: the word that a
//! thread sleeps on that is no worker.
//!
//! **Invariants.**
//! * I1: whoever ends the last thing touches the latch for the last time when it subtracts one, because the waiter may then return and take
//!   the latch with it; everything needed afterwards has been copied before.
//! * I2: a notification that comes too late wakes an event's thread in vain the next time; none is lost.
//!
//! **Edges.**
//! * E1: the subtractions (release; each, as a read–modify–write, continues the release sequences of those before it) →
//!   [`Latch::is_over`] (acquire): what ended.
//! * E2: [`Event::notify`] (release) → [`Event::wait`] (acquire): the subtraction before it.

use filch_memory::{Atomic, AtomicInt, Memory, Ordering, Sleep};

/// The way to a thread that waits for a latch.
pub trait Waiter: Clone {
    /// The last thing has ended. The latch may be gone.
    fn wake(&self);
}

/// A number of things that have not ended, and somebody who waits for them.
///
/// ```
/// use std::sync::Arc;
///
/// use filch::protocol::latch::{Event, Latch};
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
    pending: M::AtomicUsize,
    waiter: W,
}

impl<M: Memory, W: Waiter> Latch<M, W> {
    /// A latch that is over when `pending` things have ended.
    pub fn new(pending: usize, waiter: W) -> Self {
        Self { pending: Atomic::new(pending), waiter }
    }

    /// So many things more. Precondition: it is not over, and something that has not ended says so.
    pub fn add(&self, things: usize) {
        // Relaxed: what keeps the latch from being over is known to the caller.
        self.pending.fetch_add(things, Ordering::Relaxed);
    }

    /// Whether all things have ended.
    pub fn is_over(&self) -> bool {
        // E1.
        self.pending.load(Ordering::Acquire) == 0
    }

    /// The number of things that have not ended. A snapshot.
    pub fn pending(&self) -> usize {
        // Relaxed: a statistic.
        self.pending.load(Ordering::Relaxed)
    }

    /// The way to who waits.
    pub fn waiter(&self) -> &W {
        &self.waiter
    }

    /// One thing has ended.
    ///
    /// # Safety
    /// The latch is alive, and this thing has been counted and has not ended before. Afterwards the latch may be gone.
    pub unsafe fn end(this: *const Self) {
        // SAFETY: alive: this thing has not ended.
        let pending = unsafe { &(*this).pending };
        // Relaxed: the compare-and-swap decides.
        let mut count = pending.load(Ordering::Relaxed);
        while count > 1 {
            // E1. Somebody else will be the last.
            match pending.compare_exchange_weak(count, count - 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => count = now,
            }
        }
        // Nothing else is pending, so nobody but this thread may add or end anything.
        // SAFETY: as above.
        let waiter = unsafe { (*this).waiter.clone() };
        // E1.
        pending.fetch_sub(1, Ordering::Release);
        waiter.wake();
    }
}

/// What one thread sleeps on that is no worker.
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
    /// Wakes the thread that sleeps here, or who comes to do so next.
    pub fn notify(&self) {
        // E2.
        if self.0.swap(NOTIFIED, Ordering::Release) == SLEEPING {
            M::wake_one(&self.0);
        }
    }

    /// Sleeps until notified; takes the notification.
    pub fn wait(&self) {
        // Relaxed: publishes nothing, and on failure the swap below acquires.
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
