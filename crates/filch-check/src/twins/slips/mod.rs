//! Known mistakes made in the shipped source, at one call site: a fence, a store or an update left out, an update by
//! load and store, two operations in the other order, a check that seems to hold, a number that is off by one.
//!
//! What must always hold: the control is the shipped source as it is.

mod blocks;
#[cfg(target_arch = "x86_64")]
mod fence_free;
mod fenced;
mod idempotent;
mod private;
mod protocols;
mod split;

use super::mutant::Mutant;

/// The ring that several queues grow into.
const GROWING: &str = "filch-queue/src/growing.rs";
const SPIN_LOCK: &str = "filch-queue/src/spin_lock.rs";
const THE: &str = "filch-queue/src/the.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    let mut all = [
        fenced::mutants(),
        idempotent::mutants(),
        split::mutants(),
        blocks::mutants(),
        private::mutants(),
        protocols::mutants(),
    ]
    .concat();
    #[cfg(target_arch = "x86_64")]
    all.extend(fence_free::mutants());
    all
}
