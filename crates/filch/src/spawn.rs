//! Jobs that outlive whoever made them: closures on the heap, one word each.
//!
//! What must always hold: a [`Spawned`] is run exactly once, and what it borrows outlives the run; who makes one sees to
//! that by waiting.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use filch_queue::Task;

use crate::front::{Enter, Front};
use crate::job::Slot;
use crate::unwind;

type RunSpawned = unsafe fn(NonNull<Header>, &Front, *mut Slot);

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
    pub(crate) unsafe fn new<F>(work: F) -> Self
    where
        F: FnOnce(&Front, *mut Slot) + Send,
    {
        let boxed = Box::new(Boxed { header: Header { run: run::<F> }, work });
        Self(NonNull::from(Box::leak(boxed)).cast())
    }

    /// Runs the job in closure style.
    ///
    /// # Safety
    /// `front` is a front of the current thread's worker, and no live job lies at or above `head` on its stack.
    pub(crate) unsafe fn run(self, front: &Front, head: *mut Slot) {
        let _enter = Enter::new(front, head);
        // SAFETY: `new` leaked the box that this consumes; the caller's promise is passed on.
        unsafe { (self.0.as_ref().run)(self.0, front, head) }
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
/// `header` is the front of a leaked `Boxed<F>`, which this consumes; `front` and `head` as in [`Spawned::run`].
unsafe fn run<F: FnOnce(&Front, *mut Slot)>(header: NonNull<Header>, front: &Front, head: *mut Slot) {
    // SAFETY: the caller's promise.
    let boxed = unsafe { Box::from_raw(header.cast::<Boxed<F>>().as_ptr()) };
    unwind::abort_on_panic("a job that nobody joins panicked", || (boxed.work)(front, head));
}
