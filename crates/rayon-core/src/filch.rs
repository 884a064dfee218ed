//! The features of filch that rayon-core lacks, for programs that depend on this package by name.
//!
//! No program that uses only rayon's interface can clash with this module. A program that should still build with the
//! published rayon-core must do without it.

use crate::ThreadPoolBuilder;
use crate::private::Sealed;
use crate::registry::started_global;
use crate::settings;

/// Lets threads from outside run their calls themselves.
///
/// By default, as with rayon, a call from outside runs only on the pool's threads, and the caller sleeps. Where callers
/// work, a thread that calls [`install`](crate::ThreadPool::install), [`join`](crate::join()),
/// [`scope`](crate::scope()) or a parallel iterator takes the place of a sleeping thread of the pool, with its
/// [number](crate::current_thread_index), and runs the call itself, while the others help as usual. The gain is
/// latency: a short call takes a fraction of a microsecond, not tens of microseconds, since no thread falls asleep and
/// wakes. A caller that finds no thread asleep hands its call in.
///
/// The call's tasks, and others' tasks that it runs while it waits, can then tell the difference:
///
/// * Thread-local variables are the caller's. If the caller has borrowed one around the call, as by
///   [`with_borrow_mut`](std::thread::LocalKey::with_borrow_mut), a task that borrows it again panics. A value that a
///   task sets stays there.
/// * So are an allocator's arena or cache, and all else that belongs to a thread, such as its name and priority.
///   Anything that a [start handler](ThreadPoolBuilder::start_handler) has prepared is missing.
/// * The stack is the rest of the caller's, and not 64 MiB. A caller with less than 1.75 MiB left hands its call in.
/// * A lock that the caller holds around the call is held by the thread that runs the tasks.
///
/// There are three ways to ask for it: this trait, for one pool; the feature `callers-work`, for the global pool, if it
/// has at least two threads, no names, no stack size, no start, exit or spawn handler, and does not use the current
/// thread; and `FILCH_CALLER=1` in the environment, for every pool. `FILCH_CALLER` overrides this trait, and this trait
/// overrides the feature.
///
/// ```
/// use rayon_core::filch::CallersWork;
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).callers_work(true).build()?;
/// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub trait CallersWork {
    #[doc(hidden)]
    fn sealed(_: Sealed);

    /// Sets whether threads from outside run their calls into the pool themselves.
    #[must_use]
    fn callers_work(self, work: bool) -> Self;
}

impl<S> CallersWork for ThreadPoolBuilder<S> {
    fn sealed(_: Sealed) {}

    fn callers_work(mut self, work: bool) -> Self {
        self.callers_work = Some(work);
        self
    }
}

/// Ends the global pool: runs all tasks that have been spawned in it, and joins its threads. The next call that needs
/// the pool starts them again, with their names, stacks and handlers. Returns whether the pool has no threads now,
/// which includes a pool that never started.
///
/// Call it at the end of `main` so that spawned tasks are done and no thread is left, as leak checkers and libraries
/// that are unloaded require. It waits until other threads' calls have ended. The memory of the pool stays, where a
/// leak checker finds it.
///
/// If the program is [recorded](crate), this writes the recording, and returns `false`: the thread stays.
///
/// It returns `false`, and ends nothing, if the pool was built with
/// [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler) or
/// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread): its threads are the program's.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// static DONE: AtomicU32 = AtomicU32::new(0);
/// rayon_core::spawn(|| _ = DONE.fetch_add(1, SeqCst));
/// assert!(rayon_core::filch::end_global());
/// assert_eq!(DONE.load(SeqCst), 1);
/// assert_eq!(rayon_core::join(|| 1, || 2), (1, 2), "again");
/// ```
///
/// # Panics
/// On a thread of the global pool, which would wait for itself. Also if a necessary thread cannot be started: one that
/// runs spawned tasks, or, if a thread of another pool calls this, one that waits while the caller runs its own pool's
/// tasks.
pub fn end_global() -> bool {
    let Some((registry, lease)) = started_global() else { return true };
    #[cfg(feature = "scale")]
    if registry.is_recorded() {
        wait_idle();
        filch::inside::host::ScaleFile::write();
        return false;
    }
    let (Some(ordinary), Some(threads), Some(lease)) = (&registry.ordinary, &registry.threads, lease) else {
        return false;
    };
    assert!(registry.current_index().is_none(), "a task cannot end the global pool, of which it is a part");
    // While tasks run, no thread leaves.
    lease.wait_until_last();
    registry.crew.end(threads, &|seat| ordinary.start(registry, seat), again)
}

/// Starts the threads of this process's global pool again, if it has ended.
fn again() {
    if let Some((registry, _)) = started_global()
        && let (Some(ordinary), Some(threads)) = (&registry.ordinary, &registry.threads)
    {
        registry.crew.start_again(threads, &|seat| ordinary.start(registry, seat));
    }
}

/// Waits until all tasks spawned in the global pool, and all tasks that these have spawned, have ended. A thread of
/// another pool runs its own pool's tasks meanwhile.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// static DONE: AtomicU32 = AtomicU32::new(0);
/// rayon_core::spawn(|| rayon_core::spawn(|| _ = DONE.fetch_add(1, SeqCst)));
/// rayon_core::filch::wait_idle();
/// assert_eq!(DONE.load(SeqCst), 1);
/// ```
///
/// # Panics
/// On a thread of the global pool, whose task would wait for itself.
pub fn wait_idle() {
    if let Some((registry, lease)) = started_global() {
        assert!(registry.current_index().is_none(), "a task cannot wait until its own pool is idle");
        let recorded = || settings::recorded().ok().flatten().map(|recorded| &recorded.lease);
        if let Some(lease) = lease.as_ref().or_else(recorded) {
            lease.wait_until_last();
        }
    }
}
