//! Panics at the edges of tasks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `f`; its panic becomes an error. Whoever calls this passes the panic on, so nobody sees what it left behind.
pub(crate) fn halt_unwinding<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Ends the process if it is dropped: unless [`forgotten`](std::mem::forget), a panic has come where none may.
#[derive(Debug)]
pub(crate) struct AbortIfPanic;

impl Drop for AbortIfPanic {
    fn drop(&mut self) {
        eprintln!("rayon on filch: a spawned task panicked, and no panic handler took it; aborting");
        std::process::abort();
    }
}

/// The first panic of several tasks.
#[derive(Debug, Default)]
pub(crate) struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Runs `f`; keeps its panic if it is the first.
    pub(crate) fn catch<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match halt_unwinding(f) {
            Ok(result) => Some(result),
            Err(payload) => {
                let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if first.is_none() {
                    *first = Some(payload);
                } else {
                    drop(first);
                    // The payload's own destructor may panic too.
                    drop(halt_unwinding(|| drop(payload)));
                }
                None
            }
        }
    }

    /// Goes on with the panic that was kept.
    pub(crate) fn resume(&self) {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = first {
            std::panic::resume_unwind(payload);
        }
    }
}
