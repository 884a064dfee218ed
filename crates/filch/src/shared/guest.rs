//! Guests: threads outside a pool that run their own calls in the seat of a sleeping worker.
//!
//! To inject a call and wait for it, two threads must fall asleep and wake, which takes at least ten microseconds. So
//! the caller runs the call itself, if it can. It takes the seat of an idle worker, whose own thread sleeps on, and is
//! that worker meanwhile, with the worker's number, task stack and counters. [`sleep`](crate::protocol::sleep) explains
//! how seats change hands.
//!
//! A guest that shares a task wakes a sleeper, as any worker does, unless a worker searches. To wake one takes longer
//! than many calls. So if the last calls were short, the worker that was woken watches: it does not sleep but looks
//! again and again, and naps in between, about as long as it takes until the next call. It counts as searching, though
//! it searches slowly; so the next calls wake nobody. A loop that turns out long calls it, and so does a fork of a long
//! call, where others sleep. Otherwise the worker comes when its nap ends, after two milliseconds at most. A worker
//! that has taken part in a call stays awake for a while, since the next call may come at once.
//!
//! Invariant: one thread at a time uses a seat. [`enter`](crate::threads::enter) has the arrival and departure of
//! guests.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
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
    /// The values of `calls` during the last two long calls, the later one first.
    long_calls: [<Native as Memory>::AtomicU32; 2],
    /// How many nanoseconds it takes a worker to wake another: a moving average.
    wake_up: <Native as Memory>::AtomicU32,
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
        Self {
            seats: OnceLock::new(),
            calls: Atomic::new(0),
            long_calls: [const { 0 }; 2].map(Atomic::new),
            // On a virtual machine.
            wake_up: Atomic::new(10_000),
            watch: Watch::new(),
        }
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

    /// Whether a call is long that has taken this many nanoseconds. A shorter one is over before another worker has
    /// helped much.
    ///
    /// `packs`: whether the system [packs](crate::shared::elsewhere) threads; then a woken worker stops its waker, or
    /// has to be sent elsewhere first.
    pub(crate) fn is_long(&self, took: u64, packs: bool) -> bool {
        /// As measured on two processors of a Zen 3: there a helper of shorter calls costs as much as it saves.
        const PACKED: u64 = 105_000;
        /// It takes the waker part of this, and the woken worker the rest, until it has found something.
        const WAKE_UPS: u32 = 5;
        const LEAST: u32 = 15_000;
        const MOST: u32 = 75_000;
        // Relaxed, here and below: hints.
        let long = (WAKE_UPS * self.wake_up.load(Ordering::Relaxed)).clamp(LEAST, MOST);
        took >= if packs { PACKED } else { long.into() }
    }

    /// Called on a worker that has taken this many nanoseconds to wake another.
    pub(crate) fn note_wake_up(&self, took: u64) {
        const WEIGHT: u32 = 8;
        // The waker may have been stopped.
        const MOST: u64 = 50_000;
        let before = self.wake_up.load(Ordering::Relaxed);
        self.wake_up.store(before - before / WEIGHT + took.min(MOST) as u32 / WEIGHT, Ordering::Relaxed);
    }

    /// Counts the end of a call that took this many nanoseconds.
    pub(crate) fn note_call(&self, took: u64, packs: bool) {
        if self.is_long(took, packs) {
            let [last, before] = &self.long_calls;
            before.store(last.load(Ordering::Relaxed), Ordering::Relaxed);
            last.store(self.calls.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Returns what an idle worker knows that begins to search.
    pub(crate) fn outlook(&self) -> Outlook {
        Outlook { calls: self.watch.seen.load(Ordering::Relaxed), ..Outlook::default() }
    }

    /// Returns what an idle worker should do instead of sleeping, because guests come; `None` if it should sleep. It
    /// may nap here first, until somebody [calls](Guests::call_watch) it at the latest.
    ///
    /// `steals` is the number of tasks that the worker has stolen so far.
    pub(crate) fn watch(&self, worker: usize, outlook: &mut Outlook, steals: u64) -> Option<Watches> {
        /// About the time to fall asleep and be woken.
        const LINGER: Duration = Duration::from_micros(60);
        /// Two long calls among this many make all of them worth a wake-up. A single one may have been interrupted.
        const FEW: u32 = 16;
        let (calls, now) = (self.calls.load(Ordering::Relaxed), Instant::now());
        if let Some(end) = outlook.stays_until
            && now < end
        {
            return Some(Watches::Awake);
        }
        outlook.stays_until = None;
        let more = calls.wrapping_sub(outlook.calls);
        if more > 0 && steals != outlook.steals {
            (outlook.steals, outlook.stays_until) = (steals, Some(now + LINGER));
            return Some(Watches::Awake);
        }
        outlook.calls = calls;
        self.watch.seen.store(calls, Ordering::Relaxed);
        if calls.wrapping_sub(self.long_calls[1].load(Ordering::Relaxed)) <= FEW {
            return None;
        }
        self.watch.nap(worker, more, &mut outlook.nap).then_some(Watches::Napped)
    }

    /// Wakes the watching worker if it naps, after `prepare`, which gets its number. Called when there may be something
    /// to do for a worker that naps, since the dormitory wakes only workers that sleep.
    pub(crate) fn call_watch(&self, prepare: impl FnOnce(usize)) {
        self.watch.call(prepare);
    }

    /// Whether a worker watches, and naps. A snapshot.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_kept.load(Ordering::Relaxed)
    }
}

/// What an idle worker does while guests come.
pub(crate) enum Watches {
    /// It yields its processor.
    Awake,
    /// It has napped.
    Napped,
}

/// What an idle worker knew of guests at its last look.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outlook {
    calls: u32,
    steals: u64,
    /// The length of its last nap.
    nap: Duration,
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
    by: Mutex<Option<(usize, Thread)>>,
    /// The number of guests that an idle worker has seen.
    seen: <Native as Memory>::AtomicU32,
    /// How many more times nobody watches.
    pauses: <Native as Memory>::AtomicU32,
}

