//! A worker's queue, and its handles to steal from the other workers' queues, for tasks that nobody joins.

use std::sync::Arc;
use std::time::Instant;

use filch_memory::count::stealing;
use filch_memory::{Memory, Native, Ordering};
use filch_queue::{Counted, Counts, Hand, Owner as _, Queue, Steal, Task, Thief as _};

use crate::shared::handles::{Loot, count_in, steal_by};
use crate::shared::near::Near;
use crate::shared::policy::{Habits, OnLoss};
use crate::worker::patience::Patience;

/// The counts of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Tasks that it has pushed, including, on the worker that starts a list, the initial tasks; but not stolen tasks
    /// that it keeps in its queue.
    pub pushed: u64,
    /// Tasks that it has run. A task returned twice counts twice.
    pub run: u64,
    /// Tasks that it has stolen.
    pub stolen: u64,
    /// Its attempts to steal.
    pub attempts: u64,
    /// Attempts that lost a race, to another thief or to the owner.
    pub lost: u64,
    /// Attempts that were refused, though there may have been a task: too close to the owner, for instance.
    pub aborted: u64,
    /// Items that it has split off its [bags](crate::worklist::Bag) for others.
    pub given: u64,
    /// Nanoseconds without a task: asleep, or looking for a task after a failed look.
    pub idle_ns: u64,
    /// Its counts at queues whose algorithms count.
    pub queue: Counted,
}

/// A worker's own queue, its overflow, and its handles to the others' queues.
pub(crate) struct WorkerQueue<Q: Queue<Native>> {
    owner: Q::Owner,
    thieves: Vec<Option<Q::Thief>>,
    overflow: Vec<Task>,
    /// How thieves take several tasks; `None` if they take one at a time.
    loot: Option<Loot<Q>>,
    /// The surplus of a theft until it is pushed; otherwise empty.
    spoils: Vec<Task>,
    index: usize,
    habits: Habits,
    near: Option<Arc<Near>>,
    /// The victim of its last steal; at first itself.
    last_victim: usize,
    random: fastrand::Rng,
    pub(crate) tally: Tally,
    /// When it became idle; `None` while it is not.
    idle_since: Option<Instant>,
    /// The handles' counts, now and at the end of the last run.
    counts: Arc<Counts>,
    counted: Counted,
}

impl<Q: Queue<Native>> WorkerQueue<Q> {
    pub(crate) fn new(
        index: usize,
        mut hand: Hand<Q>,
        loot: Option<Loot<Q>>,
        habits: Habits,
        near: Option<Arc<Near>>,
    ) -> Self {
        let counts = count_in::<Q>(&mut hand);
        let (owner, thieves) = hand;
        let random = fastrand::Rng::with_seed(index as u64);
        let (overflow, spoils, tally) = (Vec::new(), Vec::new(), Tally::default());
        Self {
            owner,
            thieves,
            overflow,
            loot,
            spoils,
            index,
            habits,
            near,
            last_victim: index,
            random,
            tally,
            idle_since: None,
            counts,
            counted: Counted::default(),
        }
    }

    /// Notes that the worker has found no task, or none yet.
    pub(crate) fn fall_idle(&mut self) {
        self.idle_since.get_or_insert_with(Instant::now);
    }

    /// Notes that the worker has found a task, or that its wait is over: no request [stands](Queue::STANDS) any more,
    /// and what one has brought is in the worker's queue.
    pub(crate) fn get_busy(&mut self) {
        if let Some(since) = self.idle_since.take() {
            self.tally.idle_ns += since.elapsed().as_nanos() as u64;
        }
        while let Some(task) = self.settle() {
            self.push(task);
        }
    }

    /// Settles the request that stands, if one does. Returns a task that it has brought.
    pub(crate) fn settle(&mut self) -> Option<Task> {
        if !Q::STANDS {
            return None;
        }
        let task = self.thieves.iter_mut().flatten().find_map(filch_queue::Thief::quiesce)?;
        self.tally.stolen += 1;
        Some(task)
    }

    /// Returns the worker's tally of a run that is over, and starts a new tally.
    pub(crate) fn take_tally(&mut self) -> Tally {
        self.get_busy();
        let earlier = std::mem::replace(&mut self.counted, self.counts.read());
        Tally { queue: self.counted.since(&earlier), ..std::mem::take(&mut self.tally) }
    }

