//! Pools that programs keep references to for ever, whose threads end, and start again.
//!
//! Invariant: while such a pool has ended, it has no threads and no jobs. A job pushed in the meantime is not lost: after
//! the push, and a fence, a thread outside looks whether the pool has ended; and the thread that ends it says so, fences,
//! and looks for jobs. So one of them starts the threads again.

use std::cell::Cell;
use std::io;
use std::sync::{Mutex, MutexGuard, TryLockError};

use filch_memory::{Memory, Native, Ordering};

use crate::builder::BuildError;
use crate::registry::Common;
use crate::start::{Running, end_late, wait_until};
use crate::thread::Thread;
use crate::unwind::abort_on_panic;

/// A pool with all that its end needs.
pub(crate) struct Mortal<'m> {
    pub(crate) common: &'m Common,
    pub(crate) running: &'m Mutex<Running>,
    /// Starts the thread of a worker that has none.
    pub(crate) start_one: &'m dyn Fn(usize) -> io::Result<Thread>,
    /// Starts all threads of a pool that has none. On failure some may have started.
    pub(crate) start: &'m dyn Fn(&mut Running) -> Result<(), BuildError>,
}

thread_local! {
    /// Whether the thread holds the lock of the threads, and perhaps runs other jobs meanwhile.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// The end of a pool by this thread, until dropped.
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
pub(crate) fn cannot_start(error: &BuildError) -> ! {
    panic!("filch cannot start its global pool: {error}")
}

impl Mortal<'_> {
    /// Runs all that the pool has been given, and joins its threads. `again` starts them again, by
    /// [`Mortal::start_again`], when somebody enters. Returns whether the pool has ended: not if it does not have the threads of all
    /// workers.
    ///
    /// # Panics
    /// On a worker of the pool; in a job that a worker of another pool runs while it waits here; and if there is work for the
    /// threads, and they cannot be started again.
    pub(crate) fn end(&self, again: fn()) -> bool {
        let common = self.common;
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
        if running.threads.len() + common.threads_apart() != common.workers() {
            return common.is_ended();
        }
        let _ending = Ending::begin();
        running.ticker = None;
        common.will_live_again(again);
        common.close();
        // A call that has come late may wait for a broadcast to a worker that is gone.
        let missed = |running: &Running| {
            let mut threads = running.threads.iter().enumerate();
            threads.find(|(worker, thread)| thread.is_finished() && common.has_mail(*worker)).map(|(worker, _)| worker)
        };
        let is_over =
            |running: &Running| running.threads.iter().all(Thread::is_finished) && common.are_others_finished();
        loop {
            wait_until(|| is_over(&running) || missed(&running).is_some() || common.late_misses_mail());
            let mut come_back = || {
                let Some(worker) = missed(&running) else { return common.late_comes_back() };
                // Joined first, since only that makes the worker's memory the next thread's.
                running.threads.remove(worker).join();
                running.threads.insert(worker, (self.start_one)(worker)?);
                Ok(true)
            };
            let came_back = abort_on_panic("a call waits for a worker of the global pool that has left", || {
                come_back()
                    .unwrap_or_else(|source| cannot_start(&BuildError::Thread { started: 0, workers: 1, source }))
            });
            if !came_back {
                break;
            }
        }
        running.join();
        end_late(common);
        common.has_ended();
        // Pairs with that of a thread which has pushed a job and looks whether the pool has ended.
        Native::fence(Ordering::SeqCst);
        if common.has_left() {
            self.start(&mut running);
        }
        true
    }

    /// Starts the threads again, if the pool has ended. Does not wait for a thread that ends it, and which may wait for
    /// this one.
    ///
    /// # Panics
    /// If they cannot be started.
    pub(crate) fn start_again(&self) {
        while self.common.is_ended() {
            let Some(mut running) = self.try_running() else {
                // Somebody else starts them, or has just ended them.
                std::thread::yield_now();
                continue;
            };
            if running.threads.is_empty() {
                self.start(&mut running);
            }
        }
    }

    fn try_running(&self) -> Option<MutexGuard<'_, Running>> {
        match self.running.try_lock() {
            Ok(running) => Some(running),
            Err(TryLockError::Poisoned(running)) => Some(running.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn start(&self, running: &mut Running) {
        self.common.begins_again();
        if let Err(error) = (self.start)(running) {
            running.ticker = None;
            self.common.close();
            running.join();
            self.common.has_ended();
            cannot_start(&error);
        }
    }
}
