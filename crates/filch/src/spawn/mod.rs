//! Jobs that may outlive their spawner: in a scope, with a result that comes later, for idle workers, on every worker.
//!
//! Invariant: what a job borrows outlives the job.

pub(crate) mod broadcast;
pub(crate) mod low_priority;
pub(crate) mod scope;
pub(crate) mod submit;
