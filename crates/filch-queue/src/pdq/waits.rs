//! How an owner claims a request that nobody withdraws: see [`receiver`](super::receiver).
//!
//! Invariant: while a request is in the cell, only the owner changes it.

use filch_memory::{Atomic, Ordering};

use super::receiver::{BLOCKED, FREE};

/// Returns the content of the cell. A request stays there; a free cell becomes blocked if `instead` says so.
pub(super) fn request_or(cell: &impl Atomic<u32>, instead: u32) -> u32 {
    // E1: pairs with the compare-and-swap in `ask`.
    match cell.load(Ordering::Acquire) {
        // Relaxed: it publishes nothing. E1 on failure: as above.
        FREE if instead == BLOCKED => {
            cell.compare_exchange(FREE, BLOCKED, Ordering::Relaxed, Ordering::Acquire).unwrap_or_else(|request| request)
        }
        request => request,
    }
}
