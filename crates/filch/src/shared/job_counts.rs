//! How many jobs each worker has begun and ended; and the handler of panics in jobs that nobody joins.
//!
//! Invariant: one thread at a time writes a worker's counts. [`detached`](crate::worker::detached) explains what the
//! two numbers say about a pool.

use std::any::Any;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Native, Ordering};

/// Takes the payloads of panics in jobs that nobody joins.
pub(crate) type PanicHandler = Arc<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// How many jobs and calls a worker has begun, and how many it has ended. Only the holder of its seat writes it.
pub(crate) struct JobCounts {
    pub(crate) begun: <Native as Memory>::AtomicUsize,
    pub(crate) ended: <Native as Memory>::AtomicUsize,
}

impl JobCounts {
    pub(crate) fn new() -> Self {
        Self { begun: Atomic::new(0), ended: Atomic::new(0) }
    }

    pub(crate) fn begin(&self) {
        // Relaxed, both: there is one writer, and the job's end publishes the count.
        self.begun.store(self.begun.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        // Relaxed: there is one writer. Release: pairs with the load in `Common::is_idle`.
        self.ended.store(self.ended.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}