impl Watch {
    fn new() -> Self {
        Self { is_kept: Atomic::new(false), by: Mutex::new(None), seen: Atomic::new(0), pauses: Atomic::new(0) }
    }

    /// Naps, unless that is not worthwhile or somebody else does; returns whether it has. `more` guests have come since
    /// the last look.
    fn nap(&self, worker: usize, more: u32, last: &mut Duration) -> bool {
        const SHORTEST: Duration = Duration::from_micros(15);
        const LONGEST: Duration = Duration::from_millis(2);
        /// More calls in a nap are frequent.
        const MANY: u32 = 4;
        /// After a watch in vain.
        const PAUSES: u32 = 16;
        // Relaxed, here and below: hints. A worker that misses a call is late by the rest of its nap.
        let length = match more {
            0 if *last >= LONGEST => {
                self.pauses.store(PAUSES, Ordering::Relaxed);
                return false;
            }
            0 => *last * 2,
            1..=MANY => *last,
            _ => *last / 2,
        };
        if last.is_zero() {
            // It begins.
            let pauses = self.pauses.load(Ordering::Relaxed);
            if more == 0 || pauses > 0 {
                self.pauses.store(pauses.saturating_sub(1), Ordering::Relaxed);
                return false;
            }
        }
        if self.is_kept.load(Ordering::Relaxed) || self.is_kept.swap(true, Ordering::Relaxed) {
            return false;
        }
        *last = length.clamp(SHORTEST, LONGEST);
        *self.napper() = Some((worker, thread::current()));
        thread::park_timeout(*last);
        *self.napper() = None;
        self.is_kept.store(false, Ordering::Relaxed);
        true
    }

    fn napper(&self) -> MutexGuard<'_, Option<(usize, Thread)>> {
        self.by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, prepare: impl FnOnce(usize)) {
        if self.is_kept.load(Ordering::Relaxed) {
            let mut napper = self.napper();
            if let Some((worker, thread)) = napper.take() {
                // The worker is not awake before it has the lock.
                prepare(worker);
                thread.unpark();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has this many guests come and go, whose calls take `took` nanoseconds.
    fn visited(guests: &Guests, visits: u32, took: u64) {
        for _ in 0..visits {
            guests.calls.fetch_add(1, Ordering::Relaxed);
            guests.note_call(took, false);
        }
    }

    /// Returns whether a worker that has fallen idle watches.
    fn watches(guests: &Guests) -> bool {
        guests.watch(0, &mut guests.outlook(), 0).is_some()
    }

    #[test]
    fn a_worker_watches_while_short_calls_come_and_for_some_milliseconds_more() {
        let guests = Guests::new();
        visited(&guests, 17, 1_000);
        let mut outlook = guests.outlook();
        assert!(guests.watch(0, &mut outlook, 0).is_some() && !watches(&guests), "nobody has come since");
        let naps = std::iter::from_fn(|| guests.watch(0, &mut outlook, 0).map(|_| outlook.nap));
        let naps: Vec<_> = naps.take(100).collect();
        assert!(naps.len() < 10 && naps.is_sorted(), "{naps:?}");
        // That was in vain.
        let futile = (0..100).take_while(|_| {
            visited(&guests, 1, 1_000);
            !watches(&guests)
        });
        assert_eq!(futile.count(), 16);
    }

    #[test]
    fn nobody_watches_once_two_calls_were_long_lately() {
        let guests = Guests::new();
        visited(&guests, 17, 1_000);
        visited(&guests, 1, 1_000_000);
        assert!(watches(&guests));
        visited(&guests, 15, 1_000);
        visited(&guests, 1, 1_000_000);
        assert!(!watches(&guests));
        visited(&guests, 16, 1_000);
        assert!(watches(&guests));
    }

    #[test]
    fn a_worker_that_took_part_in_a_call_stays_awake() {
        let guests = Guests::new();
        visited(&guests, 1, 1_000_000);
        let mut outlook = guests.outlook();
        assert!(matches!(guests.watch(0, &mut outlook, 1), Some(Watches::Awake)) && outlook.lingers());
    }

    #[test]
    fn cheap_wake_ups_make_shorter_calls_long() {
        let guests = Guests::new();
        assert!(!guests.is_long(20_000, false));
        (0..100).for_each(|_| guests.note_wake_up(1_000));
        assert!(guests.is_long(20_000, false) && !guests.is_long(20_000, true));
    }
}
