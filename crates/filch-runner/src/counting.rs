//! The instructions that each worker's thread executed, in a runner built for counting.
//!
//! With the feature `count` every fence and every locked instruction is [counted](filch_memory::count). That takes
//! time: the times of such a runner mean nothing, and its version says so.

#[cfg(feature = "count")]
pub(crate) use each::Threads;

#[cfg(not(feature = "count"))]
pub(crate) use nothing::Threads;

/// Returns a version with a mark for this build.
pub(crate) fn version(version: &str) -> String {
    format!("{version}{}", if cfg!(feature = "count") { "+count" } else { "" })
}

#[cfg(feature = "count")]
mod each {
    use std::sync::{Arc, Mutex, PoisonError};

    use filch_memory::count::{Counted, Thread};

    /// The threads of a scheduler's workers, by number, as far as they have started.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Threads(Arc<Mutex<Vec<Option<Thread>>>>);

    impl Threads {
        /// Records that the current thread is this worker.
        pub(crate) fn enter(&self, worker: usize) {
            let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if threads.len() <= worker {
                threads.resize(worker + 1, None);
            }
            threads[worker] = Some(Thread::current());
        }

        /// The counts of this worker so far.
        pub(crate) fn counts(&self, worker: usize) -> impl Iterator<Item = (&'static str, u64)> + use<> {
            let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let thread = threads.get(worker).and_then(Option::as_ref);
            let Counted { owner, thief } = thread.map(Thread::counted).unwrap_or_default();
            [
                ("fences", owner.fences),
                ("locked", owner.locked),
                ("thief_fences", thief.fences),
                ("thief_locked", thief.locked),
                ("barriers", owner.barriers + thief.barriers),
            ]
            .into_iter()
        }
    }
}

#[cfg(not(feature = "count"))]
mod nothing {
    /// Counts nothing.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Threads(());

    #[expect(clippy::unused_self, reason = "as in the counting build")]
    impl Threads {
        pub(crate) fn enter(self, _worker: usize) {}

        pub(crate) fn counts(self, _worker: usize) -> impl Iterator<Item = (&'static str, u64)> {
            std::iter::empty()
        }
    }
}
