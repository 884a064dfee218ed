//! How a pool starts the threads of workers that come [late](super::late), when it needs them.
//!
//! Invariant: a thread that wakes such a worker, or posts a job to it, starts the worker's thread, or learns that there
//! is none.

use std::io;
use std::process::abort;
use std::sync::Arc;

use super::common::Common;
use super::late::{Begins, Late, State};
use crate::machine::thread::Thread;
use crate::unwind::warn;

impl Common {
    /// Registers the workers that come late, which sleep and have no threads yet. Called before other threads know the
    /// pool.
    pub(crate) fn come_late(self: &Arc<Self>, late: Late) {
        let late = Arc::new(late);
        let is_first = self.late.set(Arc::clone(&late)).is_ok();
        debug_assert!(is_first, "a pool is made once");
        let common = Arc::downgrade(self);
        self.dormitory.on_rouse(move |worker| {
            // A thread that wakes a worker keeps the worker's pool.
            let common = || common.upgrade().expect("a worker has its pool");
            match late.start(worker, || common().is_over()) {
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => {
                    late.warn(worker, &error);
                    common().may_need(worker);
                }
            }
            common().go_without(worker);
            false
        });
    }

    /// Called on the first worker's thread, whose processors late threads take.
    pub(crate) fn note_start(&self) {
        if let Some(late) = self.late.get() {
            late.inherited.take_after_this(self.elsewhere.as_ref());
        }
    }

    /// Called first by a thread that has started late. Starts the threads of up to two other workers.
    pub(crate) fn begin_late(&self) {
        if let Some(late) = self.late.get() {
            late.start_others(|| self.is_closing());
        }
    }

    /// Counts a late worker that has been woken, but has no thread, as one that has ended its search and left.
    fn go_without(&self, worker: usize) {
        self.retire_stand_in(worker);
        self.dormitory.sleepers().end_search();
    }

    fn retire_stand_in(&self, worker: usize) {
        if let Some(spares) = self.spares.as_ref().filter(|spares| spares.has(worker)) {
            spares.end();
            spares.notify();
        }
    }

    /// Starts the threads of all workers. Called before jobs are posted that only one worker each may run.
    ///
    /// # Panics
    /// If the system refuses a worker its thread.
    pub(crate) fn need_all(&self) {
        if let Some(late) = self.late.get()
            && let Err(error) = late.start_all(|| self.is_closing())
        {
            panic!("a worker of this pool cannot have a thread ({error}), so it can run no broadcast");
        }
    }

    /// If `worker` is dead, starts its thread, or ends the process. Called after a job that only `worker` may run has
    /// been posted, and `worker` notified.
    pub(crate) fn need(&self, worker: usize) {
        if let Some(late) = self.late.get()
            && let Err(error) = late.try_again(worker)
        {
            warn(format_args!("worker {worker} has a job and cannot have a thread ({error}); aborting"));
            abort();
        }
    }

    /// Called after a worker has died. A thread that posts a job to the worker later finds it dead.
    fn may_need(&self, worker: usize) {
        if self.has_mail(worker) {
            self.need(worker);
        }
    }

    /// The number of workers that [come late](Self::come_late). Their threads are not among those that the pool starts
    /// with.
    pub(crate) fn threads_apart(&self) -> usize {
        self.late.get().map_or(0, |late| late.states.len())
    }

    /// Whether a late worker has left, and missed a job that only it may run.
    pub(crate) fn late_misses_mail(&self) -> bool {
        self.missing_mail().next().is_some()
    }

    /// Starts the threads of such workers again, and adds their former threads to `former`. Returns whether there were
    /// any such workers.
    ///
    /// # Errors
    /// The system's, if it refuses a thread.
    pub(crate) fn late_comes_back(&self, former: &mut Vec<Thread>) -> io::Result<bool> {
        self.missing_mail().try_fold(false, |_, (late, worker)| {
            former.extend(late.come_back(worker)?);
            Ok(true)
        })
    }

    fn missing_mail(&self) -> impl Iterator<Item = (&Late, usize)> {
        // In this order, because a worker that has left reads no more mail.
        self.late_workers().filter(|(late, worker)| late.is(*worker, State::has_left) && self.has_mail(*worker))
    }

    fn late_workers(&self) -> impl Iterator<Item = (&Late, usize)> {
        self.late.get().into_iter().flat_map(|late| late.workers().map(move |worker| (&**late, worker)))
    }

    /// Returns whether all workers that [come late](Self::come_late) have left. After those with a thread have left,
    /// makes those without one leave, unless a guest has the seat.
    pub(crate) fn late_has_left(&self) -> bool {
        let Some(late) = self.late.get() else { return true };
        let retire = |worker| {
            let place = self.dormitory.place(worker);
            let is_taken = place.take(self.dormitory.sleepers());
            if is_taken {
                place.hand_over();
                self.retire_stand_in(worker);
            }
            is_taken
        };
        late.workers().all(|worker| late.is(worker, State::is_finished))
            && late.workers().all(|worker| late.leaves(worker, retire))
    }

    /// Closes a pool whose threads nobody will join. Lets the late ones go before they end: whoever drops the handle of
    /// an ended thread waits for its last destructors.
    pub(crate) fn close_alone(&self) {
        drop(self.late_threads());
        self.close();
    }

    /// Takes the threads of the late workers, which have left, or soon will.
    pub(crate) fn late_threads(&self) -> Vec<Thread> {
        self.late_workers().filter_map(|(late, worker)| late.state(worker)?.take_thread()).collect()
    }

    /// Starts the threads of all late workers again, after all of them have left. The pool goes on without the threads
    /// that the system refuses.
    pub(crate) fn late_starts_again(&self) {
        for (late, worker) in self.late_workers() {
            let Some(mut state) = late.state(worker) else { continue };
            *state = State::Dead;
            if let Err(error) = late.begin_in(&mut state, worker, Begins::Awake) {
                late.warn(worker, &error);
                drop(state);
                self.may_need(worker);
            }
        }
    }

    /// Wakes all workers that have a thread, or a guest.
    pub(crate) fn notify_all(&self) {
        let is_absent =
            |worker| self.late.get().is_some_and(|late| late.is(worker, |state| matches!(state, State::Absent)));
        self.dormitory.notify_all_but(is_absent);
    }
}
