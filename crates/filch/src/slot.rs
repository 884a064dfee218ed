//! The memory of a job: its fixed front, and the slot of a task stack in which it travels.
//!
//! A [`Job`] is the front of every record of work: what to call, and the state word. Behind it lies its storage, which holds
//! the work, later the result or the payload of a panic: see [`job`](crate::job). A [`Slot`] is a job with 48 bytes of storage.
//!
//! What must always hold: zeroed memory is a slot that has never held a job.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::protocol::state::JobState;

/// The fixed front of a job.
#[repr(C)]
pub struct Job {
    /// The function that runs it; null in a slot that has never held a job. Written by the forking worker before the job is published;
    /// atomic so that the peak depth can be read off a stack while its owner works.
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
        // Relaxed: published by the queue's own edges.
        self.run.store(run, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn run(&self) -> *mut () {
        // Relaxed: written before the job was published, to whoever has won it.
        self.run.load(Ordering::Relaxed)
    }

    /// Has this, which is no job at present, count as never used.
    pub(crate) fn was_never_used(&self) {
        // Relaxed: a statistic.
        self.run.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Whether this has ever been a job.
    pub(crate) fn was_used(&self) -> bool {
        // Relaxed: a statistic.
        !self.run.load(Ordering::Relaxed).is_null()
    }
}

/// One place of a task stack: a cache line.
#[repr(C, align(64))]
pub struct Slot {
    pub(crate) job: Job,
    bytes: UnsafeCell<[MaybeUninit<u64>; 6]>,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    /// A slot that holds nothing.
    pub(crate) const fn empty() -> Self {
        Self { job: Job::unused(), bytes: UnsafeCell::new([MaybeUninit::uninit(); 6]) }
    }

    /// Moves the contents of another slot here; the state stays.
    ///
    /// # Safety
    /// Nobody else uses the contents of either slot meanwhile.
    pub(crate) unsafe fn fill_from(&self, other: &Self) {
        self.job.set_run(other.job.run());
        // SAFETY: both contents are the caller's alone, by its promise, and bytes of any value may be copied.
        unsafe { *self.bytes.get() = *other.bytes.get() };
    }
}
