//! What the recorded worker notes at its forks, for the recorder to read later: a look at the clock, and two stores.
//!
//! The worker takes the lock when its log is full, and for whatever is no event of a fork; the thread that ends the
//! process takes it once.
//!
//! **Invariants.**
//! * I1: only the thread in whose variable the log is writes it.
//! * I2: who holds the lock has read all that was written before, or else there is no recorder.
//! * I3: words that have been written do not change before they are read, since the worker begins anew under the lock.
//! * I4: what runs under the lock is none of the program's code but its clock, and does not unwind: a fork is then half
//!   pushed or half popped.

use std::array;
use std::sync::{Mutex, MutexGuard, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::event::{Event, Word};
use super::recorder::{Clock, Recorder};
use crate::unwind::abort_on_panic;

/// As many as fit into a quarter of a first-level cache.
const WORDS: usize = 1 << 10;

/// Where a worker has its recorder, which another thread may take.
pub(crate) struct Log {
    clock: Clock,
    /// The longest strand that is logged; the recorder looks at longer ones when they end.
    longest: u64,
    /// The beginning of the current strand. For the worker only.
    since: <Native as Memory>::AtomicU64,
    words: [Word; WORDS],
    /// How many words have been written.
    written: <Native as Memory>::AtomicUsize,
    recorder: Mutex<Option<Box<Recorder>>>,
}

impl Log {
    /// The recorder, which records the current thread from now on.
    pub(super) fn new(mut recorder: Box<Recorder>) -> Self {
        recorder.resume();
        Self {
            clock: recorder.clock,
            longest: recorder.clock.long.min(Event::MOST),
            since: Atomic::new(recorder.since),
            words: array::from_fn(|_| Atomic::new(0)),
            written: Atomic::new(0),
            recorder: Mutex::new(Some(recorder)),
        }
    }

    /// Notes an event, for the worker; `None` if the recording has ended.
    #[inline]
    pub(super) fn note(&self, event: Event, kind: usize) -> Option<()> {
        let now = self.clock.now();
        // Relaxed: this thread wrote it (I1), as `written`.
        let ticks = now.saturating_sub(self.since.load(Ordering::Relaxed));
        let at = self.written.load(Ordering::Relaxed);
        if ticks > self.longest || at + 2 > WORDS {
            return self.with_at(now, |recorder| recorder.event(event, kind));
        }
        // Relaxed, here and below: published by `written`.
        self.words[at].store(event.after(ticks), Ordering::Relaxed);
        let mut written = at + 1;
        if event == Event::Fork {
            self.words[written].store(kind as u64, Ordering::Relaxed);
            written += 1;
        }
        // Release: pairs with the load in `lock`, whose thread reads these words.
        self.written.store(written, Ordering::Release);
        self.since.store(now, Ordering::Relaxed);
        Some(())
    }

    /// Gives `f` the recorder, for the worker; `None` if the recording has ended.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
        let now = self.clock.now();
        self.with_at(now, f)
    }

    #[cold]
    fn with_at<R>(&self, now: u64, f: impl FnOnce(&mut Recorder) -> R) -> Option<R> {
        let mut recorder = self.lock();
        let recorder = recorder.as_mut()?;
        // Relaxed: who reads it next takes the lock after this. All that was written has been read (I2).
        self.written.store(0, Ordering::Relaxed);
        (recorder.read, recorder.now) = (0, now);
        let began = recorder.since;
        let result = abort_on_panic("a recorder panicked", || f(recorder));
        if recorder.since == began {
            // The strand goes on, without this.
            recorder.since += self.clock.now().saturating_sub(now);
        }
        // Relaxed: for this thread.
        self.since.store(recorder.since, Ordering::Relaxed);
        Some(result)
    }

    /// Locks the recorder, which has read the log.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Box<Recorder>>> {
        let mut guard = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recorder) = &mut *guard {
            // Acquire: pairs with the store in `note`. It is no value from before the worker began anew, which it did
            // under the lock (I3).
            let written = self.written.load(Ordering::Acquire);
            let words = &self.words[std::mem::replace(&mut recorder.read, written)..written];
            abort_on_panic("a recorder panicked", || recorder.reads(words));
        }
        guard
    }
}
