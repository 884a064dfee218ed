//! Jobs: a closure on its way to becoming a result, wherever its [memory](crate::slot) lies.
//!
//! Behind a job's front lies a [`Storage`], which holds the work, later the result or the payload of a panic. A slot has
//! room for 48 bytes of it; a job on a frame or on the heap has storage of the size that it needs at the same place.
//!
//! What must always hold: a job is run at most once, by whoever the queue or the state word made entitled to it; and
//! whoever runs it moves the work out before calling it, and leaves a result or a payload there.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::front::Popped;
use crate::here::{Here, Known};
use crate::protocol::state::Settled;
use crate::slot::{Job, Slot};
use crate::unwind::Payload;

/// Runs the work of a job on a worker other than the one that forked it, and leaves the result, or the payload of its
/// panic, in the storage; returns whether it panicked.
type RunFn = unsafe fn(job: NonNull<Job>, here: Here<'_>) -> bool;

/// What a job carries.
union Storage<B, R> {
    work: ManuallyDrop<B>,
    result: ManuallyDrop<R>,
    payload: ManuallyDrop<Payload>,
}

/// A job with its storage.
#[repr(C)]
pub(crate) struct Record<B, R> {
    job: Job,
    storage: UnsafeCell<Storage<B, R>>,
}

/// Whether a job with this work and result fits a slot.
pub(crate) const fn fits<B, R>() -> bool {
    size_of::<Record<B, R>>() <= size_of::<Slot>() && align_of::<Record<B, R>>() <= align_of::<Slot>()
}

/// Work in one of the two styles: what is forked.
pub trait Body: Sized {
    type Out;

    /// What it must know of the pool of whoever runs it.
    type In: Known;

    /// Runs on the worker that forked it, nested in the fork, which has told by [`raise`](Body::raise) or [`lower`](Body::lower) where.
    fn inline(self, here: Here<'_, Self::In>) -> Self::Out;

    /// Runs on a thief. Nobody has told.
    fn stolen(self, here: Here<'_, Self::In>) -> Self::Out;

    /// Before a body like this runs inline, above what has been forked: whatever remembers the head is told, as closure style asks.
    #[inline(always)]
    fn raise(here: &Here<'_, Self::In>) {
        here.front().raise_head(here.head());
    }

    /// Before a fork of this body here is popped: the same.
    #[inline(always)]
    fn lower(here: &Here<'_, Self::In>) {
        here.front().lower_head(here.head());
    }

    /// Whether this is a branch in a function that `#[inline_recursion]` has unrolled.
    const UNROLLED: bool = false;

    /// Whether a thread outside of all pools may fork this body.
    const MAY_BE_OUTSIDE: bool = false;

    /// Whether this body is run even if its fork's other branch has panicked and nobody has started it.
    const ALWAYS_RUN: bool = false;

    /// As [`Body::inline`], on a worker to which the whole fork has moved from outside of all pools.
    #[inline(always)]
    fn moved(self, here: Here<'_, Self::In>) -> Self::Out {
        self.inline(here)
    }

    /// Joins with `b` from outside.
    fn outside<B: Body<In = Self::In>>(self, _: B) -> (Self::Out, B::Out) {
        unreachable!("who has a handle is a worker")
    }
}

/// Whether `F` is a closure that `#[inline_recursion]` has marked, by letting it capture nothing with the alignment of
/// `u128`. Other closures that need such an alignment are taken for marked, which can cost time only.
pub(crate) const fn is_unrolled<F>() -> bool {
    align_of::<F>() >= align_of::<u128>()
}

impl<B: Body> Record<B, B::Out> {
    pub(crate) fn new(work: B) -> Self {
        let storage = UnsafeCell::new(Storage { work: ManuallyDrop::new(work) });
        Self { job: Job::new(run::<B> as RunFn as *mut ()), storage }
    }

    pub(crate) fn job(&self) -> NonNull<Job> {
        // The pointer is to the whole record, whose storage is reached through it.
        NonNull::from(self).cast()
    }
}

/// Moves `work` into a slot.
///
/// # Safety
/// `slot` is the current worker's and holds no live job.
#[inline(always)]
pub(crate) unsafe fn write<B: Body>(slot: *mut Slot, work: B) {
    // Not a constant assertion: that would be evaluated in the branches not taken for what does not fit, too.
    assert!(const { fits::<B, B::Out>() }, "the work or its result is too large for a slot");
    // SAFETY: the slot is the caller's, and the work fits behind its job.
    unsafe {
        let job = NonNull::new_unchecked(slot).cast::<Job>();
        storage::<B, B::Out>(job).cast::<B>().write(work);
        job.as_ref().set_run(run::<B> as RunFn as *mut ());
    }
}

/// Where the storage of a job lies.
#[inline(always)]
fn storage<B, R>(job: NonNull<Job>) -> *mut Storage<B, R> {
    let offset = const { std::mem::offset_of!(Record<B, R>, storage) };
    job.as_ptr().cast::<u8>().wrapping_add(offset).cast()
}

/// Runs a job that was won; whether it panicked.
///
/// # Safety
/// `job` holds work, and the caller is the only one entitled to run it; here is a worker of the pool in which it was forked.
#[inline]
pub(crate) unsafe fn call(job: NonNull<Job>, here: Here<'_>) -> bool {
    // SAFETY: the job is alive: it holds work.
    let run = unsafe { job.as_ref() }.run();
    // SAFETY: `write` or `Record::new` stored a `RunFn` before the job was published.
    let run = unsafe { std::mem::transmute::<*mut (), RunFn>(run) };
    // SAFETY: a `RunFn` demands what the caller promises, and it is that of this job.
    unsafe { run(job, here) }
}

/// The [`RunFn`] of a job that holds a `B`.
///
/// # Safety
/// As [`call`]; and the work is a `B`.
unsafe fn run<B: Body>(job: NonNull<Job>, here: Here<'_>) -> bool {
    let storage = storage::<B, B::Out>(job);
    // SAFETY: the caller is entitled to the work, which is moved out once, here.
    let work = ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage).work) });
    // SAFETY: a task never leaves its pool, whose type it knew when it was forked.
    let here = unsafe { here.known::<B::In>() };
    match catch_unwind(AssertUnwindSafe(|| work.stolen(here))) {
        Ok(result) => {
            // SAFETY: the storage is this thread's until it settles the state.
            unsafe { (&raw mut (*storage).result).write(ManuallyDrop::new(result)) };
            false
        }
        Err(payload) => {
            // SAFETY: the storage is this thread's until it settles the state.
            unsafe { (&raw mut (*storage).payload).write(ManuallyDrop::new(payload)) };
            true
        }
    }
}

