//! Panics at the edges of the runtime.
//!
//! Invariant: nothing in this file unwinds, except [`FirstPanic::resume`], whose purpose it is. The destructors of
//! payloads may panic, and `eprintln!` panics if standard error is closed or full.

use std::any::Any;
use std::io::{self, Write as _};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::machine::leaked::keep;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Ends the process when dropped. Forget it at the end of a section that must not panic, because other threads borrow
/// from the frames below.
///
/// ```
/// let part = filch::inside::host::AbortOnUnwind("a section that other threads borrow from panicked");
/// let sum = 1 + 1; // a panic here ends the process
/// std::mem::forget(part);
/// assert_eq!(sum, 2);
/// ```
#[derive(Debug)]
#[must_use = "it guards the following code until it is forgotten"]
pub struct AbortOnUnwind(
    /// The message.
    pub &'static str,
);

impl Drop for AbortOnUnwind {
    // Inlined, so that the message is not in the guarded frame.
    #[inline(always)]
    fn drop(&mut self) {
        abort(self.0)
    }
}

/// Ends the process. Out of line, so that the guarded frames, of which a recursion has many, do not include its locals.
#[cold]
#[inline(never)]
fn abort(message: &str) -> ! {
    warn(format_args!("{message}; aborting"));
    std::process::abort()
}

/// Runs `f`, and ends the process if it panics.
pub(crate) fn abort_on_panic<R>(what: &'static str, f: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind(what);
    let result = f();
    mem::forget(guard);
    result
}

/// Writes a line to standard error, if possible.
pub(crate) fn warn(message: std::fmt::Arguments<'_>) {
    // If standard error is closed, nobody wants the message.
    let _ = writeln!(io::stderr(), "filch: {message}");
}

/// Drops a value, and hides a panic of its destructor. Leaks that panic's payload, because the payload's destructor
/// might panic again, and so on.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        keep(payload);
    }
}

/// Keeps the first panic of several tasks. Takes one word, because each frame of a recursion through scopes has one.
///
/// ```
/// use filch::inside::host::FirstPanic;
///
/// let panic = FirstPanic::default();
/// assert_eq!(panic.catch(|| 1), Some(1));
/// assert_eq!(panic.catch(|| std::panic::resume_unwind(Box::new("first"))), None::<()>);
/// assert_eq!(panic.catch(|| std::panic::resume_unwind(Box::new("second"))), None::<()>);
/// let payload = std::panic::catch_unwind(|| panic.resume()).unwrap_err();
/// assert_eq!(payload.downcast_ref(), Some(&"first"));
/// ```
#[derive(Debug)]
pub struct FirstPanic(
    /// A box with the payload, or null.
    <Native as Memory>::AtomicPtr<Payload>,
);

impl Default for FirstPanic {
    fn default() -> Self {
        Self(Atomic::new(null_mut()))
    }
}

impl FirstPanic {
    /// Runs `f`. If `f` panics, keeps the payload if it is the first, and returns `None`. Never unwinds.
    #[inline]
    pub fn catch<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.keep(payload);
                None
            }
        }
    }

    /// Keeps a caught payload if it is the first. Never unwinds.
    #[cold]
    #[inline(never)]
    pub fn keep(&self, payload: Payload) {
        let payload = Box::into_raw(Box::new(payload));
        // Release: pairs with the swap in `take_kept`. Relaxed: this thread does not look at the other payload.
        if self.0.compare_exchange(null_mut(), payload, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: the box was leaked above, and nobody else knows of it.
            discard(*unsafe { Box::from_raw(payload) });
        }
    }

    /// Takes the kept payload.
    #[inline]
    fn take(&self) -> Option<Payload> {
        // Relaxed: this look costs less than a swap, and the caller knows that the tasks have ended.
        if self.0.load(Ordering::Relaxed).is_null() {
            return None;
        }
        self.take_kept()
    }

    #[cold]
    #[inline(never)]
    fn take_kept(&self) -> Option<Payload> {
        // Acquire: pairs with the exchange in `keep`.
        let payload = self.0.swap(null_mut(), Ordering::Acquire);
        // SAFETY: `keep` leaked the box, and the swap gave it to this thread alone.
        (!payload.is_null()).then(|| *unsafe { Box::from_raw(payload) })
    }

    /// Resumes the kept panic, if there is one.
    ///
    /// # Panics
    /// With the kept payload.
    #[inline]
    pub fn resume(&self) {
        if let Some(payload) = self.take() {
            resume_unwind(payload);
        }
    }
}

impl Drop for FirstPanic {
    #[inline]
    fn drop(&mut self) {
        if let Some(payload) = self.take() {
            discard(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose destructor panics, with a payload whose destructor panics, and so on.
    struct Evil(u32);

    impl Drop for Evil {
        fn drop(&mut self) {
            if let Some(less) = self.0.checked_sub(1) {
                resume_unwind(Box::new(Evil(less)));
            }
        }
    }

    #[test]
    fn panics_in_the_destructors_of_payloads_are_hidden() {
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
