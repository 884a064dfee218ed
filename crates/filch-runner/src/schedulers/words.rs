//! The guarantees in a few words each.

use filch_catalogue::{BOUNDED_TSO, ONE_WORKER};
use filch_queue::{Capacity, MemoryModel, Progress, Stealable};

pub(crate) fn stealable(stealable: Stealable) -> &'static str {
    match stealable {
        Stealable::All => "all",
        Stealable::AllButNewest => "all but the newest δ",
        Stealable::OtherBlocks => "other blocks",
        Stealable::Shared => "shared tasks",
        Stealable::OldestOnly => "oldest task",
        Stealable::OnRequest => "on request",
    }
}

pub(crate) fn progress(steal: Progress) -> &'static str {
    match steal {
        Progress::Blocking => "blocking",
        Progress::LockFree => "lock-free",
        Progress::OwnerDependent => "by request",
        Progress::WaitsForOwner => "waits for the owner",
    }
}

pub(crate) fn capacity(capacity: Capacity) -> &'static str {
    match capacity {
        Capacity::Grows => "grows",
        Capacity::Ring | Capacity::Array => "fixed",
    }
}

pub(crate) fn memory(model: MemoryModel) -> &'static str {
    match model {
        MemoryModel::Rust => "any",
        MemoryModel::AsymmetricBarriers => "any; barriers",
        MemoryModel::OneThread => ONE_WORKER,
        MemoryModel::BoundedTso => BOUNDED_TSO,
    }
}
