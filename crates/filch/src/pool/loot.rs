//! The settings of a pool on a word queue; its words; and stealing several tasks at once.
//!
//! This file and [`queued`](super::queued) refer to each other, since they are one pool: this one handles several tasks
//! at once.
//!
//! **Idea.** A thief that wins several tasks runs one and keeps the others in its own queue, where other thieves find
//! them. So the tasks of one worker spread by halves instead of one by one. A thief runs the [newest](super::First)
//! first, as in Lace's paper, unless its settings say otherwise.
//!
//! **Invariants.**
//! * L1: only an idle worker hauls, or has a request that stands and is answered while the worker finds something else.
//!   Its stack is empty and its own queue holds no forks of its own, so the tasks it keeps are older than any it forks
//!   afterwards. A join then finds the word of its own task first or, if its task was stolen, another word.
//! * L2: a thief [claims](crate::protocol::state::JobState::keep) a job before it pushes the word, so the owner knows
//!   that the job is stolen, and the winner of the word learns the owner.
//! * L3: an idle worker takes its kept tasks before it looks elsewhere, so it neither sleeps nor leaves its seat to a
//!   guest while it keeps any; and while it works, thieves see the kept tasks in its queue like any other word.
//!
//! **Progress.** An owner may sleep for a job that nobody runs yet, because the job's keeper runs another task. That
//! task waits only for its own forks. No kept job is one of these, since other workers forked the kept jobs. So the
//! keeper returns to the kept job.
//!
//! **Leapfrogging.** A thief's kept tasks do not descend from the task it runs, so a worker that waits strictly must
//! not run them; such a pool [is refused](refusal).

use std::any::type_name;
use std::fmt;
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::{Queue, Steal, StealMany, Stealable, Task, Thief};

use super::queued::Queued;
use crate::fork::here::{Here, IdleHere};
use crate::fork::slot::Job;
use crate::shared::handles::Loot;
use crate::shared::policy::{Haul, Wait};
use crate::worker::plumbing::Plumbing;

/// The settings of a pool on the queue `Q`: the queue's own parameters, and how many tasks a thief takes at once.
///
/// ```
/// use std::time::Duration;
///
/// use filch::Builder;
/// use filch::pool::{QueueSettings, Queued};
/// use filch_queue::{Lace, PdqSTold, pdq::sender};
///
/// let often = sender::Params { gap: Duration::from_micros(5), ..Default::default() };
/// let dealt = Builder::<Queued<PdqSTold>>::new().workers(2).settings(QueueSettings::of(often)).build()?;
/// assert_eq!(dealt.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///
/// let by_halves = QueueSettings::default().loot(usize::MAX);
/// let lace = Builder::<Queued<Lace>>::new().workers(2).settings(by_halves).build()?;
/// assert_eq!(lace.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
pub struct QueueSettings<Q: Queue<Native>> {
    /// The queue's own parameters.
    pub params: Q::Params,
    /// How thieves take several tasks; `None` if they take one at a time.
    pub(super) loot: Option<Loot<Q>>,
}

impl<Q: Queue<Native>> QueueSettings<Q> {
    /// Returns settings with these queue parameters, and with thieves that take one task at a time.
    pub fn of(params: Q::Params) -> Self {
        Self { params, loot: None }
    }

    /// Lets idle thieves take several tasks at once: one to run, the others for their own queue. A number is the most
    /// tasks that they take; within this limit, the queue's parameters say how many.
    ///
    /// On a queue whose thieves need the owner's answer, a stolen task may have to wait for the end of another that the
    /// same thief took with it. So no branch may wait for another to start.
    ///
    /// Such a pool must not [wait](crate::Wait) strictly, nor be interrupted by [signals](crate::Interrupts::signal) if
    /// its owners answer thieves: otherwise building it returns [`BuildError::Unfit`](crate::BuildError::Unfit).
    ///
    /// # Panics
    /// If thieves could take no task.
    #[must_use]
    pub fn loot(self, haul: impl Into<Haul>) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        Self { loot: Some(Loot::of(haul.into())), ..self }
    }
}

impl<Q: Queue<Native>> Clone for QueueSettings<Q> {
    fn clone(&self) -> Self {
        Self { params: self.params.clone(), loot: self.loot }
    }
}

impl<Q: Queue<Native>> Default for QueueSettings<Q> {
    fn default() -> Self {
        Self::of(Q::Params::default())
    }
}

impl<Q: Queue<Native>> fmt::Debug for QueueSettings<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueSettings")
            .field("queue", &type_name::<Q>())
            .field("params", &self.params)
            .field("loot", &self.loot.map(|loot| loot.haul))
            .finish()
    }
}

