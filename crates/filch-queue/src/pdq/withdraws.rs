//! How an owner claims a request that its thief may withdraw: see [`receiver`](super::receiver).

use filch_memory::{Atomic, Ordering};

/// The request that there is, which is claimed, or none; and then `instead` is in the cell.
pub(super) fn request_and(cell: &impl Atomic<u32>, instead: u32) -> u32 {
    // E1: pairs with the compare-and-swap in `ask`.
    cell.swap(instead, Ordering::Acquire)
}
