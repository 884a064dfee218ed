//! The memory of a job: its fixed head, and its slot on a task stack.
//!
//! A [`Job`] is the head of every record of work: the function to call, and the state word. Its storage follows, which
//! holds the work, and later the result or the payload of a panic: see [`job`](crate::fork::job). A [`Slot`] is a job
//! with 48 bytes of storage.
//!
//! Invariant: zeroed memory is a slot that has never held a job.

use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::protocol::state::JobState;

/// The fixed head of a job's record.
#[repr(C)]
pub struct Job {
    /// The function that runs the job; null in a slot that has never held a job; the next slot in a spare one. The
    /// forking worker writes it before it publishes the job. It is atomic so that other threads can read the peak depth
    /// off a stack while its owner works.
    run: <Native as Memory>::AtomicPtr<()>,
    pub(crate) state: JobState<Native>,
}

#[allow(clippy::disallowed_types, clippy::declare_interior_mutable_const, reason = "a constant initial value")]
const NULL_RUN: std::sync::atomic::AtomicPtr<()> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

impl Job {
    pub(crate) fn new(run: *mut ()) -> Self {
        Self { run: Atomic::new(run), state: JobState::default() }
    }

    const fn unused() -> Self {
        Self { run: NULL_RUN, state: JobState::FRESH }
    }

    #[inline(always)]
    pub(crate) fn set_run(&self, run: *mut ()) {
        // Relaxed: the queue's own edges publish it.
        self.run.store(run, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn run(&self) -> *mut () {
        // Relaxed: it was written before the job was published to its winner.
        self.run.load(Ordering::Relaxed)
    }

    /// Marks this slot, which holds no job, as never used.
    pub(crate) fn was_never_used(&self) {
        // Relaxed: a statistic.
        self.run.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Whether this has ever held a job.
    pub(crate) fn was_used(&self) -> bool {
        // Relaxed: a statistic.
        !self.run.load(Ordering::Relaxed).is_null()
    }
}

/// One slot of a task stack: a cache line.
#[repr(C, align(64))]
pub struct Slot {
    pub(crate) job: Job,
    bytes: UnsafeCell<[MaybeUninit<u64>; 6]>,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    /// The offset of the function that runs the job.
    pub(crate) const RUN: usize = offset_of!(Self, job) + offset_of!(Job, run);
    /// The offset of the state word.
    pub(crate) const STATE: usize = offset_of!(Self, job) + offset_of!(Job, state);
    /// The offset of the storage.
    pub(crate) const ROOM: usize = offset_of!(Self, bytes);

    /// An empty slot.
    pub(crate) const fn empty() -> Self {
        Self { job: Job::unused(), bytes: UnsafeCell::new([MaybeUninit::uninit(); 6]) }
    }

    /// Sets the slot that follows this one in its owner's list of spare slots. Only the owner reads it.
    #[inline(always)]
    pub(crate) fn set_next_spare(&self, next: Option<NonNull<Self>>) {
        self.job.set_run(next.map_or(std::ptr::null_mut(), |next| next.as_ptr().cast()));
    }

    /// Returns the slot that [was set](Self::set_next_spare).
    #[inline(always)]
    pub(crate) fn next_spare(&self) -> Option<NonNull<Self>> {
        NonNull::new(self.job.run().cast())
    }

    /// Moves the contents of another slot here, except its state.
    ///
    /// # Safety
    /// No other thread uses the contents of either slot meanwhile.
    pub(crate) unsafe fn fill_from(&self, other: &Self) {
        self.job.set_run(other.job.run());
        // SAFETY: by the caller's promise no other thread uses the contents, and bytes of any value may be copied.
        unsafe { *self.bytes.get() = *other.bytes.get() };
    }
}
