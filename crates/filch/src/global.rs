//! The global pool: how it begins, ends, and begins again.
//!
//! The pool stays where it is for ever, since programs keep references to it. [`ThreadPool::end_global`] only joins its
//! threads; the next entry from outside starts them again, on the same workers.
//!
//! Invariant: while the pool has ended, it has no threads and no jobs. A job pushed in the meantime is not lost: after
//! the push, and a fence, a thread outside looks whether the pool has ended; and the thread that ends it says so, fences,
//! and looks for jobs. So one of them starts the threads again.

use std::cell::Cell;
use std::sync::{MutexGuard, TryLockError};
use std::thread::JoinHandle;

use filch_memory::{Memory, Native, Ordering};

use crate::builder::{BuildError, Builder};
use crate::inside::host::{PerProcess, Single};
use crate::start::{Running, wait_until};
use crate::thread_pool::ThreadPool;
use crate::unwind::abort_on_panic;

struct Global {
    pool: ThreadPool,
    /// Starts the threads again.
    builder: Builder,
}

static GLOBAL: PerProcess<Single<Global>> = PerProcess::new();

impl ThreadPool {
    /// Returns the pool of the free functions outside all pools, started at first use and never dropped, though it can be
    /// [ended](Self::end_global). The child of a `fork()` has another one.
    ///
    /// Its settings are those of [`Builder::build_global`], if that comes first. Otherwise its size is the environment
    /// variable `FILCH_WORKERS`, else it [follows](Builder::follow_processors) the processors that the process may use, even if
    /// the first thread to call is pinned. If the system refuses that many threads or that much address space, the pool has smaller stacks
    /// or fewer workers, with a warning on standard error.
    ///
    /// ```
    /// assert!(filch::ThreadPool::global().workers() >= 1);
    /// ```
    ///
    /// # Panics
    /// If not even one worker can be started, or `FILCH_WORKERS` is no number of workers.
    pub fn global() -> &'static Self {
        let made = GLOBAL.get().get_or_make(|| {
            // Unpinned, even if the first thread to call is pinned.
            let mut builder = Builder::new();
            builder.unpin = true;
            let pool = builder.build_at_most()?;
            Ok(Global { pool, builder })
        });
        match made {
            Ok(global) => &global.pool,
            Err(error) => cannot_start(&error),
        }
    }

    /// Ends the global pool: runs all that it has been given, and joins its threads. Returns at once if it has no
    /// threads. The next call from outside starts them again.
    ///
    /// Call it at the end of `main` so that spawned jobs are done and no thread is left, as leak checkers and
    /// libraries that are unloaded require. The memory of the pool stays, where a leak checker finds it.
    ///
    /// Calls of other threads end first: it waits until the pool has nothing to do, so it may wait for ever if they keep
    /// coming without a pause. A call that comes while workers leave may find few of them, and starts the threads
    /// again if it finds none. A worker of another pool runs its own pool's jobs meanwhile.
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
    /// On a worker of the global pool, which would wait for itself; and in a job that a worker of another pool runs while
    /// it waits here.
    pub fn end_global() {
        if let Some(global) = GLOBAL.get().get() {
            global.end();
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
            Ok(Global { pool: self.build_with(workers)?, builder: self })
        };
        GLOBAL.get().make_first(make)?.map(|global| &global.pool).ok_or(BuildError::GlobalExists)
    }
}

thread_local! {
    /// Whether the thread holds the lock of the threads, and perhaps runs other jobs meanwhile.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// The end of the global pool by this thread, until dropped.
struct Ending(());

impl Ending {
    fn begin() -> Self {
        IS_ENDING.set(true);
        Self(())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        IS_ENDING.set(false);
    }
}

#[cold]
fn cannot_start(error: &BuildError) -> ! {
    panic!("filch cannot start its global pool: {error}")
}

impl Global {
    fn end(&self) {
        let common = &self.pool.common;
        assert!(common.here().is_none(), "a task cannot end the global pool, of which it is a part");
        assert!(!IS_ENDING.get(), "a task cannot end the global pool while its thread waits for that end");
        // Held until the end, so that nobody starts the threads meanwhile.
        let held = Cell::new(None);
        wait_until(|| {
            let running = self.try_running();
            let is_held = running.is_some();
            held.set(running);
            is_held
        });
        let mut running = held.into_inner().expect("it waited for that");
        if running.threads.is_empty() {
            return;
        }
        let _ending = Ending::begin();
        running.ticker = None;
        common.will_live_again(again);
        common.close();
        // A call that has come late may wait for a broadcast to a worker that is gone.
        let missed = |running: &Running| {
            (0..running.threads.len()).find(|&worker| running.threads[worker].is_finished() && common.has_mail(worker))
        };
        let is_over = |running: &Running| running.threads.iter().all(JoinHandle::is_finished);
        loop {
            wait_until(|| is_over(&running) || missed(&running).is_some());
            let Some(worker) = missed(&running) else { break };
            // Joined first, since only that makes the worker's memory the next thread's.
            let joined = running.threads.remove(worker).join();
            debug_assert!(joined.is_ok(), "workers abort rather than panic");
            let start = || match self.builder.start_one(&self.pool, worker, &self.builder.places(), None) {
                Ok(thread) => thread,
                Err(source) => cannot_start(&BuildError::Thread { started: 0, workers: 1, source }),
            };
            let thread = abort_on_panic("a call waits for a worker of the global pool that has left", start);
            running.threads.insert(worker, thread);
        }
        running.join();
        common.has_ended();
        // Pairs with that of a thread which has pushed a job and looks whether the pool has ended.
        Native::fence(Ordering::SeqCst);
        if common.has_left() {
            self.start(&mut running);
        }
    }

    fn try_running(&self) -> Option<MutexGuard<'_, Running>> {
        match self.pool.running.try_lock() {
            Ok(running) => Some(running),
            Err(TryLockError::Poisoned(running)) => Some(running.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn start(&self, running: &mut Running) {
        let common = &self.pool.common;
        common.begins_again();
        let started = self.builder.start(&self.pool, &self.builder.places(), running);
        if let Err(error) = started {
            running.ticker = None;
            common.close();
            running.join();
            common.has_ended();
            cannot_start(&error);
        }
    }
}

/// Starts the threads of this process's global pool again, if it has ended. Does not wait for a thread that ends it, and
/// which may wait for this one.
fn again() {
    let Some(global) = GLOBAL.get().get() else { return };
    while global.pool.common.is_ended() {
        let Some(mut running) = global.try_running() else {
            // Somebody else starts them, or has just ended them.
            std::thread::yield_now();
            continue;
        };
        if running.threads.is_empty() {
            global.start(&mut running);
        }
    }
}
