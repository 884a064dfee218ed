//! Jobs that are made first and pushed later, as in the source: created, perhaps with children, and then kicked.
//!
//! For interfaces in other languages. In Rust, [`JobWorker::start`] does both at once, so no job can be forgotten.
//!
//! Invariant: a job that has been created is unfinished until it has been kicked and run.

use filch_queue::Task;

use super::{Job, JobWorker};

/// Makes a job without pushing it: a child of `parent`, or else of the current job.
///
/// # Safety
/// * The job is [kicked](kick) once, by a worker of this run.
/// * The parent is the current job, one of its ancestors, or a job that has been created and not yet kicked.
///
/// # Panics
/// As [`JobWorker::spawn`].
pub unsafe fn create<'s, 'env: 's>(
    worker: &mut JobWorker<'s, 'env>,
    parent: Option<Job<'s>>,
    work: impl FnOnce(&mut JobWorker<'s, 'env>) + Send + 's,
) -> Job<'s> {
    let parent = parent.map_or(worker.current, |job| job.kin);
    // The parent is unfinished, so it can be counted for.
    worker.add_to(parent, 1);
    worker.make(parent, work, true)
}

/// Pushes jobs for this worker or thieves.
///
/// # Safety
/// They have been [created](create) in this run, and never kicked.
pub unsafe fn kick<'s>(worker: &mut JobWorker<'s, '_>, jobs: impl IntoIterator<Item = Job<'s>>) {
    let mut tasks = std::mem::take(&mut worker.batch);
    tasks.extend(jobs.into_iter().map(|job| Task::from_ptr(job.kin.place())));
    worker.queue.push_all(&mut tasks);
    worker.batch = tasks;
}
