//! The global pool: how it begins, ends, and begins again.
//!
//! The pool stays where it is for ever, since programs keep references to it. [`ThreadPool::end_global`] only joins its
//! threads; the next entry from outside starts them again, on the same workers: see
//! [`restart`](crate::threads::restart).

use crate::machine::{made_once::Single, process::PerProcess};
use crate::pool::Split;
use crate::shared::late::Begins;
use crate::threads::restart::{Mortal, cannot_start};
use crate::threads::{
    builder::Builder, error::BuildError, start::Failed, thread_pool::ThreadPool, timeline_file::TimelineFile,
};

struct Global {
    pool: ThreadPool,
    /// Starts the threads again.
    builder: Builder,
}

static GLOBAL: PerProcess<Single<Global>> = PerProcess::new();

impl ThreadPool {
    /// Returns the pool of the free functions outside all pools, started at first use and never dropped, though it can
    /// be [ended](Self::end_global). The child of a `fork()` has another one.
    ///
    /// Its settings are those of [`Builder::build_global`], if that comes first. Otherwise the environment variable
    /// `FILCH_WORKERS` sets its size; without it, the pool [follows](Builder::follow_processors) the processors that
    /// the process may use, even if the first thread to call is pinned. If the system refuses that many threads or that
    /// much address space, the pool has smaller stacks or fewer workers, with a warning on standard error. With the
    /// feature `timeline`, the variable `FILCH_TIMELINE=FILE` records it until the process ends.
    ///
    /// ```
    /// assert!(filch::ThreadPool::global().workers() >= 1);
    /// ```
    ///
    /// # Panics
    /// If not even one worker can be started, `FILCH_WORKERS` is no number of workers, or the file of `FILCH_TIMELINE`
    /// cannot be made.
    pub fn global() -> &'static Self {
        let made = GLOBAL.get().get_or_make(|| {
            // Unpinned, even if the first thread to call is pinned.
            let mut builder = Builder::new();
            builder.unpin = true;
            let wanted = TimelineFile::by_environment()?;
            let pool = builder.build_at_most()?;
            wanted.record(&pool.common);
            Ok(Global { pool, builder })
        });
        match made {
            Ok(global) => &global.pool,
            Err(error) => cannot_start(&error),
        }
    }

    /// Ends the global pool: runs all work that it has been given, and joins its threads. Returns at once if it has no
    /// threads. The next call from outside starts them again.
    ///
    /// Call it at the end of `main` so that spawned jobs are done and no thread is left, as leak checkers and
    /// libraries that are unloaded require. The memory of the pool stays, where a leak checker finds it.
    ///
    /// Calls of other threads end first: this function waits until the pool has nothing to do, so it may wait for ever
    /// if calls keep coming without a pause. A call that comes while workers leave may find few of them, and starts the
    /// threads again if it finds none; so does a call by a destructor of a worker's thread-local value. A worker of
    /// another pool runs its own pool's jobs meanwhile, which may use this pool, too.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// static DONE: AtomicU32 = AtomicU32::new(0);
    /// filch::spawn(|| _ = DONE.fetch_add(1, SeqCst));
    /// filch::ThreadPool::end_global();
    /// assert_eq!(DONE.load(SeqCst), 1);
    /// assert_eq!(filch::join(|| 1, || 2), (1, 2), "again");
    /// ```
    ///
    /// # Panics
    /// On a worker of the global pool, which would wait for itself; and on a worker of another pool, if the system
    /// refuses the thread that waits in its place.
    pub fn end_global() {
        if let Some(global) = GLOBAL.get().get() {
            global.mortal(|pool| _ = pool.end(again));
        }
    }
}

impl Builder {
    /// Builds the [global pool](ThreadPool::global), before anything uses it, and returns it. By default it has as many
    /// workers as it would have without this call.
    ///
    /// The settings stay if the pool [ends](ThreadPool::end_global) and starts again.
    ///
    /// ```
    /// filch::ThreadPool::builder().workers(3).build_global()?;
    /// assert_eq!(filch::ThreadPool::global().workers(), 3);
    /// assert!(filch::ThreadPool::builder().build_global().is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::GlobalExists`] if there is a global pool; otherwise as [`Builder::build`].
    pub fn build_global(mut self) -> Result<&'static ThreadPool, BuildError> {
        self.unpin = !self.pin;
        let make = move || {
            let workers = self.settle_workers()?;
            let wanted = TimelineFile::by_environment()?;
            let pool = self.try_build_with(workers)?;
            wanted.record(&pool.common);
            Ok(Global { pool, builder: self })
        };
        let made: Result<_, Failed<Split>> = GLOBAL.get().make_first(make);
        // A failed pool ends only here: its start hook may use the global pool, and then waits for the making.
        made?.map(|global| &global.pool).ok_or(BuildError::GlobalExists)
    }
}

impl Global {
    /// Calls `f` with the pool as one whose threads can end and start again.
    fn mortal(&self, f: impl FnOnce(&Mortal<'_>)) {
        let (pool, builder) = (&self.pool, &self.builder);
        f(&Mortal {
            common: &pool.common,
            running: &pool.running,
            start_one: &|worker| builder.start_one(pool, worker, &builder.places(), None, Begins::Awake),
            start: &|running| builder.start(pool, &builder.places(), running, |_| Begins::Awake),
        });
    }
}

/// Starts the threads of this process's global pool again, if it has ended.
fn again() {
    if let Some(global) = GLOBAL.get().get() {
        global.mortal(|pool| {
            pool.start_again();
        });
    }
}
