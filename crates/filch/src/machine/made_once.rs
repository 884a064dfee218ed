//! A value that is made once, by the first of several makers.
//!
//! Invariant: the value is set once, by a holder of the lock.

use std::cell::Cell;
use std::ptr::null;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A value that is made at its first use, or earlier by a caller that chooses it, such as a global pool. If making it
/// fails, the next use tries again.
///
/// ```
/// use filch::inside::host::Single;
///
/// static NAME: Single<String> = Single::new();
/// assert!(NAME.get_or_make(|| Err("not yet")).is_err());
/// assert_eq!(NAME.make_first(|| Ok::<_, ()>("first".to_owned())), Ok(Some(&"first".to_owned())));
/// assert_eq!(NAME.make_first(|| Ok::<_, ()>("second".to_owned())), Ok(None));
/// assert_eq!(NAME.get().unwrap(), "first");
/// ```
#[derive(Debug)]
pub struct Single<T> {
    made: OnceLock<T>,
    making: Mutex<()>,
}

thread_local! {
    /// The address of the [`Single`] whose value this thread makes; null if there is none.
    static MADE: Cell<*const ()> = const { Cell::new(null()) };
}

/// Marks the current thread, until dropped, as one that makes a value.
struct Maker(*const ());

impl Maker {
    fn of(value: *const ()) -> Self {
        assert!(MADE.get() != value, "the global pool is not there yet while it is made, also for names and settings");
        Self(MADE.replace(value))
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        MADE.set(self.0);
    }
}

impl<T> Default for Single<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Single<T> {
    /// Creates a place without a value.
    pub const fn new() -> Self {
        Self { made: OnceLock::new(), making: Mutex::new(()) }
    }

    /// Returns the value, if it is made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.made.get()
    }

    /// Returns the value; makes it first if nobody has. Other makers wait meanwhile.
    ///
    /// # Errors
    /// That of `make`.
    #[inline]
    pub fn get_or_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.get() {
            Some(value) => Ok(value),
            None => self.make(make).map(|(value, _)| value),
        }
    }

    /// Makes the value; returns `None` if it is made already.
    ///
    /// # Errors
    /// That of `make`.
    pub fn make_first<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Option<&T>, E> {
        self.make(make).map(|(value, is_new)| is_new.then_some(value))
    }

    /// Returns the value, and whether this call has made it.
    ///
    /// # Panics
    /// If this is the innermost value that the current thread is making: the thread would wait for itself.
    #[cold]
    fn make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<(&T, bool), E> {
        let _maker = Maker::of(std::ptr::from_ref(self).cast());
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = self.made.get().is_none();
        if is_new {
            let is_set = self.made.set(make()?).is_ok();
            debug_assert!(is_set, "only a holder of the lock sets it");
        }
        Ok((self.made.get().expect("it is set above"), is_new))
    }
}
