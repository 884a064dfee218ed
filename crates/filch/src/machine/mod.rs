//! What the system gives to a program: processors and their time, processes, threads, signals.
//!
//! Invariant: unless a file says otherwise, information that the system does not give is no limit, and an operation
//! that it does not offer is no error.

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
#[cfg(feature = "scale")]
pub(crate) mod thread_time;
pub(crate) mod topology;
