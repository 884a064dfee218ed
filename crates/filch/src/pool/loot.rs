//! What can be set of a pool on a word queue; and stealing several tasks at once.
//!
//! This file and [`queued`](super::queued) need each other, for they are one pool: this is what it does with several tasks.
//!
//! **Idea.** A thief that wins several tasks runs the oldest one and keeps the others in its own queue, where further thieves find them. So
//! the tasks of one worker are spread by halves instead of one by one.
//!
//! **Invariants.**
//! * L1: only an idle worker hauls. Nothing lies on its stack, and its own queue is empty; so what it keeps is older than whatever it forks
//!   afterwards, and a join finds the word of its own task first or, if that was stolen, sees from the word that it is another's.
//! * L2: a job is [claimed](crate::protocol::state::JobState::keep) before its word is pushed, so its owner knows that it is stolen, and
//!   whoever wins the word learns whose it is.
//! * L3: an idle worker takes what it has kept before it looks elsewhere, so it does not sleep, nor leave its seat to a guest, while it
//!   keeps anything; and while it works, thieves see it like any other word.
//!
//! **Progress.** An owner may sleep for a job that nobody runs yet. Its keeper runs something else meanwhile, which it won before. That
//! waits for nothing but its own forks, and no job that is kept is among them: it was forked by somebody else. So the keeper comes back to it.
//!
//! **Leapfrogging.** What a thief keeps does not descend from what it runs, so who waits strictly must not run it; such a pool
//! [is refused](refusal).

use std::any::type_name;
use std::fmt;
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::{Queue, Steal, StealMany, Stealable, Task, Thief};

use super::queued::{Thieves, job_to_task, task_to_job};
use super::{Plumbing, Queued};
use crate::deal::steal_by;
use crate::here::IdleHere;
use crate::policy::Wait;
use crate::slot::Job;
use crate::worker_queue::Loot;

/// What can be set of a pool on the queue `Q`: the queue's own parameters, and how many tasks a thief takes at once.
///
/// ```
/// use std::time::Duration;
///
/// use filch::Builder;
/// use filch::pool::{QueueSettings, Queued};
/// use filch_queue::{Lace, PdqS, pdq::sender};
///
/// let often = sender::Params { gap: Duration::from_micros(5), ..Default::default() };
/// let dealt = Builder::<Queued<PdqS>>::new().workers(2).settings(QueueSettings::of(often)).build()?;
/// assert_eq!(dealt.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///
/// let by_halves = QueueSettings::default().loot(usize::MAX);
/// let lace = Builder::<Queued<Lace>>::new().workers(2).settings(by_halves).build()?;
/// assert_eq!(lace.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
pub struct QueueSettings<Q: Queue<Native>> {
    /// The queue's own.
    pub params: Q::Params,
    /// `None`: one at a time.
    pub(super) loot: Option<Loot<Q>>,
}

impl<Q: Queue<Native>> QueueSettings<Q> {
    /// The queue's parameters, and thieves that take one task at a time.
    pub fn of(params: Q::Params) -> Self {
        Self { params, loot: None }
    }

    /// The same with thieves that take up to `most` tasks at once, if they are idle: one to run, the others for their own queue. How many
    /// of a victim's tasks these are, the queue's parameters say.
    ///
    /// A task may have to wait until one has ended that the same thief took with it, where thieves get nothing without the owner's answer. So
    /// no branch must wait until another has started.
    ///
    /// A pool whose thieves do so must not [wait](crate::Wait) strictly, nor be interrupted by
    /// [signals](crate::Interrupts::signal) if its owners answer thieves: [`BuildError::Unfit`](crate::BuildError::Unfit).
    ///
    /// # Panics
    /// If `most` is 0.
    #[must_use]
    pub fn loot(self, most: usize) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        Self { loot: Some(Loot::up_to(most)), ..self }
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
        let most = self.loot.map_or(1, |loot| loot.most);
        f.debug_struct("QueueSettings")
            .field("queue", &type_name::<Q>())
            .field("params", &self.params)
            .field("loot", &most)
            .finish()
    }
}

/// Why thieves cannot take several tasks at once in a pool that waits so, and whose owners answer from a signal's handler or do not.
pub(super) fn refusal(wait: Wait, answers_signals: bool) -> Option<&'static str> {
    if wait.is_strict() {
        return Some(
            "a thief that takes several tasks keeps some that do not descend from the one it runs, and whoever leapfrogs strictly \
             must not meet them: take one at a time, or wait by 'leapfrog-random' or 'random'",
        );
    }
    answers_signals.then_some(
        "an owner that answers in a signal's handler has no room for several tasks at once: let thieves take one at a time, or \
         interrupt by a flag",
    )
}

impl<Q: Queue<Native>> Queued<Q> {
    /// Tries to take several tasks from `victim`; keeps all but one.
    ///
    /// An idle worker's: L1.
    #[cold]
    pub(super) fn haul_by(here: &IdleHere<'_, '_, Self>, victim: usize, loot: Loot<Q>) -> Steal<NonNull<Job>> {
        let (pool, index) = (here.pool(), here.home().index);
        let Thieves::Own(thieves) = &pool.seen().thieves else {
            unreachable!("who takes several has handles of its own")
        };
        // SAFETY: until the end of this function, which calls only operations of queues.
        let Some(handle) = (unsafe { pool.handle(thieves, victim) }) else { return Steal::Empty };
        // SAFETY: the list is this thread's, and nothing called here comes back to it.
        let spoils = unsafe { &mut *pool.spoils.get() };
        let attempt = |handle: &mut Q::Thief| loot.take(handle, spoils);
        // SAFETY: an attempt is an operation of the queues.
        let first = match unsafe { pool.with_owner(|owner| steal_by::<Q>(owner, handle, attempt)) } {
            Steal::Task(task) => task_to_job(task),
            other => return other.map(task_to_job),
        };
        if matches!(Q::PROMISES.stealable, Stealable::OnRequest) {
            // What has come in answer to a request that was to be withdrawn: nobody else could take it from the handle.
            spoils.extend(std::iter::from_fn(|| handle.quiesce()));
        }
        for job in spoils.drain(..).map(task_to_job) {
            // SAFETY: the queue made this thread the only one entitled to the job, whose owner waits for it to be settled.
            let state = &unsafe { job.as_ref() }.state;
            // L2.
            if state.claim_again(index).is_none() {
                state.keep(index, victim);
            }
            here.home().counters.steals.bump();
            // SAFETY: the job stays where it is until it is settled, for it is claimed.
            if !unsafe { Self::push_word(here, job) } {
                // SAFETY: the list is this thread's, and adding to it calls nothing.
                unsafe { &mut *pool.kept.get() }.push(job_to_task(job));
            }
        }
        Steal::Task(first)
    }

    /// What the worker has kept: the newest of it. An idle one has nothing else in its queue.
    pub(super) fn newest_kept(idle: &IdleHere<'_, '_, Self>) -> Option<NonNull<Job>> {
        let pool = idle.pool();
        pool.loot?;
        // SAFETY: the list is this thread's, and taking from it calls nothing.
        pool.pop_own().or_else(|| unsafe { &mut *pool.kept.get() }.pop().map(task_to_job))
    }
}
