//! The identity of the process: the child of a `fork()` has its parent's memory, but only one of its threads.
//!
//! In a child, a pool of the parent's would take jobs and never run them. So the number of a process is the number of
//! forks since the first call of [`current`]. Each pool remembers the number of its process; each entry from outside
//! compares the numbers, which costs a load.
//!
//! Invariant: in a child, [`current`] differs from its value in every ancestor that had called it before the fork.

use std::ptr::{self, null_mut};

use filch_memory::Ordering;

/// A value per process. A child makes a new one, and never touches the parent's, whose locks may be held by threads
/// that the child does not have.
///
/// ```
/// use filch::inside::host::PerProcess;
/// use std::sync::OnceLock;
///
/// static NUMBER: PerProcess<OnceLock<u32>> = PerProcess::new();
/// NUMBER.get().set(7).unwrap();
/// assert_eq!(NUMBER.get().get(), Some(&7));
/// ```
#[derive(Debug)]
#[allow(clippy::disallowed_types, reason = "a static needs the concrete type's constant constructor")]
pub struct PerProcess<T>(std::sync::atomic::AtomicPtr<(u32, T)>);

impl<T: Default + Send + Sync> PerProcess<T> {
    /// Creates an empty value, for a static.
    #[allow(clippy::disallowed_types, reason = "as above")]
    #[allow(clippy::new_without_default, reason = "it is for constants")]
    pub const fn new() -> Self {
        Self(std::sync::atomic::AtomicPtr::new(null_mut()))
    }

    /// Returns the current process's value, which the first call makes, and which is never freed.
    #[inline]
    pub fn get(&'static self) -> &'static T {
        match self.newest() {
            Some((process, value)) if *process == current() => value,
            _ => self.make(),
        }
    }

    fn newest(&'static self) -> Option<&'static (u32, T)> {
        // Acquire: pairs with the exchange in `make`.
        // SAFETY: the pointer is null, or `make` leaked it.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// If several threads come here at once, the values of all but one are dropped.
    #[cold]
    fn make(&'static self) -> &'static T {
        let this_process = current();
        let new = Box::into_raw(Box::new((this_process, T::default())));
        loop {
            let former = self.newest();
            if let Some((process, value)) = former
                && *process == this_process
            {
                // SAFETY: the box was leaked above, and nobody else knows of it.
                drop(unsafe { Box::from_raw(new) });
                return value;
            }
            let former = former.map_or(null_mut(), |former| ptr::from_ref(former).cast_mut());
            // Release: pairs with the load in `newest`.
            if self.0.compare_exchange(former, new, Ordering::Release, Ordering::Relaxed).is_ok() {
                // SAFETY: from here on there are only shared references to the value, which is never dropped.
                return unsafe { &(*new).1 };
            }
        }
    }
}

unsafe extern "C" {
    /// Belongs to the C library that the Rust standard library uses too.
    safe fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
}

/// Registers `f`, to be called when the process ends by itself, while its other threads still run. Does nothing if the
/// system has no room for `f`. The child of a `fork()` calls `f`, too, when it ends.
///
/// ```
/// extern "C" fn says_so() {
///     eprintln!("the end");
/// }
/// filch::inside::host::at_exit(says_so);
/// ```
pub fn at_exit(f: extern "C" fn()) {
    let _ = atexit(f);
}

pub(crate) use system::{current, is_child};

#[cfg(all(unix, not(miri)))]
mod system {
    use filch_memory::Ordering;

    #[allow(clippy::disallowed_types, reason = "a static needs the concrete type's constant constructor")]
    type Count = std::sync::atomic::AtomicU32;

    /// 0 until the first call of `current`; from then on, the number of forks since that call, plus 1.
    static FORKS: Count = Count::new(0);

    extern "C" fn count() {
        // Relaxed, here and below: a child begins with one thread, this one.
        FORKS.store(FORKS.load(Ordering::Relaxed).wrapping_add(1).max(1), Ordering::Relaxed);
    }

    /// Returns the number of the process, which differs from its ancestors'.
    #[inline]
    pub(crate) fn current() -> u32 {
        match FORKS.load(Ordering::Relaxed) {
            0 => first(),
            forks => forks,
        }
    }

    /// Whether this process descends, by `fork()`, from one that had called [`current`] before it forked.
    pub(crate) fn is_child() -> bool {
        FORKS.load(Ordering::Relaxed) > 1
    }

    #[cold]
    fn first() -> u32 {
        // If several threads come here, or a fork comes in between, each later fork counts several times, which is
        // harmless. Without memory for the handler, children are not distinguished.
        // SAFETY: the function has static lifetime, and writes an atomic, which is allowed in a child.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(count)) };
        // An existing number stays.
        match FORKS.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => 1,
            Err(forks) => forks,
        }
    }
}

#[cfg(not(all(unix, not(miri))))]
mod system {
    pub(crate) const fn current() -> u32 {
        1
    }

    pub(crate) const fn is_child() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, OnceLock};
    use std::thread;

    use super::*;

    #[test]
    fn all_threads_of_a_process_have_the_same_value() {
        static ONE: PerProcess<OnceLock<usize>> = PerProcess::new();
        let barrier = Barrier::new(4);
        let come = |_| {
            barrier.wait();
            std::ptr::from_ref(ONE.get()).addr()
        };
        let places: Vec<usize> = thread::scope(|s| {
            let threads: Vec<_> = (0..4).map(|n| s.spawn(move || come(n))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(places.iter().all(|place| *place == places[0]));
        assert_eq!(current(), current());
    }
}
