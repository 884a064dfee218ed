//! A handle to a job, by which others ask whether it is over.
//!
//! Invariant: a handle does not outlive the run whose job it names.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::blocks::Kin;

/// A handle to a job of the run `'s`, to wait for it.
///
/// Any holder can ask whether the job is over; its ancestors can wait for it with
/// [`JobWorker::wait`](super::JobWorker::wait).
///
/// ```compile_fail
/// use filch::jobs::{Job, Jobs};
///
/// // A handle cannot leave its run,
/// let job = Jobs::new(1).run(|w| w.start(|_| ())).result;
/// ```
///
/// ```compile_fail
/// # use filch::jobs::{Job, Jobs};
/// // nor can another run's workers wait for it.
/// Jobs::new(1).run(|w| {
///     let job = w.start(|_| ());
///     Jobs::new(1).run(|other| other.wait(job));
/// });
/// ```
pub struct Job<'s> {
    pub(super) kin: NonNull<Kin>,
    pub(super) life: u32,
    /// Invariant, so that runs cannot be confused.
    pub(super) run: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: it gives access only to atomics, which stay as long as the run's jobs do.
unsafe impl Send for Job<'_> {}
// SAFETY: a shared handle gives access to the same atomics.
unsafe impl Sync for Job<'_> {}

impl Clone for Job<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Job<'_> {}

impl PartialEq for Job<'_> {
    /// Whether both are the same job.
    fn eq(&self, other: &Self) -> bool {
        (self.kin, self.life) == (other.kin, other.life)
    }
}

impl Eq for Job<'_> {}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("is_over", &self.is_over()).finish_non_exhaustive()
    }
}

impl Job<'_> {
    /// Whether the job and all its descendants are over: run, or dropped because the run was stopped. `false` may be
    /// out of date at once; after `true`, their effects are visible.
    ///
    /// ```
    /// filch::jobs::Jobs::new(1).run(|w| {
    ///     let job = w.start(|w| w.spawn(|_| ()));
    ///     assert!(!job.is_over());
    ///     w.wait(job);
    ///     assert!(job.is_over());
    /// });
    /// ```
    #[inline]
    pub fn is_over(&self) -> bool {
        self.kin().is_over(self.life)
    }

    pub(super) fn kin(&self) -> &Kin {
        // SAFETY: the blocks and the root stay until the run is over, and `'s` does not outlive the run's jobs.
        unsafe { self.kin.as_ref() }
    }
}