/// Returns why thieves cannot take several tasks at once in a pool that waits in this way, and whose owners answer from
/// a signal handler if `answers_signals`; `None` if they can.
pub(super) fn refusal(wait: Wait, answers_signals: bool) -> Option<&'static str> {
    if wait.is_strict() {
        return Some(
            "a thief that takes several tasks keeps some that do not descend from the one it runs, and a strict leapfrogger must \
             not run them: take one at a time, or wait by 'leapfrog-random' or 'random'",
        );
    }
    answers_signals.then_some(
        "an owner that answers in a signal handler has no room for several tasks at once: let thieves take one at a time, or \
         interrupt by a flag",
    )
}

impl<Q: Queue<Native>> Queued<Q> {
    /// Tries to take several tasks from `victim`, and keeps all but one.
    ///
    /// For an idle worker (L1).
    #[cold]
    pub(super) fn haul_by(here: &IdleHere<'_, '_, Self>, victim: usize, loot: Loot<Q>) -> Steal<NonNull<Job>> {
        let (pool, index) = (here.pool(), here.home().index);
        let mut spoils = pool.spoils.take();
        let attempt = |thief: &mut Q::Thief| {
            let insists = || here.home().want_answer(victim);
            let first = pool.attempt(thief, Q::STANDS, |thief| loot.take(thief, usize::MAX, &mut spoils), insists);
            if matches!(first, Steal::Task(_)) && matches!(Q::PROMISES.stealable, Stealable::OnRequest) {
                // The handle may hold answers to a request that was being withdrawn. No other thief could take them
                // from it.
                spoils.extend(std::iter::from_fn(|| thief.quiesce()));
            }
            first.map(|task| (task_to_job(task), thief.taken_from().unwrap_or(victim)))
        };
        let stolen = pool.with_thief(victim, attempt).unwrap_or(Steal::Empty);
        let first = stolen.map(|(first, giver)| {
            // SAFETY: the queue gave the jobs to this thread alone; once claimed, each stays where it is until it is
            // settled.
            unsafe {
                if giver != victim {
                    keep(first, index, giver);
                }
                spoils.drain(..).for_each(|task| Self::keep_stolen(here, task_to_job(task), giver));
            }
            first
        });
        pool.spoils.set(spoils);
        first
    }

    /// Keeps a job that the worker has stolen.
    ///
    /// # Safety
    /// The worker is idle (L1), and the queue gave the job to this thread alone.
    unsafe fn keep_stolen(here: &Here<'_, Self>, job: NonNull<Job>, giver: usize) {
        let home = here.home();
        // SAFETY: the caller's promise. L2; once claimed, the job stays where it is until it is settled.
        let has_room = unsafe {
            keep(job, home.index, giver);
            Self::push_word(here, job)
        };
        home.counters.steals.bump();
        home.counters.migrations.bump();
        if !has_room {
            here.pool().with_kept(|kept| kept.push(job_to_task(job)));
        }
    }

    /// Settles the request that [stands](Queue::STANDS), and keeps what it has brought. Only an idle worker's stands,
    /// and the worker is idle until this is done.
    pub(super) fn keep_dealt(here: &Here<'_, Self>) {
        if Q::STANDS {
            while let Some((job, giver)) = here.pool().settle() {
                // SAFETY: an answer has come, so the worker is idle; and the queue gave the job to this thread alone.
                unsafe { Self::keep_stolen(here, job, giver) };
            }
        }
    }

    /// Returns the newest task that the worker has kept. An idle worker has no other tasks in its queue.
    pub(super) fn newest_kept(idle: &IdleHere<'_, '_, Self>) -> Option<NonNull<Job>> {
        let pool = idle.pool();
        if pool.loot.is_none() && !Q::STANDS {
            return None;
        }
        pool.pop_own().or_else(|| pool.with_kept(Vec::pop).map(task_to_job))
    }
}

/// Claims a job for the worker `thief`, and records `owner` in it, unless an earlier thief has recorded the job's
/// owner. So the worker that runs the job learns its owner.
///
/// # Safety
/// The queue gave the job to this thread alone.
pub(super) unsafe fn keep(job: NonNull<Job>, thief: usize, owner: usize) {
    // SAFETY: the caller's promise; and the owner waits until the job is settled.
    let state = &unsafe { job.as_ref() }.state;
    if state.claim_again(thief).is_none() {
        state.keep(thief, owner);
    }
}

/// Converts a job to the word that goes through a queue.
pub(super) fn job_to_task(job: NonNull<Job>) -> Task {
    Task::from_ptr(job)
}

/// The inverse of [`job_to_task`].
pub(super) fn task_to_job(task: Task) -> NonNull<Job> {
    task.as_ptr()
}
