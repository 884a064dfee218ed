//! Which processors the process may use: those of its first thread.
//!
//! A thread that a program has pinned passes that on to the threads that it starts, and sees no other processors. A pool that serves the
//! whole program must not depend on which of its threads happens to come first.

use std::io;
use std::marker::PhantomData;

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

/// The numbers of the processors that the current thread may use, in order.
///
/// # Errors
/// What the system says, if that cannot be known here.
pub(crate) fn of_this_thread() -> io::Result<Vec<usize>> {
    system::of_this_thread()
}

/// Has the current thread use one processor only, whose number [`of_this_thread`] gave on some thread of the process.
///
/// # Errors
/// What the system says.
pub(crate) fn bind(processor: usize) -> io::Result<()> {
    system::bind(processor)
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
    pub(crate) fn to(processor: usize) -> Self {
        let before = system::before_binding(processor).filter(|_| bind(processor).is_ok());
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
    use std::io;
    use std::mem::zeroed;

    pub(super) type Set = libc::cpu_set_t;

    fn set(of: &Set) -> io::Result<()> {
        // SAFETY: the set is initialized, and has the size that is given.
        match unsafe { libc::sched_setaffinity(0, size_of::<Set>(), of) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn has(set: &Set, processor: usize) -> bool {
        // SAFETY: the set is initialized, and the number below its size.
        unsafe { libc::CPU_ISSET(processor, set) }
    }

    pub(super) fn of_this_thread() -> io::Result<Vec<usize>> {
        let own = affinity(0).ok_or_else(io::Error::last_os_error)?;
        Ok((0..libc::CPU_SETSIZE as usize).filter(|&processor| has(&own, processor)).collect())
    }

    pub(super) fn bind(processor: usize) -> io::Result<()> {
        // SAFETY: a set is plain data, for which all zeros are valid; the number came out of one.
        let mut one: Set = unsafe { zeroed() };
        // SAFETY: as above.
        unsafe { libc::CPU_SET(processor, &mut one) };
        set(&one)
    }

    /// The thread's processors, unless it is bound to this one.
    pub(super) fn before_binding(processor: usize) -> Option<Set> {
        // SAFETY: the set is initialized.
        affinity(0).filter(|own| !(has(own, processor) && unsafe { libc::CPU_COUNT(own) } == 1))
    }

    pub(super) fn restore(before: &Set) {
        // The process may have been taken processors away meanwhile. If the system refuses, the thread stays where it is.
        let _ = set(before);
    }

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
            let _ = set(&all);
        }
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod system {
    use std::io;

    pub(super) type Set = ();

    pub(super) fn of_this_thread() -> io::Result<Vec<usize>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn bind(_: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn before_binding(_: usize) -> Option<Set> {
        None
    }

    pub(super) fn restore(&(): &Set) {}

    pub(super) fn is_process_wide() -> bool {
        true
    }

    pub(super) fn unpin() {}
}
