//! The defaults of a pool: the number of workers, and the address space they use.
//!
//! Invariant: where the address space is limited, a pool leaves most of it to the rest of the program.

use crate::build_error::BuildError;
use crate::environment::variable;
use crate::protocol::state::MAX_WORKERS;

/// The stack size of each worker thread, unless [`Builder::stack_size`](crate::Builder::stack_size) sets another or the
/// address space is limited. The space is reserved, not committed.
pub const DEFAULT_STACK_SIZE: usize = 64 << 20;

/// The smallest stack size of a worker thread, whatever [`Builder::stack_size`](crate::Builder::stack_size) sets:
/// enough for the scheduler itself.
pub const MIN_STACK_SIZE: usize = 64 << 10;

/// The smallest stack size of a worker thread that nobody has asked for.
pub(crate) const LEAST_STACK_SIZE: usize = 1 << 20;

/// A multiple of the size of a page, on every system.
#[cfg(all(unix, not(miri)))]
pub(crate) const LARGEST_PAGE: usize = 64 << 10;

/// The capacity of each worker's task stack, in tasks, unless
/// [`Builder::deque_capacity`](crate::Builder::deque_capacity) sets another or the address space is too small: 64 MiB
/// of reserved address space, committed on use.
pub const DEFAULT_DEQUE_CAPACITY: usize = 1 << 20;

/// Returns the default for each of `workers` workers, reduced where the address space is limited, but at least `least`.
pub(crate) fn modest(default: usize, workers: usize, least: usize) -> usize {
    /// The fraction of the address space for all workers together, inverted.
    const SHARE: usize = 8;
    system::address_space().map_or(default, |bytes| default.min((bytes / SHARE / workers.max(1)).max(least)))
}

// Miri does not know the call.
#[cfg(all(unix, not(miri)))]
mod system {
    /// Returns the size of the address space, if it is limited.
    pub(super) fn address_space() -> Option<usize> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the pointer is to a limit in this frame.
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

/// Returns the default stack size of each of `workers` workers.
pub(crate) fn default_stack_size(workers: usize) -> usize {
    modest(DEFAULT_STACK_SIZE, workers, LEAST_STACK_SIZE)
}

/// Returns the number of workers that the environment sets.
pub(crate) fn workers_by_environment() -> Result<Option<usize>, BuildError> {
    const NAME: &str = "FILCH_WORKERS";
    let Some(value) = variable(NAME)? else { return Ok(None) };
    match value.parse() {
        Ok(workers @ 1..=MAX_WORKERS) => Ok(Some(workers)),
        _ => {
            let why = format!("it must be a number of workers, from 1 to {MAX_WORKERS}");
            Err(BuildError::Variable { name: NAME, value, why })
        }
    }
}
