//! Forks: jobs and their memory, the head of a task stack, and the fast path of a push and a pop.
//!
//! A [`front`] is what the fast path sees of a worker, and [`here`] is the capability to fork at its head. The rest of
//! the worker, of which this folder knows nothing, is behind the pointers of its front.
//!
//! Invariant: a job is run once or taken back once, and a fork ends before its frame does.

pub(crate) mod cold_call;
pub(crate) mod fast_path;
pub(crate) mod front;
pub(crate) mod here;
pub(crate) mod job;
pub(crate) mod off_stack;
pub(crate) mod own;
pub(crate) mod recycled;
pub(crate) mod slot;
pub(crate) mod spawned;
