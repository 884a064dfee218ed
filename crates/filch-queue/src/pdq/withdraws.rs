//! How an owner claims a request that its thief may withdraw: see [`receiver`](super::receiver).

use filch_memory::{Atomic, Ordering};

/// Returns the content of the cell, claims the request there, if any, and leaves `instead` there.
pub(super) fn request_and(cell: &impl Atomic<u32>, instead: u32) -> u32 {
    // E1: pairs with the compare-and-swap in `ask`.
    cell.swap(instead, Ordering::Acquire)
}
