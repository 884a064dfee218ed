//! Jobs that nobody joins, and how a pool knows that none is left.
//!
//! Each worker counts what it has begun and what it has ended: jobs it has spawned, jobs it has run, and calls from
//! outside in its seat. There is one writer per count, so that counting costs a load and a store.
//!
//! Invariant: a pool is idle if the sum of all ends, read first, equals the sum of all beginnings. A job begins before
//! it is pushed, hence before its end. A thread that reads an end (acquire) sees what the job did before (release), so
//! also the beginnings of the jobs that it has spawned. So if the sums are equal, all jobs begun before the question
//! have ended, and so have all jobs that these have spawned.

use std::panic::{AssertUnwindSafe, catch_unwind};

use filch_memory::Ordering;

use crate::fork::here::{Here, Known};
use crate::fork::{own::Own, spawned::Spawned};
use crate::shared::common::Common;
use crate::unwind::{Payload, abort_on_panic, discard};
use crate::worker::home::{Home, current_home};

/// Makes a job of a task that nobody joins.
fn detached(task: impl FnOnce() + Send + 'static) -> Spawned {
    // SAFETY: the task borrows nothing, and the job does not unwind.
    unsafe {
        Spawned::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(task));
            let home = current_home().expect("a job runs on a worker");
            if let Err(payload) = outcome {
                home.common.take_panic(payload);
            }
            home.count_ended();
        })
    }
}

impl Common {
    /// Hands in a task that nobody joins.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn hand_in_detached(&self, task: impl FnOnce() + Send + 'static) {
        match self.current_home() {
            Some(_) => spawn_detached_here(task),
            None => {
                self.count_begun_outside();
                self.inject_counted(detached(task));
            }
        }
    }

    /// Hands in a task that nobody joins, for a worker that has nothing else to do.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn hand_in_whenever(&self, task: impl FnOnce() + Send + 'static) {
        match self.current_home() {
            Some(home) => home.count_begun(),
            None => self.count_begun_outside(),
        }
        self.inject_whenever(detached(task));
    }

    /// Counts a job that a thread outside the pool is about to inject, and which [ends](Own::count_ended) on a worker.
    ///
    /// # Panics
    /// As [`Common::assert_here`].
    pub(crate) fn count_begun_outside(&self) {
        self.assert_here();
        // Relaxed: the push of the job publishes the count.
        self.begun_outside.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether all jobs and calls begun so far have ended, and all that these began.
    pub(crate) fn is_idle(&self) -> bool {
        // Acquire: pairs with the store in `end`.
        let ended = self.job_counts.iter().map(|counts| counts.ended.load(Ordering::Acquire));
        let ended = ended.fold(0, usize::wrapping_add);
        // Relaxed: see the file's invariant.
        let begun = self.job_counts.iter().map(|counts| counts.begun.load(Ordering::Relaxed));
        begun.fold(self.begun_outside.load(Ordering::Relaxed), usize::wrapping_add) == ended
    }

    /// Whether idle workers leave, because the pool closes and has nothing left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closing() && self.is_idle()
    }

    /// Gives the payload of a job that nobody joins to the handler. The panic hook has reported it.
    fn take_panic(&self, payload: Payload) {
        match &self.on_panic {
            Some(handler) => abort_on_panic("a panic handler panicked", || handler(payload)),
            None => discard(payload),
        }
    }
}

impl<P: Known> Here<'_, P> {
    /// Spawns a task that nobody joins.
    ///
    /// # Panics
    /// Outside all pools.
    pub(crate) fn spawn_detached(&self, task: impl FnOnce() + Send + 'static) {
        self.spawner().count_begun();
        self.spawn(detached(task));
    }
}

/// [Spawns](Here::spawn_detached) a task that nobody joins, on the worker that this thread is.
///
/// # Panics
/// Outside all pools.
pub(crate) fn spawn_detached_here(task: impl FnOnce() + Send + 'static) {
    Here::with(|here| here.spawn_detached(task));
}

impl Own<'_, Home> {
    /// Counts the beginning of a job or call.
    pub(crate) fn count_begun(self) {
        self.common.job_counts[self.index].begin();
    }

    /// Counts the end of a job or call.
    pub(crate) fn count_ended(self) {
        self.common.job_counts[self.index].end();
    }
}
