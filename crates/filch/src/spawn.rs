//! Jobs that outlive whoever made them: closures on the heap, one word each.
//!
//! What must always hold: a [`Spawned`] is run exactly once, and what it borrows outlives the run; who makes one sees to
//! that by waiting.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use filch_queue::Task;

use crate::unwind::{FirstPanic, abort_on_panic};

type RunSpawned = unsafe fn(NonNull<Header>);

#[repr(C)]
struct Header {
    run: RunSpawned,
}

#[repr(C)]
struct Boxed<F> {
    header: Header,
    work: F,
}

/// What a job captures that its last act lets go of: whoever waits for the job may drop what it borrows before the job has returned.
///
/// Until the call of a closure returns, Rust takes what its captured references point to for alive, and the compiler may read it; unless
/// they are in here. Must be taken out: dropping it leaks.
///
/// ```
/// use filch::host::MayDangle;
///
/// let numbers = vec![1, 2];
/// let captured = MayDangle::new(&numbers);
/// let job = move || captured.into_inner().len();
/// assert_eq!(job(), 2);
/// ```
#[derive(Debug)]
#[must_use = "what is in it leaks"]
pub struct MayDangle<T>(MaybeUninit<T>);

impl<T> MayDangle<T> {
    /// Puts it in.
    pub fn new(captured: T) -> Self {
        Self(MaybeUninit::new(captured))
    }

    /// Takes it out, while all that it borrows is alive.
    pub fn into_inner(self) -> T {
        // SAFETY: `new` has put it in, and there is no other way to make or to empty one.
        unsafe { self.0.assume_init() }
    }
}

/// A spawned job. Must be run: dropping it leaks.
#[must_use]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Spawned(NonNull<Header>);

// SAFETY: `new` takes work that is `Send`.
unsafe impl Send for Spawned {}

impl Spawned {
    /// # Safety
    /// What `work` borrows outlives its run, and `work` does not unwind.
    pub(crate) unsafe fn new<F: FnOnce() + Send>(work: F) -> Self {
        let boxed = Box::new(Boxed { header: Header { run: run::<F> }, work });
        Self(NonNull::from(Box::leak(boxed)).cast())
    }

    /// A job for a task that nobody waits for.
    pub(crate) fn detached(task: impl FnOnce() + Send + 'static) -> Self {
        // SAFETY: the task borrows nothing, and the job does not unwind. The panic hook has told the user already.
        unsafe {
            Self::new(move || {
                FirstPanic::default().catch(task);
            })
        }
    }

    /// Runs the job. Where a worker has found it, that is [`Here::run`](crate::here::Here::run).
    ///
    /// # Safety
    /// Closure-style code on this thread has the exact head, as in a job.
    pub(crate) unsafe fn run(self) {
        // SAFETY: `new` leaked the box that this consumes.
        unsafe { (self.0.as_ref().run)(self.0) }
    }

    pub(crate) fn into_task(self) -> Task {
        Task::from_ptr(ManuallyDrop::new(self).0)
    }

    /// # Safety
    /// `task` comes from [`Spawned::into_task`], and is turned back once.
    pub(crate) unsafe fn from_task(task: Task) -> Self {
        Self(task.as_ptr())
    }
}

/// # Safety
/// `header` is the front of a leaked `Boxed<F>`, which this consumes.
unsafe fn run<F: FnOnce()>(header: NonNull<Header>) {
    // SAFETY: leaked, and consumed here, by the caller's promise.
    let boxed = unsafe { Box::from_raw(header.cast::<Boxed<F>>().as_ptr()) };
    abort_on_panic("a job that nobody joins panicked", boxed.work);
}
