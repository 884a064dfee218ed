//! How much address space a pool may reserve by default.
//!
//! What must always hold: where the address space is limited, one pool leaves most of it to the rest of the program.

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
