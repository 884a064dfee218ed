//! Interrupts that thieves send themselves.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 4: where owners must answer, the first way to reach one in the middle of a long
//! task is for the idle processor to interrupt it. The paper does not build it.
//!
//! Invariant: a thread is called only while it is in the list, which is emptied, by [`Answering`], before any of them
//! may end.

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

    /// Interrupts `worker`, whom this thief has asked, if the thief has waited for a period; `since` says since when,
    /// if it has begun. The system orders the request before the signal.
    pub(crate) fn call(&self, worker: usize, since: &Cell<Option<Instant>>) {
        let now = Instant::now();
        let Some(begun) = since.get() else {
            since.set(Some(now));
            return;
        };
        if now.duration_since(begun) < self.period {
            return;
        }
        // Otherwise another thief interrupts somebody, or the pool ends; there will be a next time.
        if let Ok(threads) = self.threads.try_lock()
            && let Some(&thread) = threads.get(worker)
        {
            // SAFETY: the invariant; the list is locked.
            unsafe { send(thread) };
            since.set(Some(now));
        }
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Name>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it exists, thieves interrupt these threads of a pool.
pub(crate) struct Answering(Arc<Calls>);

impl Answering {
    /// `threads`: by worker.
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
