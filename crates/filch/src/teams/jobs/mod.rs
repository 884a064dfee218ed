//! Jobs: closures that are spawned and forgotten, or awaited together with all that they spawn.
//!
//! **Source.** The job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>, at its commit 3380d0f.
//!
//! **Idea.** A job is over when it has run and all its children are over. A worker that waits for one runs its own
//! jobs, newest first, or steals others. A join needs a frame that stays; a job needs a place of 64 bytes in a block of
//! its maker.
//!
//! **Queues.** Any queue of [`filch_queue`] that returns each task once. On a first-in, first-out queue, waits nest
//! deeply.
//!
//! **Threads.** Each run has its own threads, including the caller. [`Jobs::run`] starts them; a [`Team`] keeps them
//! for the next run.
//!
//! **Departures.** The source's workers live as long as the program; here a run has a beginning and an end, so that
//! jobs can borrow from its surroundings. The source's thieves ask for up to 64 jobs at once; ours ask for one, unless
//! [`Jobs::loot`] sets more. The source's kicker runs jobs until its queue has room; ours keeps the others aside. In
//! the source a job may have no parent, but counts its own end by an update in any case, and each child by two more, as
//! [`Parts::OneByOne`] does; its decrements are relaxed. For the orderings of ours, see
//! [`lineage`](crate::protocol::lineage).
//!
//! Invariant: each job is run or dropped once, and none is left when a run returns.

mod blocks;
mod handle;
pub(crate) mod kicked;
mod shared;
mod team;
mod worker;

use std::fmt;
use std::sync::Arc;

use filch_memory::Native;
use filch_queue::{ChaseLev, Queue, StealMany, Task};

use self::blocks::Spare;
pub use self::handle::Job;
pub use self::shared::Parts;
pub use self::team::{Outcome, Team};
pub use self::worker::JobWorker;
use crate::loops::stop::Stop;
use crate::shared::policy::{Haul, Idle, OnLoss, Victims};
use crate::teams::worklist::Worklist;
pub use crate::teams::worklist::{StartError, Tally};

/// A job system: its settings, and [`run`](Self::run).
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
    /// Shared with the teams started from here.
    spare: Arc<Spare>,
    parts: Parts,
}

impl<Q: Queue<Native>> fmt::Debug for Jobs<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Jobs {
    /// Creates a system with this many workers, at least one, on Chase–Lev deques.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(workers: usize) -> Self {
        Worklist::new(workers).into()
    }
}

/// Uses a worklist's settings for jobs.
impl<Q: Queue<Native>> From<Worklist<Q>> for Jobs<Q> {
    fn from(settings: Worklist<Q>) -> Self {
        Self { settings, spare: Arc::default(), parts: Parts::default() }
    }
}

impl<Q: Queue<Native>> Jobs<Q> {
    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.settings.workers
    }

    /// Sets the kind of queue, and its parameters.
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
        Jobs { parts: self.parts, ..self.settings.queue(params).into() }
    }

    /// Sets how the parts of jobs are counted.
    #[must_use]
    pub fn parts(self, parts: Parts) -> Self {
        Self { parts, ..self }
    }

    /// Sets the capacity of each worker's queue. Jobs beyond it stay with their worker.
    ///
    /// # Panics
    /// If `capacity` is 0. A run panics if the queue cannot count that many.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Self {
        Self { settings: self.settings.capacity(capacity), ..self }
    }

    /// Lets thieves take several jobs at once: one to run, the others for their own queue. A number is the most jobs
    /// that they take.
    ///
    /// ```
    /// use filch::jobs::Jobs;
    /// use filch_queue::Wsq;
    ///
    /// let outcome = Jobs::new(2).queue::<Wsq>(Default::default()).loot(64).run(|w| w.spawn(|_| ()));
    /// assert!(outcome.is_complete);
    /// ```
    ///
    /// # Panics
    /// If thieves could take no job.
    #[must_use]
    pub fn loot(self, haul: impl Into<Haul>) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        Self { settings: self.settings.loot(haul), ..self }
    }

    /// Sets which victims thieves try first.
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

    /// Sets what workers do while they find no job.
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

    /// Sets what a thief does after it has lost a race for a job.
    ///
    /// ```
    /// use filch::{OnLoss, jobs::Jobs};
    ///
    /// assert!(Jobs::new(2).on_loss(OnLoss::GiveUp).run(|w| w.spawn(|_| ())).is_complete);
    /// ```
    #[must_use]
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { settings: self.settings.on_loss(on_loss), ..self }
    }

    /// Returns a handle that stops this system's runs early, from any thread: jobs that have not begun are dropped.
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

    /// Sets whether to bind each worker's thread to its own processor, as [`Worklist::pin`] does.
    #[must_use]
    pub fn pin(self, pin: bool) -> Self {
        Self { settings: self.settings.pin(pin), ..self }
    }

    /// Starts the threads and makes the queues, for any number of runs: see [`Team`].
    ///
    /// # Errors
    /// [`StartError`] if the system refuses a thread or, with [`pin`](Self::pin), a processor.
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
        Ok(Team::new(members, self.stop(), Arc::clone(&self.spare), self.parts))
    }

    /// Runs `body` on the calling thread, as the first worker, and all its descendant jobs on all workers; returns when
    /// all are over. Jobs may borrow from the run's surroundings.
    ///
    /// Cost: queues, and a thread for each worker but one, or fewer if the system refuses some; a [`Team`] has both
    /// already. Memory: 64 bytes for each job that is not over, in blocks of 64 KiB, which later runs reuse and which
    /// are freed with the system and its teams.
    ///
    /// # Panics
    /// If `body` or a job panics, with the payload of the first, once all workers have stopped. Jobs that have not
    /// begun are dropped.
    ///
    /// ```compile_fail
    /// // A job's borrows must outlive the run.
    /// filch::jobs::Jobs::new(2).run(|w| {
    ///     let local = 1;
    ///     w.spawn(|_| assert_eq!(local, 1));
    /// });
    /// ```
    pub fn run<'env, R>(&self, body: impl for<'s> FnOnce(&mut JobWorker<'s, 'env, Q>) -> R) -> Outcome<R> {
        let members = self.settings.settings(NAME).start_what_can_be();
        Team::new(members, self.stop(), Arc::clone(&self.spare), self.parts).run(body)
    }
}

/// The name of the threads, before their number.
const NAME: &str = "filch jobs";
