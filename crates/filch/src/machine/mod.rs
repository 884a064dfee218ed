//! What the system gives, to whatever runs on it: processors and their time, processes, threads, signals.
//!
//! Invariant: what the system does not say, or cannot do, is no limit and no error, except where a file says otherwise.

pub(crate) mod cgroup_quota;
#[cfg(all(test, target_os = "linux", not(miri)))]
pub(crate) mod described;
pub(crate) mod leaked;
pub(crate) mod made_once;
pub(crate) mod monitor;
pub(crate) mod process;
pub(crate) mod processors;
pub(crate) mod signals;
pub(crate) mod thread;
pub(crate) mod thread_stack;
pub(crate) mod topology;
