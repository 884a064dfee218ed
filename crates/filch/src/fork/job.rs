//! Jobs: closures that become results, wherever their [memory](crate::fork::slot) is.
//!
//! A [`Storage`] follows a job's head. It holds the work, and later the result or the payload of a panic. A slot has 48
//! bytes of storage; a job on a frame has storage of the size that it needs, at the same offset.
//!
//! Invariant: a job runs at most once, on the worker to which the queue or the state word gave it; and that worker
//! moves the work out before the call, and leaves a result or a payload in the storage.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::fork::front::{Front, Popped};
use crate::fork::here::{Here, Known};
use crate::fork::slot::{Job, Slot};
use crate::protocol::state::Settled;
use crate::unwind::Payload;

/// Runs the work of a job for a thief, or for its forker before the join, here: at this front and head. Leaves the
/// result, or the payload of the panic, in the storage; returns whether the work panicked. Of the C ABI, because code
/// in [other languages](crate::host) forks, too.
type RunFn = unsafe extern "C" fn(job: NonNull<Job>, front: &Front, head: *mut Slot) -> bool;

/// The contents of a job.
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

/// Work that can be forked, in one of the two styles.
pub trait Body: Sized {
    type Out;

    /// What the work must know of the pool of the worker that runs it.
    type In: Known;

    /// Runs the work nested in its fork, on the forking worker. The fork has set the head by [`raise`](Body::raise) or
    /// [`lower`](Body::lower).
    fn inline(self, here: Here<'_, Self::In>) -> Self::Out;

    /// Runs the work as a thief does: nothing has set the head.
    fn stolen(self, here: Here<'_, Self::In>) -> Self::Out;

    /// Raises the remembered head, as closure style requires, before a body like this runs inline above a fork.
    #[inline(always)]
    fn raise(here: &Here<'_, Self::In>) {
        here.front().raise_head(here.head());
    }

    /// Lowers the remembered head before a fork of this body is popped here.
    #[inline(always)]
    fn lower(here: &Here<'_, Self::In>) {
        here.front().lower_head(here.head());
    }

    /// Whether this is a branch in a function that `#[inline_recursion]` has unrolled.
    const UNROLLED: bool = false;

    /// Whether a thread outside all pools may fork this body.
    const MAY_BE_OUTSIDE: bool = false;

    /// Whether this body runs even if its fork's other branch has panicked before anybody started this one.
    const ALWAYS_RUN: bool = false;

    /// As [`Body::inline`], on a worker to which the whole fork has moved from outside all pools.
    #[inline(always)]
    fn moved(self, here: Here<'_, Self::In>) -> Self::Out {
        self.inline(here)
    }

    /// Joins both bodies from outside all pools. They come as one value, so that only this value, and neither body
    /// itself, may have to be in memory.
    fn outside<B: Body<In = Self::In>>(_: (Self, B)) -> (Self::Out, B::Out) {
        unreachable!("only workers have handles")
    }
}

/// Whether `F` is a closure that `#[inline_recursion]` has marked, by letting it capture an empty value with the
/// alignment of `u128`. Other closures with such an alignment also count as marked, which can cost only time.
pub(crate) const fn is_unrolled<F>() -> bool {
    align_of::<F>() >= align_of::<u128>()
}

impl<B: Body> Record<B, B::Out> {
    pub(crate) fn new(work: B) -> Self {
        let storage = UnsafeCell::new(Storage { work: ManuallyDrop::new(work) });
        Self { job: Job::new(run::<B> as RunFn as *mut ()), storage }
    }

    pub(crate) fn job(&self) -> NonNull<Job> {
        // The pointer is to the whole record, so it also gives access to the storage.
        NonNull::from(self).cast()
    }
}

/// Moves `work` into a slot.
///
/// # Safety
/// `slot` is the current worker's, and holds no live job.
#[inline(always)]
pub(crate) unsafe fn write<B: Body>(slot: *mut Slot, work: B) {
    // Not a constant assertion, which would also be evaluated in branches not taken, for work that does not fit.
    assert!(const { fits::<B, B::Out>() }, "the work or its result is too large for a slot");
    // SAFETY: the slot is the caller's, and the work fits behind its job.
    unsafe {
        let job = NonNull::new_unchecked(slot).cast::<Job>();
        storage::<B, B::Out>(job).cast::<B>().write(work);
        job.as_ref().set_run(run::<B> as RunFn as *mut ());
    }
}

/// Returns the storage of a job.
#[inline(always)]
fn storage<B, R>(job: NonNull<Job>) -> *mut Storage<B, R> {
    let offset = const { std::mem::offset_of!(Record<B, R>, storage) };
    job.as_ptr().cast::<u8>().wrapping_add(offset).cast()
}

/// Runs a job that the caller has won; returns whether it panicked.
///
/// # Safety
/// `job` holds work, which only the caller may run; `here` is a worker of the pool in which the job was forked.
#[inline]
#[expect(clippy::needless_pass_by_value, reason = "the job uses it up")]
pub(crate) unsafe fn call(job: NonNull<Job>, here: Here<'_>) -> bool {
    // SAFETY: the job is alive, since it holds work.
    let run = unsafe { job.as_ref() }.run();
    // SAFETY: `write` or `Record::new` stored a `RunFn` before the job was published.
    let run = unsafe { std::mem::transmute::<*mut (), RunFn>(run) };
    // SAFETY: the function is this job's, and requires what the caller promises.
    unsafe { run(job, here.front(), here.head()) }
}

/// The [`RunFn`] of a job that holds a `B`.
///
/// # Safety
/// As for [`call`], whose `here` is at this front and head; and the work is a `B`.
unsafe extern "C" fn run<B: Body>(job: NonNull<Job>, front: &Front, head: *mut Slot) -> bool {
    let storage = storage::<B, B::Out>(job);
    // SAFETY: the work is the caller's, and is moved out once, here.
    let work = ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage).work) });
    // SAFETY: the caller's `here` is not used meanwhile; and a task never leaves its pool, whose type the fork knew.
    let here = unsafe { Here::new(front, head).known::<B::In>() };
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

/// Leaves an empty job in a slot whose contents have been moved out. Running it does nothing.
///
/// # Safety
/// The slot is the current worker's.
pub(crate) unsafe fn empty(slot: &Slot) {
    /// The [`RunFn`] of an empty job.
    unsafe extern "C" fn run(_: NonNull<Job>, _: &Front, _: *mut Slot) -> bool {
        false
    }
    slot.job.set_run(run as RunFn as *mut ());
}

/// Moves the work back out of a job that nobody ran.
///
/// # Safety
/// `job` holds a `B`, which is the caller's.
#[inline(always)]
pub(crate) unsafe fn take_work<B: Body>(job: NonNull<Job>) -> B {
    // SAFETY: the job holds the work, which is the caller's.
    ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage::<B, B::Out>(job)).work) })
}

/// The contents of a popped job.
pub(crate) enum Contents<B: Body> {
    /// Nobody has run it.
    Unrun(B),
    Done(B::Out),
    Panicked(Payload),
}

impl<B: Body> Contents<B> {
    /// Moves the contents out.
    ///
    /// # Safety
    /// `job` held a `B`, was popped with this settled state, and its contents are moved out once.
    #[inline(always)]
    pub(crate) unsafe fn of((job, settled): Popped) -> Self {
        let storage = storage::<B, B::Out>(job);
        // SAFETY: a job that nobody ran still holds its work; otherwise the thread that settled the job left in the
        // storage what the state says. No other thread may use the storage.
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
