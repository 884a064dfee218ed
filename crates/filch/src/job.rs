//! Jobs: a closure on its way to becoming a result, and the slot it travels in.
//!
//! A [`Job`] is the fixed front of every such record: what to call, and the state word. Behind it lies a
//! [`Storage`], which holds the work, later the result or the payload of a panic. A [`Slot`] is a job with 48 bytes of
//! storage on a task stack; a job on a frame or on the heap has storage of the size that it needs at the same place.
//!
//! What must always hold: a job is run at most once, by whoever the queue or the state word made entitled to it; and
//! whoever runs it moves the work out before calling it, and leaves a result or a payload there.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::front::Front;
use crate::protocol::state::JobState;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs the work of a job on a worker other than the one that forked it, and leaves the result, or the payload of its
/// panic, in the storage; returns whether it panicked.
pub(crate) type RunFn = unsafe fn(job: NonNull<Job>, front: &Front, head: *mut Slot) -> bool;

/// The fixed front of a job.
#[repr(C)]
pub struct Job {
    /// A [`RunFn`]; null in a slot that has never been used. Written by the forking worker before the job is published; atomic so that the
    /// peak depth can be read off a stack while its owner works. Marked with [`FORGOTTEN`] to count as unused until the next job.
    run: <Native as Memory>::AtomicPtr<()>,
    pub(crate) state: JobState<Native>,
}

/// A bit that is clear in the addresses of all functions: of those the upper half belongs to the system.
const FORGOTTEN: usize = 1 << (usize::BITS - 1);

#[allow(clippy::disallowed_types, clippy::declare_interior_mutable_const, reason = "a constant initial value")]
const NULL_RUN: std::sync::atomic::AtomicPtr<()> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

impl Job {
    pub(crate) fn new(run: RunFn) -> Self {
        Self { run: Atomic::new(run as *mut ()), state: JobState::default() }
    }

    const fn unused() -> Self {
        Self { run: NULL_RUN, state: JobState::FRESH }
    }

    #[inline(always)]
    pub(crate) fn set_run(&self, run: RunFn) {
        // Relaxed: published by the queue's own edges.
        self.run.store(run as *mut (), Ordering::Relaxed);
    }

    /// Whether this slot has ever held a job since [`Job::forget_use`].
    pub(crate) fn was_used(&self) -> bool {
        // Relaxed: a statistic.
        let run = self.run.load(Ordering::Relaxed);
        !run.is_null() && run.addr() & FORGOTTEN == 0
    }

