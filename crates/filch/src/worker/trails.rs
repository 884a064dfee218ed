//! The way of a transitive leapfrogger from thief to thief.
//!
//! Invariant: a search visits each worker once, so its buffers never grow.

use crate::protocol::state::Theft;

/// A step of the way: the entry of a worker's stack that led on, and the theft of it that must still be going on.
pub(crate) struct Trail {
    /// The worker and its entry; `None`: the job that is waited for.
    pub(crate) via: Option<(usize, usize)>,
    pub(crate) theft: Theft,
    /// The next entry of the thief's stack to look at.
    pub(crate) next: usize,
}

/// The way so far, and who has been seen. A worker makes room when its thread starts, and keeps it, so that no search
/// allocates.
#[derive(Default)]
pub(crate) struct Trails {
    pub(crate) path: Vec<Trail>,
    seen: Vec<bool>,
}

impl Trails {
    /// Begins anew, among so many workers.
    pub(crate) fn begin(&mut self, workers: usize) {
        self.path.clear();
        self.path.reserve(workers);
        self.seen.clear();
        self.seen.resize(workers, false);
    }

    /// Whether this worker has not been seen before.
    pub(crate) fn is_new(&mut self, worker: usize) -> bool {
        !std::mem::replace(&mut self.seen[worker], true)
    }
}