    /// Returns the handles' counts.
    pub(crate) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.thieves.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, task: Task) {
        if let Err(full) = self.owner.push(task) {
            self.overflow.push(full.0);
        }
    }

    /// Pushes all of `tasks`, and leaves none there.
    pub(crate) fn push_all(&mut self, tasks: &mut Vec<Task>) {
        let pushed = self.owner.push_many(tasks);
        self.overflow.extend(tasks.drain(..).skip(pushed));
    }

    /// Answers thieves.
    #[inline]
    pub(crate) fn poll(&mut self) {
        self.owner.poll();
    }

    /// Answers thieves for the last time in a while. What a request that stood has brought stays in the queue.
    pub(crate) fn rest(&mut self) {
        self.get_busy();
        self.owner.poll();
        // If a panic ended a bag, the worker's offer still stands.
        self.owner.offers(false);
        self.owner.rest();
    }

    /// Whether there are other workers, and somebody would take a task.
    pub(crate) fn is_wanting(&mut self) -> bool {
        self.thieves.len() > 1 && self.owner.is_wanting()
    }

    /// Says whether there is something to give besides the tasks in the queue.
    pub(crate) fn offers(&mut self, more: bool) {
        self.owner.offers(more);
    }

    /// Whether there are other workers, and nothing here for them to steal.
    #[inline]
    pub(crate) fn wants_tasks(&self) -> bool {
        self.thieves.len() > 1 && self.owner.len_hint() == 0
    }

    /// Whether another worker may have work.
    pub(crate) fn sees_any(&self) -> bool {
        self.thieves.iter().flatten().any(filch_queue::Thief::has_work_hint)
    }

    /// Takes the next task from the worker's own queue.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Task> {
        self.owner.pop().or_else(|| self.pop_overflow())
    }

    /// Takes a task from the overflow, and moves as many others as fit to the queue, where thieves can take them.
    #[cold]
    fn pop_overflow(&mut self) -> Option<Task> {
        let next = self.overflow.pop()?;
        if Q::FENCES_POPS {
            // Like any other pop of this queue.
            Native::fence(Ordering::SeqCst);
        }
        while let Some(task) = self.overflow.pop() {
            if let Err(full) = self.owner.push(task) {
                self.overflow.push(full.0);
                break;
            }
        }
        Some(next)
    }

    /// Returns how long it looks for tasks, and what it does then.
    pub(crate) fn patience(&self) -> Patience {
        Patience::then(self.habits.idle)
    }

    /// Tries each other worker once. Pushes the surplus of a theft. A request may then stand until the worker [gets
    /// busy](Self::get_busy), or [settles](Self::settle) it.
    pub(crate) fn steal(&mut self) -> Option<Task> {
        let room = self.loot.map_or(0, |loot| self.owner.room_for_loot(loot.haul.most - 1));
        // Taken out, not cloned: a clone would update the `Arc`'s count, in a cache line that all workers use.
        if let Some(near) = self.near.take() {
            let found = near.order(self.index, self.random.usize(..)).find_map(|victim| self.steal_from(victim, room));
            self.near = Some(near);
            return found;
        }
        let workers = self.workers();
        let random = self.random.usize(..workers);
        let mut order = self.habits.victims.order(workers, self.index, self.last_victim, random);
        order.find_map(|victim| self.steal_from(victim, room))
    }

    fn steal_from(&mut self, victim: usize, room: usize) -> Option<Task> {
        let thief = self.thieves[victim].as_mut()?;
        loop {
            self.tally.attempts += 1;
            let attempt = |thief: &mut Q::Thief| {
                stealing(|| match self.loot {
                    None => thief.steal(),
                    Some(loot) => loot.take(thief, room, &mut self.spoils),
                })
            };
            let stolen = steal_by::<Q>(&mut self.owner, thief, Q::STANDS, attempt, || {});
            match stolen {
                Steal::Task(task) => {
                    self.last_victim = victim;
                    self.tally.stolen += 1 + self.spoils.len() as u64;
                    let mut spoils = std::mem::take(&mut self.spoils);
                    self.push_all(&mut spoils);
                    self.spoils = spoils;
                    return Some(task);
                }
                Steal::Retry => {
                    self.tally.lost += 1;
                    if self.habits.on_loss == OnLoss::GiveUp {
                        return None;
                    }
                    std::hint::spin_loop();
                }
                Steal::Aborted => {
                    self.tally.aborted += 1;
                    return None;
                }
                Steal::Empty | Steal::Pending => return None,
            }
        }
    }

    /// Takes all remaining tasks, once nobody steals any more.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Task> {
        let thieves = self.thieves.iter_mut().flatten();
        let outstanding = thieves.flat_map(|thief| std::iter::from_fn(|| thief.quiesce()));
        outstanding.chain(std::iter::from_fn(|| self.owner.pop())).chain(self.overflow.drain(..))
    }
}
