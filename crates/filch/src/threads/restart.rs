//! Stops and restarts the threads of pools that are never freed.
//!
//! Invariant: while such a pool has ended, it has no threads and no jobs. A job pushed in the meantime is not lost. The
//! thread outside that pushes it then fences, and looks whether the pool has ended; the thread that ends the pool says
//! so, fences, and looks for jobs. So one of the two starts the threads again.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use filch_memory::{Asymmetric, Memory, Native, Ordering};

use crate::machine::thread::Thread;
use crate::shared::common::Common;
use crate::threads::error::BuildError;
use crate::threads::running::{Running, aside, wait_until};
use crate::unwind::abort_on_panic;

/// A pool with all that its end needs.
pub(crate) struct Mortal<'m> {
    pub(crate) common: &'m Common,
    pub(crate) running: &'m Mutex<Running>,
    /// Starts the thread of a worker that has none.
    pub(crate) start_one: &'m (dyn Fn(usize) -> io::Result<Thread> + Sync),
    /// Starts the threads of a pool that has none, except those that [come late](Common::come_late). On failure some
    /// may have started.
    pub(crate) start: &'m (dyn Fn(&mut Running) -> Result<(), BuildError> + Sync),
}

#[cold]
pub(crate) fn cannot_start(error: &BuildError) -> ! {
    panic!("filch cannot start its global pool: {error}")
}

impl Mortal<'_> {
    /// Runs all work that the pool has been given, and joins its threads. `again` starts them again, by
    /// [`Mortal::start_again`], when somebody enters. Returns whether the pool has ended. It does not end unless it has
    /// the threads of all workers.
    ///
    /// # Panics
    /// On a worker of the pool; on a worker of another pool, if the system refuses the thread that waits in its place;
    /// and if there is work for the threads but they cannot be started again.
    pub(crate) fn end(&self, again: fn()) -> bool {
        assert!(self.common.current_home().is_none(), "a task cannot end the global pool, of which it is a part");
        aside(&|| self.end_here(again)).unwrap_or_else(|error| {
            panic!("filch cannot start a thread to wait for the end of its global pool: {error}")
        })
    }

    fn end_here(&self, again: fn()) -> bool {
        let common = self.common;
        // Held until the end, so that nobody starts the threads meanwhile.
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.threads.len() + common.threads_apart() != common.workers() {
            return common.is_ended();
        }
        running.interrupter = None;
        common.will_live_again(again);
        common.close();
        // Threads whose seats others have taken, and which perhaps still destroy thread-local values.
        let mut former = Vec::new();
        loop {
            wait_until(|| self.missed(&running).is_some() || common.late_misses_mail() || self.has_left(&running));
            let came_back = abort_on_panic("a call waits for a worker of the global pool that has left", || {
                let came_back = self.come_back(&mut running, &mut former);
                came_back
                    .unwrap_or_else(|error| panic!("filch cannot start a thread of its global pool again: {error}"))
            });
            // If nobody came back, perhaps none was missed any more: that does not say that all have left.
            if !came_back && self.has_left(&running) {
                break;
            }
        }
        former.append(&mut running.threads);
        former.append(&mut common.late_threads());
        common.note_end();
        // Pairs with the fence of a thread that has pushed a job and looks whether the pool has ended.
        Native::fence(Ordering::SeqCst);
        if common.has_left() {
            self.start(&mut running);
        }
        // Before the joins: a destructor of a thread-local value may start the threads again.
        drop(running);
        former.into_iter().for_each(Thread::join);
        // One of them may have started the thread for which this waits.
        Native::await_barriers();
        true
    }

    /// Whether all workers have left.
    fn has_left(&self, running: &Running) -> bool {
        running.threads.iter().all(Thread::is_finished) && self.common.late_has_left()
    }

    /// Returns a worker that has left, but has mail from the broadcast of a call that came late.
    fn missed(&self, running: &Running) -> Option<usize> {
        let mut threads = running.threads.iter().enumerate();
        threads.find(|(worker, thread)| thread.is_finished() && self.common.has_mail(*worker)).map(|(worker, _)| worker)
    }

    /// Starts the threads of such workers again, and adds the old ones to `former`. Returns whether there were any.
    fn come_back(&self, running: &mut Running, former: &mut Vec<Thread>) -> io::Result<bool> {
        let Some(worker) = self.missed(running) else { return self.common.late_comes_back(former) };
        let thread = (self.start_one)(worker)?;
        former.push(std::mem::replace(&mut running.threads[worker], thread));
        Ok(true)
    }

    /// Starts the threads again, if the pool has ended. Does not wait for a thread that is ending the pool, since that
    /// one may wait for this thread.
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
        self.common.begin_again();
        let Err(error) = (self.start)(running) else { return self.common.late_starts_again() };
        running.interrupter = None;
        self.common.close();
        running.join();
        self.common.note_end();
        // As in `end_here`. Threads that came meanwhile have found a live pool.
        Native::fence(Ordering::SeqCst);
        if self.common.has_left() {
            abort_on_panic("a pool that had ended cannot run a job", || cannot_start(&error));
        }
        cannot_start(&error);
    }
}
