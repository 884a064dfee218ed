//! The seats of a crew.
//!
//! Invariant: one thread takes a seat, and is the worker from then on.

use std::fmt;
use std::sync::Arc;

use filch_memory::{Memory, Native, Ordering};

#[cfg(doc)]
use super::{Countdown, Crew, run_one};
use crate::shared::common::Common;
use crate::shared::late::{Begins, Inherited};
use crate::worker::{home::current_home, stats::Stats};

/// The operations that depend on the kind of pool.
pub(super) trait Workers: Send + Sync {
    fn stats(&self) -> Stats;

    fn common(&self) -> &Common;

    /// Lets all workers, none of which has a thread, begin asleep if they can.
    ///
    /// # Safety
    /// No other thread is one of these workers.
    unsafe fn lie_down(&self) -> Vec<Begins>;

    fn run(&self, index: usize, stack_size: usize, begins: Begins, start: &mut dyn FnMut(), exit: &mut dyn FnMut());

    fn occupy(self: Arc<Self>, index: usize, stack_size: usize);

    /// The flag that says whether this worker's seat is taken.
    fn is_taken(&self, index: usize) -> &<Native as Memory>::AtomicBool;
}

/// The place of one worker, for one thread to take.
#[must_use = "without threads in its seats, a pool runs nothing"]
pub struct Seat {
    pub(super) index: usize,
    pub(super) workers: Arc<dyn Workers>,
    pub(super) begins: Begins,
    /// Whether its thread [starts late](Crew::come_late).
    pub(super) comes_late: bool,
    pub(super) inherited: Option<Arc<Inherited>>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Release: see `Seat::take`.
        self.workers.is_taken(self.index).store(false, Ordering::Release);
    }
}

impl Seat {
    /// Returns a worker's seat, unless it is taken.
    pub(super) fn take(workers: &Arc<dyn Workers>, index: usize) -> Option<Self> {
        // Acquire: pairs with the store in the drop of the former seat, whose thread was the worker before this one.
        let is_taken = workers.is_taken(index).swap(true, Ordering::Acquire);
        let workers = Arc::clone(workers);
        (!is_taken).then(|| Self { index, workers, begins: Begins::Awake, comes_late: false, inherited: None })
    }

    /// Gives the current thread the attributes of a thread started by the crew's maker, if another thread has started
    /// it: see [`Crew::come_late`]. [`Seat::run`] does this too; call this first to change the attributes.
    pub fn inherit(&mut self) {
        if let Some(inherited) = self.inherited.take() {
            inherited.adopt();
        }
    }

    /// Returns the worker's number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Makes the current thread the worker until the last lease is dropped, and then runs the remaining jobs. The
    /// worker calls `start` before and `exit` after, and runs what they spawn. `stack_size` is the size of the thread's
    /// stack, or a lower bound; 0 if unknown. The size matters only where the system does not tell it.
    ///
    /// # Panics
    /// If the thread is a worker already. A panic in `start` or `exit` ends the process.
    pub fn run(mut self, stack_size: usize, start: impl FnOnce(), exit: impl FnOnce()) {
        assert!(current_home().is_none(), "this thread is already a worker");
        self.inherit();
        if self.comes_late {
            self.workers.common().begin_late();
        }
        let (mut start, mut exit) = (Some(start), Some(exit));
        self.workers.run(
            self.index,
            stack_size,
            self.begins,
            &mut || {
                if let Some(start) = start.take() {
                    start();
                }
            },
            &mut || {
                if let Some(exit) = exit.take() {
                    exit();
                }
            },
        );
    }

    /// Makes the current thread the worker for the rest of the thread's life. It works only while it waits (in a join,
    /// for a [`Countdown`] or for another pool) and when it calls [`run_one`]. The workers' memory is never freed.
    ///
    /// # Errors
    /// The seat, if the thread is a worker already.
    pub fn occupy(self, stack_size: usize) -> Result<(), Self> {
        if current_home().is_some() {
            return Err(self);
        }
        Arc::clone(&self.workers).occupy(self.index, stack_size);
        // The seat stays taken.
        std::mem::forget(self);
        Ok(())
    }
}
