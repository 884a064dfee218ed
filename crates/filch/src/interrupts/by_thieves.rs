//! Interrupts that thieves send themselves.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 4: if owners must answer, the first way to reach an owner in the middle of a
//! long task is that the idle processor interrupts it. The paper does not build this way.
//!
//! Invariant: a thread is interrupted only while it is in the list. [`Answering`] empties the list before any of the
//! threads may end.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::machine::{signals::send, thread::Name};

/// The threads that the thieves of a pool may interrupt.
pub(crate) struct Calls {
    period: Duration,
    /// By worker.
    threads: Mutex<Vec<Name>>,
}

impl Calls {
    /// Lets each thief interrupt once per period.
    pub(crate) fn every(period: Duration) -> Self {
        Self { period, threads: Mutex::default() }
    }

    /// Interrupts `worker`, which this thief has asked, if the thief has waited for a period. `since` is when the wait
    /// began or the thief last interrupted a worker; `None` if neither has happened. The system orders the request
    /// before the signal.
    pub(crate) fn call(&self, worker: usize, since: &Cell<Option<Instant>>) {
        let now = Instant::now();
        let Some(begun) = since.get() else {
            since.set(Some(now));
            return;
        };
        if now.duration_since(begun) < self.period {
            return;
        }
        // If the lock is taken, another thief interrupts somebody, or the pool ends; this thief tries again later.
        if let Ok(threads) = self.threads.try_lock()
            && let Some(&thread) = threads.get(worker)
        {
            // SAFETY: the thread is in the list, which is locked; so by the invariant it has not ended.
            unsafe { send(thread) };
            since.set(Some(now));
        }
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Name>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets thieves interrupt these threads of a pool while it exists.
pub(crate) struct Answering(Arc<Calls>);

impl Answering {
    /// `threads` are the workers' threads, by worker.
    pub(crate) fn new(calls: &Arc<Calls>, threads: Vec<Name>) -> Self {
        *calls.threads() = threads;
        Self(Arc::clone(calls))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.threads().clear();
    }
}
