//! The signal that interrupts workers: blocking it, and sending it.

pub(crate) use system::*;

#[cfg(unix)]
mod system {
    use std::marker::PhantomData;
    use std::mem;

    use libc::c_int;

    use crate::machine::thread::{Name, Thread};

    pub(crate) const SIGNAL: c_int = libc::SIGURG;

    /// While this exists, the signal is blocked on the current thread, and on threads that it starts until they
    /// [listen](crate::interrupts). Otherwise a signal for a worker that does not listen yet would be passed on to the
    /// program's own handler.
    pub(crate) struct Held {
        former: libc::sigset_t,
        /// Not `Send`, since the mask is this thread's.
        thread: PhantomData<*mut ()>,
    }

    impl Held {
        pub(crate) fn new() -> Self {
            Self { former: mask(libc::SIG_BLOCK, &the_signal()), thread: PhantomData }
        }

        /// Blocks all signals.
        pub(crate) fn all() -> Self {
            Self { former: mask(libc::SIG_SETMASK, &all_or_none(true)), thread: PhantomData }
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            mask(libc::SIG_SETMASK, &self.former);
        }
    }

    /// The signals that a thread blocks.
    pub(crate) struct Mask(libc::sigset_t);

    impl Mask {
        pub(crate) fn of_this_thread() -> Self {
            // Blocks no further signal.
            Self(mask(libc::SIG_BLOCK, &all_or_none(false)))
        }

        /// Gives the current thread this mask.
        pub(crate) fn adopt(&self) {
            mask(libc::SIG_SETMASK, &self.0);
        }
    }

    pub(crate) fn the_signal() -> libc::sigset_t {
        // SAFETY: a signal set is plain data, for which all zeros are valid, and the system initializes it.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, SIGNAL);
            set
        }
    }

    /// Returns the set of all signals, or none. Miri does not know such sets.
    fn all_or_none(all: bool) -> libc::sigset_t {
        let fill = if all { libc::sigfillset } else { libc::sigemptyset };
        // SAFETY: as in `the_signal`.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            if !cfg!(miri) {
                fill(&raw mut set);
            }
            set
        }
    }

    /// Changes the current thread's signal mask, and returns the former mask.
    pub(crate) fn mask(how: c_int, set: &libc::sigset_t) -> libc::sigset_t {
        // SAFETY: both sets are plain data in live frames. The call cannot fail with these arguments.
        unsafe {
            let mut former: libc::sigset_t = mem::zeroed();
            // Miri has no signals.
            if !cfg!(miri) {
                libc::pthread_sigmask(how, set, &raw mut former);
            }
            former
        }
    }

    /// Interrupts a worker.
    ///
    /// # Safety
    /// The worker's thread has been neither joined nor detached, and has not ended.
    pub(crate) unsafe fn send(Name(thread): Name) {
        // SAFETY: the caller's promise.
        unsafe { libc::pthread_kill(thread, SIGNAL) };
    }

    /// Returns the threads' handles for [`send`].
    pub(crate) fn names(threads: &[Thread]) -> Vec<Name> {
        threads.iter().map(Thread::name).collect()
    }
}

/// For systems without signals.
#[cfg(not(unix))]
mod system {
    use crate::machine::thread::{Name, Thread};

    pub(crate) struct Held;

    impl Held {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn all() -> Self {
            Self
        }
    }

    pub(crate) struct Mask;

    impl Mask {
        pub(crate) fn of_this_thread() -> Self {
            Self
        }

        pub(crate) fn adopt(&self) {}
    }

    pub(crate) unsafe fn send(name: Name) {
        match name {}
    }

    pub(crate) fn names(_: &[Thread]) -> Vec<Name> {
        Vec::new()
    }
}
