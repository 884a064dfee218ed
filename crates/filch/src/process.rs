//! Which process this is: the child of a `fork()` has the memory of its parent, and none of its threads but one.
//!
//! A pool whose workers have stayed behind would take jobs and never run them. So processes are told apart by how many forks have led to
//! them since the first pool was made: each pool remembers its process, and the ways in from outside compare, which costs a load.
//!
//! What must always hold: in a child, [`current`] differs from what it was in any of its ancestors as soon as they had called it.

use std::ptr::null_mut;

use filch_memory::Ordering;

/// What exists once in each process: made anew in a child, where the parent's is never touched again, since its locks may be held by
/// threads that are not there.
///
/// ```
/// use filch::host::PerProcess;
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
    /// For a static.
    #[allow(clippy::disallowed_types, reason = "as above")]
    #[allow(clippy::new_without_default, reason = "it is for constants")]
    pub const fn new() -> Self {
        Self(std::sync::atomic::AtomicPtr::new(null_mut()))
    }

    /// That of the current process. Never freed.
    #[inline]
    pub fn get(&'static self) -> &'static T {
        // Acquire: pairs with the swap in `make`.
        // SAFETY: null, or leaked by `make`.
        match unsafe { self.0.load(Ordering::Acquire).as_ref() } {
            Some((process, value)) if *process == current() => value,
            _ => self.make(),
        }
    }

    #[cold]
    fn make(&'static self) -> &'static T {
        let mut former = self.0.load(Ordering::Acquire);
        let own = Box::into_raw(Box::new((current(), T::default())));
        loop {
            // SAFETY: null, or leaked here.
            if let Some((process, value)) = unsafe { former.as_ref() }
                && *process == current()
            {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(own) });
                return value;
            }
            // Release: pairs with the load in `get`. Acquire: another thread of this process may have been faster.
            match self.0.compare_exchange(former, own, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: leaked from now on.
                Ok(_) => return unsafe { &(*own).1 },
                Err(faster) => former = faster,
            }
        }
    }
}

pub(crate) use system::current;

#[cfg(all(unix, not(miri)))]
mod system {
    use filch_memory::Ordering;

    #[allow(clippy::disallowed_types, reason = "a static needs the concrete type's constant constructor")]
    type Count = std::sync::atomic::AtomicU32;

    /// 0 until somebody has asked; then the number of forks since, plus 1.
    static FORKS: Count = Count::new(0);

    extern "C" fn count() {
        // Relaxed, here and below: a child begins with one thread, which is this one.
        FORKS.store(FORKS.load(Ordering::Relaxed).wrapping_add(1).max(1), Ordering::Relaxed);
    }

    /// The number of the process: another one than in its ancestors.
    #[inline]
    pub(crate) fn current() -> u32 {
        match FORKS.load(Ordering::Relaxed) {
            0 => first(),
            forks => forks,
        }
    }

    #[cold]
    fn first() -> u32 {
        // Several threads may come here, or a fork come in between, and then each fork counts for several, which does no harm. If there is
        // no memory for it, children are not told apart.
        // SAFETY: the function stays where it is, and does what it may in a child: it writes an atomic.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(count)) };
        // One that is there already stays.
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
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, OnceLock};
    use std::thread;

    use super::*;

    #[test]
    fn all_threads_of_a_process_have_the_same() {
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
