//! Teams of threads with a queue each, for tasks that nobody joins: worklists and jobs.
//!
//! Invariant: when a run returns or unwinds, no thread of its team uses the run's borrows any more.

pub mod jobs;
pub(crate) mod team;
pub(crate) mod worker_queue;
pub mod worklist;
