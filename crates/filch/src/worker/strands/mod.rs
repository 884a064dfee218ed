//! The strands of a computation that one worker runs, and the series–parallel graph that they make: work and span. With
//! the feature `scale`.
//!
//! The graph is *logical*: it says what may run in parallel, not what did. A worker of the pool
//! [`Recorded`](crate::pool::Recorded) runs both branches of a fork itself, one after the other, and tells its thread's
//! [recorder] where strands end: at forks, at the ends of branches and jobs, where something is awaited. All other
//! pools run none of this on the paths of their forks.
//!
//! Invariant: a thread has a recorder only while it is a worker of that pool, and reports forks, jobs and waits nested.

pub(crate) mod calls;
mod current;
mod event;
mod log;
mod name;
mod recorder;
mod report;
mod tape;

pub use current::region;
pub use report::{Grain, Region, Scale};
pub use tape::Graph;

pub(crate) use calls::{call, call_ends, call_returns, spawns};
pub(crate) use current::{
    crowd, dropped, ended, fork, in_wait, is_on, is_stolen, joined, piece, queued, rest, second, spawned, start, take,
    took, work, workers,
};
pub(crate) use log::Log;
pub(crate) use recorder::{Clock, Recorder};

/// Runs the job at this address.
pub(crate) fn in_job<R>(job: usize, run: impl FnOnce() -> R) -> R {
    if let Some(outer) = calls::spawned_outside(job) {
        current::with(|recorder| recorder.spawned_at(job, outer));
    }
    current::in_job(job, run)
}
