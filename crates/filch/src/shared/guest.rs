//! Guests: threads outside a pool that run their own calls in the seat of a sleeping worker.
//!
//! To inject a call and wait for it, two threads must fall asleep and wake, which takes at least ten microseconds. So
//! the caller runs the call itself, if it can. It takes the seat of an idle worker, whose own thread sleeps on, and is
//! that worker meanwhile, with the worker's number, task stack and counters. [`sleep`](crate::protocol::sleep) explains
//! how seats change hands.
//!
//! A guest that shares a task wakes a sleeper, as any worker does, unless a worker searches. So that a series of short
//! calls wakes nobody, the worker that the first call woke watches: while guests come in quick succession, it does not
//! sleep but looks again and again, with naps in between. The watching worker counts as searching, though it searches
//! slowly. A worker that has taken part in a longer call stays awake for a while, since the next call may come at once.
//!
//! Invariant: one thread at a time uses a seat. [`enter`](crate::threads::enter) has the arrival and departure of
//! guests.

use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fork::{front::Front, slot::Slot};

/// The seats of a pool, for threads from outside.
pub(crate) struct Guests {
    /// By worker. Set once, before the first worker starts.
    seats: OnceLock<Box<[GuestSeat]>>,
    /// The number of guests so far.
    calls: <Native as Memory>::AtomicU32,
    watch: Watch,
}

/// The front of a worker, and the bottom of its task stack, which is the head when a guest comes.
#[derive(Clone, Copy)]
pub(crate) struct GuestSeat {
    front: NonNull<Front>,
    bottom: *mut Slot,
}

// SAFETY: a seat is two plain addresses; their users ensure that they have the seat.
unsafe impl Send for GuestSeat {}
// SAFETY: a seat never changes.
unsafe impl Sync for GuestSeat {}

impl GuestSeat {
    pub(crate) fn new(front: &Front, bottom: *mut Slot) -> Self {
        Self { front: NonNull::from(front), bottom }
    }

    pub(crate) fn front(self) -> NonNull<Front> {
        self.front
    }

    pub(crate) fn bottom(self) -> *mut Slot {
        self.bottom
    }
}

impl Guests {
    pub(crate) fn new() -> Self {
        Self { seats: OnceLock::new(), calls: Atomic::new(0), watch: Watch::new() }
    }

    /// Sets the seats, by worker.
    pub(crate) fn prepare(&self, seats: impl Iterator<Item = GuestSeat>) {
        let fresh = self.seats.set(seats.collect()).is_ok();
        debug_assert!(fresh, "seats are prepared once");
    }

    /// Counts a guest that has taken the seat of worker `index`, and returns the seat.
    pub(crate) fn came_to(&self, index: usize) -> GuestSeat {
        // Relaxed: see `watch`.
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.seats.get().expect("seats are prepared with the workers")[index]
    }

    /// Returns whether an idle worker should look again instead of sleeping, because guests come. The worker may nap
    /// first, until somebody [calls](Guests::call_watch) it at the latest; a worker that [lingers](Outlook::lingers)
    /// `yields` its processor instead.
    ///
    /// `steals` is the number of tasks that the worker has stolen so far.
    pub(crate) fn watch(&self, outlook: &mut Outlook, steals: u64, yields: impl FnOnce()) -> bool {
        /// Calls that come at shorter intervals are too short for another worker to take part.
        const QUICK: Duration = Duration::from_micros(12);
        /// About the time to fall asleep and be woken.
        const LINGER: Duration = Duration::from_micros(60);
        // Relaxed: a hint.
        let (calls, now) = (self.calls.load(Ordering::Relaxed), Instant::now());
        if let Some(end) = outlook.stays_until
            && now < end
        {
            yields();
            return true;
        }
        let before = std::mem::replace(outlook, Outlook { calls, steals, at: Some(now), stays_until: None });
        let more = calls.wrapping_sub(before.calls);
        if more == 0 {
            return false;
        }
        if steals != before.steals {
            outlook.stays_until = Some(now + LINGER);
            return true;
        }
        before.at.is_some_and(|at| now - at < QUICK * more) && self.watch.nap()
    }

    /// Wakes the watching worker if it naps. Called when there may be something to do for a worker that naps, since the
    /// dormitory wakes only workers that sleep.
    pub(crate) fn call_watch(&self) {
        self.watch.call();
    }
}

/// What an idle worker knew of guests at its last look.
#[derive(Default)]
pub(crate) struct Outlook {
    calls: u32,
    steals: u64,
    at: Option<Instant>,
    /// The time until which the worker stays awake.
    stays_until: Option<Instant>,
}

impl Outlook {
    /// Whether the worker stays awake because it has taken part in a longer call.
    pub(crate) fn lingers(&self) -> bool {
        self.stays_until.is_some()
    }
}

/// The watching worker's place to nap.
struct Watch {
    is_kept: <Native as Memory>::AtomicBool,
    by: Mutex<Option<Thread>>,
}

impl Watch {
    fn new() -> Self {
        Self { is_kept: Atomic::new(false), by: Mutex::new(None) }
    }

    fn nap(&self) -> bool {
        // Some 70 µs, with the system's overhead.
        const NAP: Duration = Duration::from_micros(15);
        // Relaxed, here and below: a hint. A worker that misses a call is late by the rest of its nap.
        if self.is_kept.load(Ordering::Relaxed) || self.is_kept.swap(true, Ordering::Relaxed) {
            return false;
        }
        *self.by.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        thread::park_timeout(NAP);
        self.is_kept.store(false, Ordering::Relaxed);
        true
    }

    fn call(&self) {
        if self.is_kept.load(Ordering::Relaxed)
            && let Some(napper) = self.by.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            napper.unpark();
        }
    }
}
