//! A value behind a lock, and threads that wait until it has changed.
//!
//! Invariant: every change wakes all waiting threads. A change that panics wakes nobody, and leaves the value as it
//! then is.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Monitor<T> {
    value: Mutex<T>,
    changes: Condvar,
}

impl<T> Monitor<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.lock());
        self.changes.notify_all();
    }

    /// Waits while `waits` returns `true`. Returns the value, locked.
    pub(crate) fn wait_while(&self, waits: impl FnMut(&mut T) -> bool) -> MutexGuard<'_, T> {
        self.changes.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Monitor::wait_while`], but waits at most for this time.
    pub(crate) fn wait_while_for(&self, time: Duration, waits: impl FnMut(&mut T) -> bool) {
        drop(self.changes.wait_timeout_while(self.lock(), time, waits));
    }
}
