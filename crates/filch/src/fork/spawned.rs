//! Jobs that may outlive their spawner: closures on the heap, one word each.
//!
//! Invariant: a [`Spawned`] is run exactly once, and its borrows outlive the run; its maker ensures the latter by
//! waiting.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use filch_queue::Task;

use crate::fork::recycled::{allocate, free};
use crate::unwind::abort_on_panic;

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

/// A capture of a job. The capture's borrows may end with the job's last act, before the job returns.
///
/// Until a closure's call returns, Rust assumes that its captured references are valid, and the compiler may read
/// through them, except for captures in a `MayDangle`. The value must be taken out: dropping a `MayDangle` leaks it.
///
/// ```
/// use filch::inside::host::MayDangle;
///
/// let numbers = vec![1, 2];
/// let captured = MayDangle::new(&numbers);
/// let job = move || captured.into_inner().len();
/// assert_eq!(job(), 2);
/// ```
#[derive(Debug)]
#[must_use = "its value leaks"]
pub struct MayDangle<T>(MaybeUninit<T>);

impl<T> MayDangle<T> {
    /// Wraps a capture.
    pub fn new(captured: T) -> Self {
        Self(MaybeUninit::new(captured))
    }

    /// Takes the capture out, while its borrows are alive.
    pub fn into_inner(self) -> T {
        // SAFETY: `new` initialized the value, and nothing else makes or empties a `MayDangle`.
        unsafe { self.0.assume_init() }
    }
}

/// A spawned job. It must be run: dropping it leaks.
#[must_use]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Spawned(NonNull<Header>);

// SAFETY: `new` takes work that is `Send`.
unsafe impl Send for Spawned {}

impl Spawned {
    /// # Safety
    /// The borrows of `work` outlive its run, and `work` does not unwind.
    pub(crate) unsafe fn new<F: FnOnce() + Send>(work: F) -> Self {
        let place = allocate();
        // SAFETY: the place was allocated for this value.
        unsafe { place.write(Boxed { header: Header { run: run::<F> }, work }) };
        Self(place.cast())
    }

    pub(crate) fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// Runs the job. Workers use [`Here::run`](crate::fork::here::Here::run).
    ///
    /// # Safety
    /// Closure-style code on this thread has the exact head, as in a job.
    pub(crate) unsafe fn run(self) {
        // SAFETY: `new` allocated the job that this consumes.
        unsafe { (self.0.as_ref().run)(self.0) }
    }

    pub(crate) fn into_task(self) -> Task {
        Task::from_ptr(ManuallyDrop::new(self).0)
    }

    /// # Safety
    /// `task` comes from [`Spawned::into_task`], and is converted back once.
    pub(crate) unsafe fn from_task(task: Task) -> Self {
        Self(task.as_ptr())
    }
}

/// # Safety
/// `header` is the head of a `Boxed<F>` from [`allocate`], which this consumes.
unsafe fn run<F: FnOnce()>(header: NonNull<Header>) {
    // Frees the memory before the work runs, so that the next job can have it.
    // SAFETY: by the caller's promise.
    let Boxed { work, .. } = unsafe { free(header.cast::<Boxed<F>>()) };
    abort_on_panic("a job that nobody joins panicked", work);
}
