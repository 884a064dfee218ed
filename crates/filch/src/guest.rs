//! Guests: threads outside of a pool that run what they bring along in the seat of a worker that sleeps.
//!
//! To hand a call in and to wait for it takes two threads that fall asleep and wake, some ten microseconds at the least, whatever the
//! call does. So the caller does the call itself, if it can: it takes the seat of an idle worker, whose own thread sleeps on, and is
//! that worker meanwhile, with its number, its stack of tasks, its counters. How seats change hands is said in
//! [`sleep`](crate::protocol::sleep).
//!
//! A guest wakes others as any worker does that shares a task, unless somebody searches. So that a row of short calls
//! wakes nobody, the one that was woken by the first of them watches: as long as guests come in quick succession, it does not go to sleep
//! but looks again and again, with naps in between. It counts as one who searches, which it is, if a slow one. And one that has
//! had its part in a longer call stays awake for a while, since the next may come at once.
//!
//! What must always hold: a seat is used by one thread at a time. How a guest comes and leaves is in [`enter`](crate::enter).

use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::front::Front;
use crate::slot::Slot;

/// The seats of a pool, for those who come from outside.
pub(crate) struct Guests {
    /// By worker. Set once, before the first worker starts.
    seats: OnceLock<Box<[GuestSeat]>>,
    /// How many have come.
    calls: <Native as Memory>::AtomicU32,
    watch: Watch,
}

/// The front of a worker whose stack is empty, and its head.
#[derive(Clone, Copy)]
pub(crate) struct GuestSeat {
    front: NonNull<Front>,
    bottom: *mut Slot,
}

// SAFETY: plain addresses; who uses them sees to it that the seat is its own.
unsafe impl Send for GuestSeat {}
// SAFETY: nothing in a seat changes.
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

    /// The seats, by worker.
    pub(crate) fn prepare(&self, seats: impl Iterator<Item = GuestSeat>) {
        let fresh = self.seats.set(seats.collect()).is_ok();
        debug_assert!(fresh, "seats are prepared once");
    }

    /// A guest has taken the seat of worker `index`.
    pub(crate) fn came_to(&self, index: usize) -> GuestSeat {
        // Relaxed: see `watch`.
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.seats.get().expect("prepared with the workers")[index]
    }

    /// For an idle worker that would otherwise go to sleep: whether it had better look again, since guests come. It naps
    /// before it returns, until somebody [calls](Guests::call_watch) it, or gives its processor away for a moment.
    ///
    /// `steals`: how many tasks it has had from others so far.
    pub(crate) fn watch(&self, outlook: &mut Outlook, steals: u64) -> bool {
        /// Calls that come faster are too short for anybody else.
        const QUICK: Duration = Duration::from_micros(12);
        /// About what it takes to fall asleep and to be woken.
        const LINGER: Duration = Duration::from_micros(60);
        // Relaxed: a hint.
        let (calls, now) = (self.calls.load(Ordering::Relaxed), Instant::now());
        if let Some(end) = outlook.stays_until
            && now < end
        {
            thread::yield_now();
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

    /// Something has been handed in for which nobody was woken, since somebody searches: perhaps it naps.
    pub(crate) fn call_watch(&self) {
        self.watch.call();
    }
}

/// What an idle worker knew of guests when it last looked.
#[derive(Default)]
pub(crate) struct Outlook {
    calls: u32,
    steals: u64,
    at: Option<Instant>,
    /// Until when it stays awake.
    stays_until: Option<Instant>,
}

/// Where the worker naps that watches.
struct Watch {
    is_kept: <Native as Memory>::AtomicBool,
    by: Mutex<Option<Thread>>,
}

impl Watch {
    fn new() -> Self {
        Self { is_kept: Atomic::new(false), by: Mutex::new(None) }
    }

    fn nap(&self) -> bool {
        // With what the system adds, some 70 µs.
        const NAP: Duration = Duration::from_micros(15);
        // Relaxed, here and below: a hint. Who naps while it is called comes late by the rest of its nap.
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
