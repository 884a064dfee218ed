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
//! **Threads.** A run has threads of its own, and the caller is one of them. [`Jobs::run`] starts them; a [`Team`] keeps them for the next
//! run.
//!
//! **Departures.** The source's workers live as long as the program; here a run has a beginning and an end, so that jobs can borrow
//! what is around it. The source's thieves ask for up to 16 jobs at once; here for one, unless [`Jobs::loot`] says otherwise.
//! Its decrements are relaxed; see [`lineage`](crate::protocol::lineage) for those here.
//!
//! What must always hold: each job is run or dropped once, and no job is left when a run returns.

mod blocks;
mod shared;
mod team;
mod worker;

use std::fmt;
use std::sync::Arc;

use filch_memory::Native;
use filch_queue::{ChaseLev, Queue, StealMany, Task};

use self::blocks::Spare;
pub use self::team::Team;
pub use self::worker::{Job, JobWorker};
use crate::policy::{Idle, Victims};
use crate::worklist::Worklist;
pub use crate::worklist::{StartError, Stop, Tally};

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
    /// Also of the teams that were started from here.
    spare: Arc<Spare>,
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
        Self { settings, spare: Arc::default() }
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

    /// The same with thieves that try these victims first.
    ///
    /// ```
    /// use filch::{Victims, jobs::Jobs};
    ///
    /// assert!(Jobs::new(2).victims(Victims::Next).run(|w| w.spawn(|_| ())).is_complete);
    /// ```
    #[must_use]
    pub fn victims(self, victims: Victims) -> Self {
        Self { settings: self.settings.victims(victims), ..self }
    }

    /// The same with workers that do this while they find no job.
    ///
    /// ```
    /// use filch::{Idle, jobs::Jobs};
    ///
    /// assert!(Jobs::new(2).idle(Idle::Spin).run(|w| w.spawn(|_| ())).is_complete);
    /// ```
    #[must_use]
    pub fn idle(self, idle: Idle) -> Self {
        Self { settings: self.settings.idle(idle), ..self }
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

    /// Whether to bind each worker's thread to a processor of its own: as [`Worklist::pin`].
    #[must_use]
    pub fn pin(self, pin: bool) -> Self {
        Self { settings: self.settings.pin(pin), ..self }
    }

    /// Starts the threads and makes the queues, for any number of runs: see [`Team`].
    ///
    /// # Errors
    /// [`StartError`], if the system refuses a thread or, with [`pin`](Self::pin), a processor.
    ///
    /// ```
    /// let mut team = filch::jobs::Jobs::new(2).start()?;
    /// for _ in 0..3 {
    ///     assert!(team.run(|w| w.spawn(|_| ())).is_complete);
    /// }
    /// # Ok::<(), filch::jobs::StartError>(())
    /// ```
    pub fn start(&self) -> Result<Team<Q>, StartError> {
        let members = self.settings.settings(NAME).start()?;
        Ok(Team::new(members, self.stop(), Arc::clone(&self.spare)))
    }

    /// Runs `body` on the calling thread, as the first worker, and the jobs that it makes, and theirs, on all; returns when all
    /// are over. Jobs may borrow what is around the run.
    ///
    /// Cost: queues, and a thread for each worker but one, which may be fewer if the system refuses them; a [`Team`] has both already.
    /// Memory: 64 bytes for each job that is not over, in blocks of 64 KiB that are used again, also by the next run, and freed with the
    /// system and its teams.
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
        let members = self.settings.settings(NAME).start_what_can_be();
        Team::new(members, self.stop(), Arc::clone(&self.spare)).run(body)
    }
}

/// What the threads are called, before their number.
const NAME: &str = "filch jobs";

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
