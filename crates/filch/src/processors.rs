//! Which processors the process may use: those of its first thread.
//!
//! A thread that a program has pinned passes that on to the threads that it starts, and sees no other processors. A pool that serves the
//! whole program must not depend on which of its threads happens to come first.

/// How many processors the process may use, whatever the current thread is pinned to.
pub(crate) fn count() -> usize {
    let available = || std::thread::available_parallelism().map_or(1, Into::into);
    if system::is_process_wide() {
        return available();
    }
    // The standard library knows more limits, and asks for the current thread.
    let unpinned = std::thread::Builder::new().spawn(move || {
        unpin();
        available()
    });
    unpinned.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(available)
}

/// Lets the current thread use all processors that the process may use.
pub(crate) fn unpin() {
    system::unpin();
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod system {
    use std::mem::zeroed;

    /// The processors that a thread may use; 0 for the current one.
    fn affinity(thread: libc::pid_t) -> Option<libc::cpu_set_t> {
        // SAFETY: a set is plain data, for which all zeros are valid, and has the size that is given.
        unsafe {
            let mut set: libc::cpu_set_t = zeroed();
            (libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set) == 0).then_some(set)
        }
    }

    /// Those of the first thread, whose number is the process's.
    fn of_process() -> Option<libc::cpu_set_t> {
        affinity(libc::pid_t::try_from(std::process::id()).ok()?)
    }

    /// Whether the current thread may use what the process may use, as far as can be told.
    pub(super) fn is_process_wide() -> bool {
        match (affinity(0), of_process()) {
            // SAFETY: both sets are initialized.
            (Some(own), Some(all)) => unsafe { libc::CPU_EQUAL(&own, &all) },
            _ => true,
        }
    }

    pub(super) fn unpin() {
        if let Some(all) = of_process()
            && !is_process_wide()
        {
            // If the system refuses, the thread stays where it is.
            // SAFETY: the set is initialized, and has the size that is given.
            let _ = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const all) };
        }
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod system {
    pub(super) fn is_process_wide() -> bool {
        true
    }

    pub(super) fn unpin() {}
}
