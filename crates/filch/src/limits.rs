//! What a pool has by default: how many workers, and how much address space.
//!
//! What must always hold: where the address space is limited, one pool leaves most of it to the rest of the program.

use crate::protocol::state::MAX_WORKERS;

/// The stack of each worker thread unless [`Builder::stack_size`](crate::Builder::stack_size) says otherwise, or the address space is
/// limited: reserved, not committed.
pub const DEFAULT_STACK_SIZE: usize = 64 << 20;

/// The smallest stack that a worker thread has, whatever [`Builder::stack_size`](crate::Builder::stack_size) says: enough for the
/// scheduler itself.
pub const MIN_STACK_SIZE: usize = 64 << 10;

/// The number of tasks for which each worker's task stack has room unless
/// [`Builder::deque_capacity`](crate::Builder::deque_capacity) says otherwise, or the address space is too small: 64 MiB of reserved
/// address space, committed as it is used.
pub const DEFAULT_DEQUE_CAPACITY: usize = 1 << 20;

/// Of a default that each of so many workers has, as much as a pool may take where the address space is limited, but at least `least`.
pub(crate) fn modest(default: usize, workers: usize, least: usize) -> usize {
    /// The part of the address space that all workers may take together.
    const SHARE: usize = 8;
    system::address_space().map_or(default, |bytes| default.min((bytes / SHARE / workers.max(1)).max(least)))
}

// Miri does not know the call.
#[cfg(all(unix, not(miri)))]
mod system {
    /// The size of the address space, if it is limited.
    pub(super) fn address_space() -> Option<usize> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the pointer is to a limit of this frame.
        let outcome = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
        (outcome == 0 && limit.rlim_cur != libc::RLIM_INFINITY)
            .then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
    }
}

#[cfg(not(all(unix, not(miri))))]
mod system {
    pub(super) fn address_space() -> Option<usize> {
        None
    }
}

/// The stack of each of so many workers for which none was asked.
pub(crate) fn default_stack_size(workers: usize) -> usize {
    modest(DEFAULT_STACK_SIZE, workers, 1 << 20)
}

/// The number of workers of a pool for which none was given.
pub(crate) fn default_workers() -> usize {
    workers_of(|| std::thread::available_parallelism().map_or(1, Into::into))
}

/// As many workers as the environment says, or else there are processors.
pub(crate) fn workers_of(processors: fn() -> usize) -> usize {
    let asked = std::env::var("FILCH_WORKERS").ok().and_then(|value| value.parse().ok());
    asked.unwrap_or_else(processors).clamp(1, MAX_WORKERS)
}
