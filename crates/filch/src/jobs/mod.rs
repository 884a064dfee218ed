//! Jobs: closures that are spawned and forgotten, or waited for, with all that they spawn in their turn.
//!
//! **Source.** The job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>.
//!
//! **Idea.** A job is over when it has been run and all its children are over. Who waits for one helps meanwhile: it runs its own
//! jobs, the newest first, or steals others. A join needs a frame that stays; a job needs a place of 64 bytes, which it takes
//! from a block of its maker's.
//!
//! **Queues.** Any of [`filch_queue`] that returns each task once, but `PatientThep`, whose thief may wait for an owner that has gone
//! home. On one that is first in, first out, waits nest deeply.
//!
//! **Threads.** A run has threads of its own, and the caller is one of them.
//!
//! **Departures.** The source's workers live as long as the program; here a run has a beginning and an end, so that jobs can borrow
//! what is around it. The source's thieves ask for up to 16 jobs at once; here for one, unless [`Jobs::loot`] says otherwise.
//! Its decrements are relaxed; see [`lineage`](crate::protocol::lineage) for those here.
//!
//! What must always hold: each job is run or dropped once, and no job is left when a run returns.

mod blocks;
mod worker;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::{ChaseLev, Delivery, Queue, StealMany, Task};

use self::blocks::Spare;
use self::worker::Shared;
pub use self::worker::{Job, JobWorker};
use crate::pool::deal_any;
use crate::unwind::abort_on_panic;
use crate::worklist::Worklist;
pub use crate::worklist::{Stop, Tally};

/// The settings of a job system, and the way to run it.
///
/// ```
/// use filch::jobs::{JobWorker, Jobs};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let sum = &AtomicU64::new(0);
/// let outcome = Jobs::new(2).run(|w| {
///     let evens = w.start(|w| {
///         w.spawn_all((0..100).step_by(2).map(|n| move |_: &mut JobWorker<'_, '_>| {
///             sum.fetch_add(n, Ordering::Relaxed);
///         }));
///     });
///     w.wait(evens);
///     sum.load(Ordering::Relaxed)
/// });
/// assert_eq!(outcome.result, 2450);
/// assert_eq!(outcome.tallies.iter().map(|tally| tally.run).sum::<u64>(), 51);
/// ```
pub struct Jobs<Q: Queue<Native> = ChaseLev> {
    settings: Worklist<Q>,
    spare: Spare,
}

impl<Q: Queue<Native>> fmt::Debug for Jobs<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Jobs {
    /// A system with so many workers, at least one, on Chase–Lev deques.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(workers: usize) -> Self {
        Worklist::new(workers).into()
    }
}

/// The same settings for jobs.
impl<Q: Queue<Native>> From<Worklist<Q>> for Jobs<Q> {
    fn from(settings: Worklist<Q>) -> Self {
        Self { settings, spare: Spare::default() }
    }
}

