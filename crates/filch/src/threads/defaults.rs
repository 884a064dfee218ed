//! The defaults of a pool: the number of workers, and the address space they use.
//!
//! Invariant: where the address space is limited, a pool leaves most of it to the rest of the program; and where
//! reserved space is locked into memory, it reserves little.

use crate::protocol::state;
use crate::threads::{environment::variable, error::BuildError};

/// The stack size of each worker thread, unless [`Builder::stack_size`](crate::Builder::stack_size) sets another or the
/// address space is limited. The space is reserved, not committed. The default is 2 MiB if the process locks reserved
/// space into memory, by `mlockall(MCL_FUTURE)`, before it makes the pool.
pub const DEFAULT_STACK_SIZE: usize = 64 << 20;

/// The smallest stack size of a worker thread, whatever [`Builder::stack_size`](crate::Builder::stack_size) sets:
/// enough for the scheduler itself.
pub const MIN_STACK_SIZE: usize = 64 << 10;

/// The default stack size where reserved space is locked into memory: that of the standard library.
const LOCKED_STACK_SIZE: usize = 2 << 20;

/// As [`DEFAULT_TASK_CAPACITY`], where reserved space is locked into memory.
pub(crate) const LOCKED_TASK_CAPACITY: usize = DEFAULT_TASK_CAPACITY >> 6;

/// The smallest default stack size of a worker thread.
pub(crate) const LEAST_STACK_SIZE: usize = 1 << 20;

/// The capacity of each worker's task stack, in tasks, unless [`Builder::task_capacity`](crate::Builder::task_capacity)
/// sets another or the address space is too small: 64 MiB of reserved address space, committed on use. Where reserved
/// space is locked into memory, the default is a 64th of that: see [`DEFAULT_STACK_SIZE`].
pub const DEFAULT_TASK_CAPACITY: usize = 1 << 20;

/// The largest number of workers of a pool.
pub const MAX_WORKERS: usize = state::MAX_WORKERS;

/// The largest capacity of a task stack.
pub const MAX_TASK_CAPACITY: usize = state::MAX_DEPTH;

/// Returns `default` for each of `workers` workers, or `locked` where reserved space is locked into memory. A limited
/// address space reduces it, but not below `least`.
pub(crate) fn modest(default: usize, locked: usize, workers: usize, least: usize) -> usize {
    /// The fraction of the address space for all workers together, inverted.
    const SHARE: usize = 8;
    let default = if system::locks_mappings() { locked } else { default };
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

    /// Whether new mappings are in memory from the beginning, since the process has asked the system to lock them. The
    /// check takes some microseconds.
    #[cfg(target_os = "linux")]
    pub(super) fn locks_mappings() -> bool {
        // A page without access is never in memory, but a system that does not tell says that every page is.
        is_memory(libc::PROT_READ | libc::PROT_WRITE) && !is_memory(libc::PROT_NONE)
    }

    /// Whether a new mapping with this protection is in memory.
    #[cfg(target_os = "linux")]
    fn is_memory(protection: libc::c_int) -> bool {
        use crate::machine::thread::LARGEST_PAGE;
        const ANYWHERE: *mut libc::c_void = std::ptr::null_mut();
        let mut pages = [0; LARGEST_PAGE / 4096];
        // SAFETY: the mapping is new, and nobody else's; it has no more pages than the array.
        unsafe {
            let mapping =
                libc::mmap(ANYWHERE, LARGEST_PAGE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
            if mapping == libc::MAP_FAILED {
                return false;
            }
            let outcome = libc::mincore(mapping, LARGEST_PAGE, pages.as_mut_ptr());
            libc::munmap(mapping, LARGEST_PAGE);
            outcome == 0 && pages[0] & 1 != 0
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn locks_mappings() -> bool {
        false
    }
}

#[cfg(not(all(unix, not(miri))))]
mod system {
    pub(super) fn address_space() -> Option<usize> {
        None
    }

    pub(super) fn locks_mappings() -> bool {
        false
    }
}

/// Returns the default stack size of each of `workers` workers.
pub(crate) fn default_stack_size(workers: usize) -> usize {
    modest(DEFAULT_STACK_SIZE, LOCKED_STACK_SIZE, workers, LEAST_STACK_SIZE)
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
