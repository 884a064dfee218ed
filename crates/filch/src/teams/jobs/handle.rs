//! A handle to a job, by which others ask whether it is over.
//!
//! Invariant: a handle does not outlive the run whose job it names.

use std::fmt;

use super::blocks::KinPtr;

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
#[derive(PartialEq, Eq)]
pub struct Job<'s> {
    pub(super) kin: KinPtr<'s>,
    pub(super) life: u32,
}

impl Clone for Job<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Job<'_> {}

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
        self.kin.is_over(self.life)
    }
}