impl<Q: Queue<Native>> Jobs<Q> {
    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.settings.workers
    }

    /// The same on queues of another kind.
    ///
    /// ```
    /// use filch::jobs::Jobs;
    /// use filch_queue::Wsq;
    ///
    /// let outcome = Jobs::new(2).queue::<Wsq>(Default::default()).run(|w| w.spawn(|_| ()));
    /// assert!(outcome.is_complete);
    /// ```
    #[must_use]
    pub fn queue<R: Queue<Native>>(self, params: R::Params) -> Jobs<R> {
        self.settings.queue(params).into()
    }

    /// The same with room for so many jobs in each worker's queue. What finds no room stays with its worker.
    ///
    /// # Panics
    /// If `capacity` is 0. A run panics if it is more than the queue can count.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Self {
        Self { settings: self.settings.capacity(capacity), ..self }
    }

    /// The same with thieves that take up to `most` jobs at once: one to run, the others for their own queue.
    ///
    /// ```
    /// use filch::jobs::Jobs;
    /// use filch_queue::Wsq;
    ///
    /// let outcome = Jobs::new(2).queue::<Wsq>(Default::default()).loot(16).run(|w| w.spawn(|_| ()));
    /// assert!(outcome.is_complete);
    /// ```
    ///
    /// # Panics
    /// If `most` is 0.
    #[must_use]
    pub fn loot(self, most: usize) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        Self { settings: self.settings.loot(most), ..self }
    }

    /// What stops the runs of this system early, from anywhere: jobs that have not begun are dropped.
    ///
    /// ```
    /// use filch::jobs::{JobWorker, Jobs};
    ///
    /// fn again<'s>(w: &mut JobWorker<'s, '_>) {
    ///     w.spawn(again);
    /// }
    /// let jobs = Jobs::new(2);
    /// let stop = jobs.stop();
    /// let outcome = jobs.run(|w| {
    ///     w.spawn(again); // for ever
    ///     w.spawn(move |_| stop.stop());
    /// });
    /// assert!(!outcome.is_complete);
    /// ```
    pub fn stop(&self) -> Stop {
        self.settings.stop()
    }

    /// Runs `body` on the calling thread, as the first worker, and the jobs that it makes, and theirs, on all; returns when all
    /// are over. Jobs may borrow what is around the run.
    ///
    /// Cost: a thread for each worker but one. Memory: 64 bytes for each job that is not over, in blocks of 64 KiB that are used
    /// again, also by the next run, and freed with the system.
    ///
    /// # Panics
    /// If `body` or a job does, with the payload of the first, once all workers have stopped. Jobs that have not begun are
    /// dropped.
    ///
    /// ```compile_fail
    /// // What a job borrows has to outlast the run.
    /// filch::jobs::Jobs::new(2).run(|w| {
    ///     let local = 1;
    ///     w.spawn(|_| assert_eq!(local, 1));
    /// });
    /// ```
    pub fn run<'env, R>(&self, body: impl for<'s> FnOnce(&mut JobWorker<'s, 'env, Q>) -> R) -> Outcome<R> {
        const {
            assert!(
                matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce),
                "the queue may return a task twice: a job is gone once it has run"
            );
        };
        let Worklist { workers, capacity, ref params, loot, ref stop, .. } = self.settings;
        let shared = Shared::new(stop, loot, &self.spare);
        let mut tallies = vec![Tally::default(); workers];
        let mut hands = deal_any::<Q>(workers, capacity, params).into_iter().enumerate();
        let own = hands.next();
        let result = std::thread::scope(|scope| {
            let shared = &shared;
            let (mine, others) = tallies.split_at_mut(1);
            for ((index, hand), tally) in hands.zip(others) {
                let live = move || {
                    // Others use its blocks.
                    abort_on_panic("a worker of a job system panicked", || {
                        let mut worker = JobWorker::<Q>::new(index, hand, shared);
                        worker.live();
                        *tally = worker.post.tally;
                    });
                };
                let thread = std::thread::Builder::new().name(format!("filch jobs {index}"));
                // If there is no thread to be had, there are fewer workers.
                let _ = thread.spawn_scoped(scope, live);
            }
            let (index, hand) = own?;
            abort_on_panic("the first worker of a job system panicked", || {
                let mut worker = JobWorker::new(index, hand, shared);
                let result = catch_unwind(AssertUnwindSafe(|| body(&mut worker)));
                let result = result.map_err(|payload| shared.has_panicked(payload)).ok();
                worker.finish(NonNull::from(&shared.root));
                worker.live();
                mine[0] = worker.post.tally;
                result
            })
        });
        let is_complete = !shared.is_stopped();
        shared.panic.resume();
        let result = result.expect("what keeps the body from returning is resumed");
        Outcome { result, tallies, is_complete }
    }
}

/// What has come of a run.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// What the body returned.
    pub result: R,
    /// What each worker has done.
    pub tallies: Vec<Tally>,
    /// Whether all jobs were run: nobody has called [`Stop::stop`].
    pub is_complete: bool,
}
