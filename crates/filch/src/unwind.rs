//! Panics at the edges of the runtime.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use crate::job::Payload;

/// Runs `f`, past which a panic must not travel because frames below it are borrowed by other threads.
pub(crate) fn abort_on_panic<R>(what: &str, f: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        eprintln!("filch: {what} panicked where it must not; aborting");
        std::process::abort()
    })
}

/// Keeps the first panic of several tasks.
#[derive(Debug, Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Runs `f`; keeps the payload if it panics and is the first to.
    pub(crate) fn catch<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.keep(payload);
                None
            }
        }
    }

    /// Keeps a payload that was caught, if it is the first.
    pub(crate) fn keep(&self, payload: Payload) {
        let mut first = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            // The payload's own destructor may panic, which must not cut its siblings short.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        }
    }

    /// Continues the panic that was kept, if there is one.
    pub(crate) fn resume(&self) {
        let first = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(payload) = first {
            resume_unwind(payload);
        }
    }
}
