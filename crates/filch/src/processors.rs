//! Which processors the process may use, those of its first thread; and which of them each worker is bound to that is to be pinned.
//!
//! A thread that a program has pinned passes that on to the threads that it starts, and sees no other processors. A pool that serves the
//! whole program must not depend on which of its threads happens to come first.

use std::io;
use std::marker::PhantomData;

use core_affinity::CoreId;

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

/// A processor for each worker that is to be pinned, of those that the thread may use that starts them; none by default. With more workers
/// than processors, some share one.
#[derive(Debug, Default)]
pub(crate) struct Deal(Vec<CoreId>);

impl Deal {
    /// Of the current thread's processors.
    ///
    /// # Errors
    /// What the system says, if they cannot be known here.
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        core_affinity::get_core_ids().map(Self).ok_or_else(io::Error::last_os_error)
    }

    /// That of a worker.
    pub(crate) fn to(&self, worker: usize) -> Option<CoreId> {
        self.0.get(worker % self.0.len().max(1)).copied()
    }
}

/// Has the current thread use one processor only.
///
/// # Errors
/// What the system says.
pub(crate) fn bind(processor: CoreId) -> io::Result<()> {
    if core_affinity::set_for_current(processor) { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The current thread uses one processor only, as long as this lives; afterwards those that it used before.
#[derive(Debug)]
pub(crate) struct Bound {
    /// `None`: it was bound so already, or cannot be.
    before: Option<system::Set>,
    /// It belongs to its thread.
    thread: PhantomData<*mut ()>,
}

impl Bound {
    /// Cost: a call of the system, if the thread is bound already; otherwise three, and perhaps the way to the other processor and back.
    pub(crate) fn to(processor: CoreId) -> Self {
        let before = system::before_binding(processor.id).filter(|_| bind(processor).is_ok());
        Self { before, thread: PhantomData }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            system::restore(&before);
        }
    }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod system {
    use std::mem::zeroed;

    pub(super) type Set = libc::cpu_set_t;

    /// Has the current thread use these processors. If the system refuses, it stays where it is.
    fn set(of: &Set) {
        // SAFETY: the set is initialized, and has the size that is given.
        let _ = unsafe { libc::sched_setaffinity(0, size_of::<Set>(), of) };
    }

    /// The thread's processors, unless it is bound to this one.
    pub(super) fn before_binding(processor: usize) -> Option<Set> {
        // SAFETY: the set is initialized, and the number came out of one.
        let is_bound = |own: &Set| unsafe { libc::CPU_ISSET(processor, own) && libc::CPU_COUNT(own) == 1 };
        affinity(0).filter(|own| !is_bound(own))
    }

    pub(super) fn restore(before: &Set) {
        // The process may have been taken processors away meanwhile.
        set(before);
    }

    /// The processors that a thread may use; 0 for the current one.
    fn affinity(thread: libc::pid_t) -> Option<Set> {
        // SAFETY: a set is plain data, for which all zeros are valid, and has the size that is given.
        unsafe {
            let mut set: Set = zeroed();
            (libc::sched_getaffinity(thread, size_of::<Set>(), &raw mut set) == 0).then_some(set)
        }
    }

    /// Those of the first thread, whose number is the process's.
    fn of_process() -> Option<Set> {
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
            set(&all);
        }
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod system {
    pub(super) type Set = ();

    pub(super) fn before_binding(_: usize) -> Option<Set> {
        None
    }

    pub(super) fn restore(&(): &Set) {}

    pub(super) fn is_process_wide() -> bool {
        true
    }

    pub(super) fn unpin() {}
}
