//! Errors of building a thread pool, with messages for users.

use std::fmt;
use std::io;

#[cfg(doc)]
use crate::pool::Split;
use crate::protocol::state::{MAX_DEPTH, MAX_WORKERS};
use crate::shared::policy::Wait;

/// Why a thread pool could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// There must be at least one worker, and at most [`MAX_WORKERS`](crate::MAX_WORKERS).
    Workers(usize),
    /// The pool has a lower limit: its queues keep state for each pair of workers, or are right for one worker only.
    Pairs {
        /// The number wanted.
        workers: usize,
        /// The largest possible number.
        most: usize,
    },
    /// Task stacks hold between 1 and [`MAX_TASK_CAPACITY`](crate::MAX_TASK_CAPACITY) tasks.
    Capacity(usize),
    /// The strategy needs a pool whose stolen tasks thieves can follow: [`Split`], [`Wool`](crate::pool::Wool) or
    /// [`PrivateStack`](crate::pool::PrivateStack).
    Wait(Wait),
    /// The settings contradict each other, for the reason given.
    Unfit(&'static str),
    /// An environment variable has an unusable value.
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong, as a clause.
        why: String,
    },
    /// There is a global pool already, perhaps because something has used it.
    GlobalExists,
    /// The interrupts' period is zero, or the system has no signals.
    Interrupts(io::Error),
    /// The address space for the task stacks could not be reserved.
    Reserve {
        /// Tasks per worker.
        capacity: usize,
        /// Workers.
        workers: usize,
        /// The system's error.
        source: io::Error,
    },
    /// A thread could not be started. Threads started before have ended.
    Thread {
        /// The number started.
        started: usize,
        /// The number wanted.
        workers: usize,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers(0) => f.write_str("a pool needs at least one worker"),
            Self::Workers(n) => write!(f, "{n} workers are too many; a pool has at most {MAX_WORKERS}"),
            Self::Pairs { workers, most: 1 } => {
                write!(f, "{workers} workers are too many: this pool's owner does not fence, so it must be alone")
            }
            Self::Pairs { workers, most } => write!(
                f,
                "{workers} workers are too many for queues that keep state for each pair of them; this pool has at most {most}"
            ),
            Self::Capacity(n) => write!(f, "a deque cannot hold {n} tasks; the capacity is between 1 and {MAX_DEPTH}"),
            Self::Wait(wait) => {
                write!(
                    f,
                    "this pool cannot wait by strategy '{wait}': thieves can follow tasks only in pools with a task stack"
                )
            }
            Self::Unfit(why) => f.write_str(why),
            Self::Variable { name, value, why } => write!(f, "{name}={value}: {why}"),
            Self::GlobalExists => f.write_str(
                "there is a global pool already: build it before the first use of `ThreadPool::global` or a free function",
            ),
            Self::Interrupts(source) => write!(f, "cannot interrupt the workers: {source}"),
            Self::Reserve { capacity, workers, source } => write!(
                f,
                "cannot reserve address space for {workers} task stacks of {capacity} tasks ({source}); \
                 lower the task capacity or raise the limit (ulimit -v)"
            ),
            Self::Thread { started, workers, source } => write!(
                f,
                "cannot start thread {} of {workers} ({source}); \
                 use fewer workers or smaller stacks, or raise the limits (ulimit -u, ulimit -v)",
                started + 1
            ),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Interrupts(source) | Self::Reserve { source, .. } | Self::Thread { source, .. } => Some(source),
            _ => None,
        }
    }
}
