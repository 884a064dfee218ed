//! The way of a transitive leapfrogger from thief to thief.
//!
//! Invariant: a search visits each worker once, so its buffers never grow.

use crate::protocol::state::Theft;

/// A step of the way: the stolen entry of a worker's stack that led on, and its theft, which must still be in progress.
pub(crate) struct Trail {
    /// The worker and the index of its entry; `None` for the awaited job.
    pub(crate) via: Option<(usize, usize)>,
    pub(crate) theft: Theft,
    /// The next entry of the thief's stack to look at.
    pub(crate) next: usize,
}

/// The way so far, and which workers have been seen. A worker makes room when its thread starts, and keeps that room,
/// so that no search allocates.
#[derive(Default)]
pub(crate) struct Trails {
    pub(crate) path: Vec<Trail>,
    seen: Vec<bool>,
}

impl Trails {
    /// Begins a search among this many workers.
    pub(crate) fn begin(&mut self, workers: usize) {
        self.path.clear();
        self.path.reserve(workers);
        self.seen.clear();
        self.seen.resize(workers, false);
    }

    /// Marks this worker as seen; returns whether it was new.
    pub(crate) fn is_new(&mut self, worker: usize) -> bool {
        !std::mem::replace(&mut self.seen[worker], true)
    }
}
