//! Panics at the edges of the runtime.
//!
//! What must always hold: nothing in here unwinds, except [`FirstPanic::resume`], whose purpose that is. Payloads have destructors
//! of their own, which may panic; and standard error may be closed or full, so that `eprintln!` would panic too.

use std::any::Any;
use std::io::{self, Write as _};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use crate::kept::keep;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Ends the process when it is dropped. Forget it at the end of a section out of which no panic may come, because other threads borrow
/// what lies below.
///
/// ```
/// let part = filch::host::AbortOnUnwind("the part that others borrow from panicked");
/// let sum = 1 + 1; // a panic here ends the process
/// std::mem::forget(part);
/// assert_eq!(sum, 2);
/// ```
#[derive(Debug)]
#[must_use = "it guards what follows, until it is forgotten"]
pub struct AbortOnUnwind(
    /// What has happened, for the message.
    pub &'static str,
);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        warn(format_args!("{}; aborting", self.0));
        std::process::abort()
    }
}

/// Runs `f`, out of which no panic may come.
pub(crate) fn abort_on_panic<R>(what: &'static str, f: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind(what);
    let result = f();
    mem::forget(guard);
    result
}

/// Writes a line on standard error, if that is possible.
pub(crate) fn warn(message: std::fmt::Arguments<'_>) {
    // Whoever has closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "filch: {message}");
}

/// Drops what nobody will see. If its destructor panics nobody sees that either; and what that panic carries is kept, since its
/// destructor might panic again, and so on.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        keep(payload);
    }
}

/// Keeps the first panic of several tasks.
///
/// ```
/// use filch::host::FirstPanic;
///
/// let panic = FirstPanic::default();
/// assert_eq!(panic.catch(|| 1), Some(1));
/// assert_eq!(panic.catch(|| std::panic::resume_unwind(Box::new("first"))), None::<()>);
/// assert_eq!(panic.catch(|| std::panic::resume_unwind(Box::new("second"))), None::<()>);
/// let payload = std::panic::catch_unwind(|| panic.resume()).unwrap_err();
/// assert_eq!(payload.downcast_ref(), Some(&"first"));
/// ```
#[derive(Debug, Default)]
pub struct FirstPanic(Mutex<Option<Payload>>);

impl FirstPanic {
    /// Runs `f`; if it panics, keeps the payload if it is the first, and returns `None`. Never unwinds.
    pub fn catch<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.keep(payload);
                None
            }
        }
    }

    /// Keeps a payload that was caught, if it is the first. Never unwinds.
    pub fn keep(&self, payload: Payload) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            discard(payload);
        }
    }

    /// Continues the panic that was kept, if there is one.
    ///
    /// # Panics
    /// With the payload that was kept.
    pub fn resume(&self) {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = first {
            resume_unwind(payload);
        }
    }
}

impl Drop for FirstPanic {
    fn drop(&mut self) {
        let first = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        discard(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its destructor panics, with a payload whose destructor does, and so on.
    struct Evil(u32);

    impl Drop for Evil {
        fn drop(&mut self) {
            if let Some(less) = self.0.checked_sub(1) {
                resume_unwind(Box::new(Evil(less)));
            }
        }
    }

    #[test]
    fn panics_in_the_destructors_of_payloads_go_nowhere() {
        for depth in 0..4 {
            let panic = FirstPanic::default();
            for _ in 0..3 {
                assert_eq!(panic.catch(|| resume_unwind(Box::new(Evil(depth)))), None::<()>);
            }
            drop(panic);
            discard(Evil(depth));
        }
    }
}