    /// Has the slot count as unused. Whatever job it holds stays what it is.
    pub(crate) fn forget_use(&self) {
        // Relaxed: a statistic.
        let run = self.run.load(Ordering::Relaxed);
        if !run.is_null() {
            // Relaxed: as above. If it fails, the slot is in use again.
            let forgotten = run.map_addr(|address| address | FORGOTTEN);
            let _ = self.run.compare_exchange(run, forgotten, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// # Safety
    /// * `job` holds work, and the caller is the only one entitled to run it.
    /// * `front` is a front of the current thread's worker, and no live job lies at or above `head` on its stack.
    #[inline]
    pub(crate) unsafe fn call(job: NonNull<Self>, front: &Front, head: *mut Slot) -> bool {
        // SAFETY: the job is alive: it holds work. Relaxed: written before the job was published.
        let run = unsafe { job.as_ref() }.run.load(Ordering::Relaxed).map_addr(|address| address & !FORGOTTEN);
        // SAFETY: `set_run` or `new` stored a `RunFn` before the job was published; `forget_use` adds nothing but the mark.
        let run = unsafe { std::mem::transmute::<*mut (), RunFn>(run) };
        // SAFETY: the caller's promises are those of a `RunFn`.
        unsafe { run(job, front, head) }
    }
}

/// What a job carries.
pub(crate) union Storage<B, R> {
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

/// One place of a task stack: a cache line.
#[repr(C, align(64))]
pub struct Slot {
    pub(crate) job: Job,
    bytes: UnsafeCell<[MaybeUninit<u64>; 6]>,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// Whether a job with this work and result fits a slot.
pub(crate) const fn fits<B, R>() -> bool {
    size_of::<Record<B, R>>() <= size_of::<Slot>() && align_of::<Record<B, R>>() <= align_of::<Slot>()
}

/// Work in one of the two styles: what is forked.
pub trait Body: Sized {
    type Out;

    /// Runs on the worker that forked it, nested in the fork.
    ///
    /// # Safety
    /// `front` is a front of the current thread's worker and no live job lies at or above `head` on its stack, of which
    /// [`raise`](Body::raise) or [`lower`](Body::lower) has told.
    unsafe fn inline(self, front: &Front, head: *mut Slot) -> Self::Out;

    /// Runs on a thief.
    ///
    /// # Safety
    /// As [`Body::inline`], but nobody has told.
    unsafe fn stolen(self, front: &Front, head: *mut Slot) -> Self::Out;

    /// Before a body like this runs inline at `head`, above what has been forked: whatever remembers the head is told.
    fn raise(front: &Front, head: *mut Slot);

    /// Before a fork of this body at `head` is popped: the same.
    fn lower(front: &Front, head: *mut Slot);

    /// Whether this is a branch in a function that `#[inline_recursion]` has unrolled.
    const UNROLLED: bool = false;

    /// Whether a thread outside of all pools may fork this body.
    const MAY_BE_OUTSIDE: bool = false;

    /// Whether this body is run even if its fork's other branch has panicked and nobody has started it.
    const ALWAYS_RUN: bool = false;

    /// As [`Body::inline`], on a worker to which the whole fork has moved from outside of all pools.
    ///
    /// # Safety
    /// As [`Body::inline`].
    #[inline(always)]
    unsafe fn moved(self, front: &Front, head: *mut Slot) -> Self::Out {
        // SAFETY: the caller's promise.
        unsafe { self.inline(front, head) }
    }

    /// Joins with `b` from outside.
    fn outside<B: Body>(self, _: B) -> (Self::Out, B::Out) {
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
        Self { job: Job::new(run::<B>), storage }
    }

    pub(crate) fn job(&self) -> NonNull<Job> {
        // The pointer is to the whole record, whose storage is reached through it.
        NonNull::from(self).cast()
    }
}

/// The [`RunFn`] of a [`Record`].
///
/// # Safety
/// As [`RunFn`]; `job` is the front of a `Record<B, B::Out>`.
pub(crate) unsafe fn run<B: Body>(job: NonNull<Job>, front: &Front, head: *mut Slot) -> bool {
    let storage = storage::<B, B::Out>(job);
    // SAFETY: the caller is entitled to the work, which is moved out once, here.
    let work = ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage).work) });
    // SAFETY: the caller's promise about `front` and `head`.
    match catch_unwind(AssertUnwindSafe(|| unsafe { work.stolen(front, head) })) {
        Ok(result) => {
            // SAFETY: the storage is this thread's until it settles the state.
            unsafe { (&raw mut (*storage).result).write(ManuallyDrop::new(result)) };
            false
        }
        Err(payload) => {
            // SAFETY: as above.
            unsafe { (&raw mut (*storage).payload).write(ManuallyDrop::new(payload)) };
            true
        }
    }
}

/// Where the storage of a job lies.
#[inline(always)]
pub(crate) fn storage<B, R>(job: NonNull<Job>) -> *mut Storage<B, R> {
    let offset = const { std::mem::offset_of!(Record<B, R>, storage) };
    job.as_ptr().cast::<u8>().wrapping_add(offset).cast()
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
        job.as_ref().set_run(run::<B>);
    }
}

impl Slot {
    /// A slot that holds nothing.
    pub(crate) const fn empty() -> Self {
        Self { job: Job::unused(), bytes: UnsafeCell::new([MaybeUninit::uninit(); 6]) }
    }

    /// Moves the contents of another slot here; the state stays.
    ///
    /// # Safety
    /// Both slots are the caller's.
    pub(crate) unsafe fn fill_from(&self, other: &Self) {
        // Relaxed: published by the queue's own edges.
        self.job.run.store(other.job.run.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { *self.bytes.get() = *other.bytes.get() };
    }
}

/// Moves the work back out of a job that nobody ran.
///
/// # Safety
/// `job` is the front of a `Record<B, R>` that holds work, and the caller alone is entitled to it.
#[inline(always)]
pub(crate) unsafe fn take_work<B, R>(job: NonNull<Job>) -> B {
    // SAFETY: the caller's promise.
    ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage::<B, R>(job)).work) })
}

/// Moves the result out of a job that is done.
///
/// # Safety
/// `job` is the front of a `Record<B, R>` whose thief has left a result there, and it has not been taken.
pub(crate) unsafe fn take_result<B, R>(job: NonNull<Job>) -> R {
    // SAFETY: the caller's promise.
    ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage::<B, R>(job)).result) })
}

/// Moves the payload out of a job that has panicked.
///
/// # Safety
/// `job` is the front of a `Record<B, R>` whose thief has left a payload there, and it has not been taken.
pub(crate) unsafe fn take_payload<B, R>(job: NonNull<Job>) -> Payload {
    // SAFETY: the caller's promise.
    ManuallyDrop::into_inner(unsafe { std::ptr::read(&raw const (*storage::<B, R>(job)).payload) })
}