/// Moves the work back out of a job that nobody ran.
///
/// # Safety
/// `job` holds a `B`, and the caller alone is entitled to it.
#[inline(always)]
pub(crate) unsafe fn take_work<B: Body>(job: NonNull<Job>) -> B {
    // SAFETY: the work is there, and the caller's.
    ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage::<B, B::Out>(job)).work) })
}

/// What is left of a job that was forked, and is its forker's again.
pub(crate) enum Contents<B: Body> {
    /// Nobody has run it.
    Unrun(B),
    Done(B::Out),
    Panicked(Payload),
}

impl<B: Body> Contents<B> {
    /// Moves it out.
    ///
    /// # Safety
    /// It is what the job, which held a `B`, was popped as, and is moved out once.
    #[inline(always)]
    pub(crate) unsafe fn of((job, settled): Popped) -> Self {
        let storage = storage::<B, B::Out>(job);
        // SAFETY: whoever settled the job left in the storage what the settled state says, and nobody else is entitled to it.
        unsafe {
            match settled {
                Settled::Unrun => Self::Unrun(take_work(job)),
                Settled::Done => Self::Done(ManuallyDrop::into_inner(std::ptr::read(&raw const (*storage).result))),
                Settled::Panicked => {
                    Self::Panicked(ManuallyDrop::into_inner(std::ptr::read(&raw const (*storage).payload)))
                }
            }
        }
    }
}
