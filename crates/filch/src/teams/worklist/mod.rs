//! Worklists: unordered tasks that nobody awaits singly; a list is done when all its tasks are.
//!
//! **Paper.** The programs of Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work
//! Stealing with Private Deques*, PPoPP 2013, and of Maged Michael, Martin Vechev and Vijay Saraswat, *Idempotent Work
//! Stealing*, PPoPP 2009: searches of graphs and trees, where a task makes others and returns nothing.
//!
//! **Queues.** Any queue of [`filch_queue`]. This includes queues that fork–join cannot use: those that return the
//! oldest task first and, for [`Idempotent`] tasks in [`Worklist::run_idempotent`], those that may return a task twice.
//!
//! **Threads.** Each run has its own threads, including the caller: a worker of a thread pool that took part in two
//! worklists at once could wait for itself. [`Worklist::run`] starts the threads and makes the queues; a [`Team`] keeps
//! both for the next list.
//!
//! **The end.** A worker that sees no task learns nothing: it may have been refused as a thief, or wait for an answer.
//! So workers count, by [`termination`](crate::protocol::termination), tasks pushed and tasks run. If a queue may
//! return a task twice, those sums would be wrong. Then workers count how often they set out to look for work, and how
//! often they come home without any; [`End`] offers this for other queues too, and a third way. A worker is at home
//! when its own queue, which only it fills, is empty and it holds no task. If all have come home as often as they set
//! out, all were at home at some time between the two sums, so no task was left.
//!
//! Invariant: each task is run or dropped once (an idempotent one is run at least once); no task is left in a queue
//! when a run returns.

mod bag;
mod end;
mod item;
mod team;
mod worker;

use std::fmt;
use std::marker::PhantomData;

use filch_memory::Native;
use filch_queue::{ChaseLev, StealMany, Task};

pub use bag::{Bag, BagSplit, Bags};
pub use end::End;
#[doc(no_inline)]
pub use filch_queue::Queue;
pub use item::{Idempotent, Item};
pub use team::{Outcome, Team};
pub use worker::ListWorker;

use crate::loops::stop::Stop;
use crate::shared::handles::Loot;
use crate::shared::policy::{Habits, Haul, Idle, OnLoss, Victims};
pub use crate::teams::team::StartError;
use crate::teams::team::TeamSettings;
pub use crate::teams::worker_queue::Tally;

/// A worklist: its settings, and [`run`](Self::run).
///
/// ```
/// use filch::worklist::Worklist;
///
/// // The numbers reachable from 1 by doubling and tripling, up to a limit.
/// let found = Worklist::new(2).run(
///     [1_usize],
///     |_| Vec::new(),
///     |worker, found, n| {
///         found.push(n);
///         for next in [2 * n, 3 * n] {
///             if next <= 20 && (next % 3 == 0 || n % 3 != 0) {
///                 worker.push(next);
///             }
///         }
///     },
/// );
/// let mut found = found.states.concat();
/// found.sort_unstable();
/// found.dedup();
/// assert_eq!(found, [1, 2, 3, 4, 6, 8, 9, 12, 16, 18]);
/// ```
pub struct Worklist<Q: Queue<Native> = ChaseLev> {
    pub(crate) workers: usize,
    pub(crate) capacity: usize,
    pub(crate) params: Q::Params,
    pub(crate) loot: Option<Loot<Q>>,
    pub(crate) habits: Habits,
    /// How workers notice the end of its runs, if set.
    end: Option<End>,
    pub(crate) stop: Stop,
    pub(crate) pin: bool,
    queue: PhantomData<fn() -> Q>,
}

impl<Q: Queue<Native>> fmt::Debug for Worklist<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, capacity, params, .. } = self;
        let mut fields = f.debug_struct("Worklist");
        fields.field("queue", &Q::PROMISES.name).field("workers", workers);
        fields.field("capacity", capacity).field("params", params).finish_non_exhaustive()
    }
}

/// The capacity of each worker's queue unless [`Worklist::capacity`] sets another. Queues that grow start with it.
pub const DEFAULT_CAPACITY: usize = 1 << 13;

impl Worklist {
    /// Creates a worklist with this many workers, at least one, on Chase–Lev deques.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(workers: usize) -> Self {
        assert!(workers > 0, "a worklist needs a worker");
        Self {
            workers,
            capacity: DEFAULT_CAPACITY,
            params: (),
            loot: None,
            habits: Habits::default(),
            end: None,
            stop: Stop::default(),
            pin: false,
            queue: PhantomData,
        }
    }
}

impl<Q: Queue<Native>> Worklist<Q> {
    /// Sets the kind of queue, and its parameters.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    /// use filch_queue::BwosF;
    ///
    /// let sum = Worklist::new(2).queue::<BwosF>(Default::default()).run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
    /// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
    /// ```
    #[must_use]
    pub fn queue<R: Queue<Native>>(self, params: R::Params) -> Worklist<R> {
        let Self { workers, capacity, stop, pin, habits, .. } = self;
        Worklist { workers, capacity, params, loot: None, habits, end: None, stop, pin, queue: PhantomData }
    }

    /// Sets the capacity of each worker's queue. Tasks beyond it stay with their worker.
    ///
    /// # Panics
    /// If `capacity` is 0. A run panics if the queue cannot count that many.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Self {
        assert!(capacity > 0, "a queue needs room for a task");
        Self { capacity, ..self }
    }

    /// Lets thieves take several tasks at once: one to run, the others for their own queue. A number is the most tasks
    /// that they take.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    /// use filch_queue::Lace;
    ///
    /// let list = Worklist::new(2).queue::<Lace>(Default::default()).loot(16);
    /// let sum = list.run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
    /// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
    /// ```
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

    /// Sets which victims thieves try first.
    ///
    /// ```
    /// use filch::Victims;
    /// use filch::worklist::Worklist;
    ///
    /// let sum = Worklist::new(2).victims(Victims::Last).run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
    /// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
    /// ```
    #[must_use]
    pub fn victims(self, victims: Victims) -> Self {
        Self { habits: Habits { victims, ..self.habits }, ..self }
    }

    /// Sets what workers do while they find no task.
    ///
    /// ```
    /// use filch::Idle;
    /// use filch::worklist::Worklist;
    ///
    /// let sum = Worklist::new(2).idle(Idle::Spin).run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
    /// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
    /// ```
    #[must_use]
    pub fn idle(self, idle: Idle) -> Self {
        Self { habits: Habits { idle, ..self.habits }, ..self }
    }

    /// Sets what a thief does after it has lost a race for a task.
    ///
    /// ```
    /// use filch::OnLoss;
    /// use filch::worklist::Worklist;
    ///
    /// let sum = Worklist::new(2).on_loss(OnLoss::GiveUp).run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
    /// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
    /// ```
    #[must_use]
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        Self { habits: Habits { on_loss, ..self.habits }, ..self }
    }

    /// Sets how workers notice that a list is done.
    ///
    /// # Panics
    /// If `end` is wrong on this queue: see [`End::of`].
    #[must_use]
    pub fn end(self, end: End) -> Self {
        assert!(End::of::<Q>().contains(&end), "{} cannot notice the end by {}", Q::PROMISES.name, end.name());
        Self { end: Some(end), ..self }
    }

    /// Returns a handle that stops this worklist's runs early, from any thread.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    ///
    /// let list = Worklist::new(2);
    /// let stop = list.stop();
    /// let outcome = list.run([0_usize], |_| (), |worker, (), n| {
    ///     if n == 100 {
    ///         stop.stop();
    ///     }
    ///     worker.push(n + 1); // for ever
    /// });
    /// assert!(!outcome.is_complete);
    /// ```
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Makes this worklist's runs end early on this request: the workers finish their current tasks and drop the
    /// others.
    ///
    /// ```
    /// use filch::Stop;
    /// use filch::worklist::Worklist;
    ///
    /// let soon = Stop::after(std::time::Duration::from_millis(5));
    /// let outcome = Worklist::new(2).stopped_by(&soon).run([0_usize], |_| (), |worker, (), n| worker.push(n + 1));
    /// assert!(!outcome.is_complete);
    /// ```
    #[must_use]
    pub fn stopped_by(self, stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..self }
    }

    /// Sets whether to bind each worker's thread to its own processor, among those that the starting thread may use;
    /// the calling thread, the first worker, is bound during a run. Each worker's queue is first written from its
    /// processor. Default: no. Workers share a core only if there are more of them than cores, and a processor only if
    /// there are more of them than processors. Where threads cannot be bound, [`Worklist::start`] returns an error, and
    /// [`Worklist::run`] ignores the setting.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    ///
    /// let sum = Worklist::new(2).pin(true).run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
    /// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
    /// ```
    #[must_use]
    pub fn pin(self, pin: bool) -> Self {
        Self { pin, ..self }
    }

    /// Starts the threads and makes the queues, for any number of lists: see [`Team`].
    ///
    /// # Errors
    /// [`StartError`] if the system refuses a thread or, with [`pin`](Self::pin), a processor.
    ///
    /// ```
    /// let mut team = filch::worklist::Worklist::new(2).start()?;
    /// for limit in [10, 100_u32] {
    ///     let sum = team.run(0..limit, |_| 0, |_, sum, n| *sum += n);
    ///     assert_eq!(sum.states.iter().sum::<u32>(), limit * (limit - 1) / 2);
    /// }
    /// # Ok::<(), filch::worklist::StartError>(())
    /// ```
    pub fn start(&self) -> Result<Team<Q>, StartError> {
        Ok(Team::new(self.settings("filch worklist").start()?, self.stop(), self.end_or_default()))
    }

    /// Runs `work` on all of `tasks` and on all tasks that it pushes, in any order, and returns when none is left.
    ///
    /// `state` makes each worker's state from the worker's number; the outcome returns the states.
    ///
    /// Cost: a queue for each worker, and a thread for each but the first, unless the system refuses it. Each task
    /// costs a push, a pop or a steal, and two plain stores. A [`Team`] has the queues and threads already.
    ///
    /// # Panics
    /// If a task panics, with the payload of the first, once all workers have stopped. The remaining tasks are dropped
    /// unrun.
    pub fn run<T, S, W>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Item,
        S: Send,
        W: Fn(&mut ListWorker<'_, T, Q>, &mut S, T) + Sync,
    {
        self.team_of_one_run().run(tasks, state, work)
    }

    /// As [`Worklist::run`], for tasks that may run twice, also on queues that may return a task twice.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    /// use filch_queue::IdempotentFifo;
    ///
    /// let list = Worklist::new(2).queue::<IdempotentFifo>(());
    /// let outcome = list.run_idempotent(0..100_u32, |_| Vec::new(), |_, seen, n| seen.push(n));
    /// let mut seen = outcome.states.concat();
    /// seen.sort_unstable();
    /// seen.dedup();
    /// assert_eq!(seen.len(), 100);
    /// ```
    ///
    /// # Panics
    /// As [`Worklist::run`].
    pub fn run_idempotent<T, S, W>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Idempotent,
        S: Send,
        W: Fn(&mut ListWorker<'_, T, Q>, &mut S, T) + Sync,
    {
        self.team_of_one_run().run_idempotent(tasks, state, work)
    }

    /// Runs `work` repeatedly on each bag until it is empty, and likewise on bags split off and pushed.
    ///
    /// `work` should take an item out of the bag, and may add others. After `items` calls a worker answers thieves, and
    /// splits its bag if a thief asks and the worker has no other bag to give; [`Bags`] has other ways. A larger number
    /// costs less; a smaller one shares sooner.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    ///
    /// // The nodes of a complete binary tree, numbered as in a heap.
    /// let outcome = Worklist::new(2).run_bags(
    ///     [vec![1_u32]],
    ///     128,
    ///     |_| 0,
    ///     |_, count, nodes: &mut Vec<u32>| {
    ///         let node = nodes.pop().unwrap();
    ///         *count += 1;
    ///         if node < 1 << 10 {
    ///             nodes.extend([2 * node, 2 * node + 1]);
    ///         }
    ///     },
    /// );
    /// assert_eq!(outcome.states.iter().sum::<u32>(), (1 << 11) - 1);
    /// ```
    ///
    /// # Panics
    /// As [`Worklist::run`]; if `items` is 0.
    pub fn run_bags<B, S, W>(
        &self,
        bags: impl IntoIterator<Item = B>,
        items: impl Into<Bags>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        B: Bag,
        S: Send,
        W: Fn(&mut ListWorker<'_, Box<B>, Q>, &mut S, &mut B) + Sync,
    {
        self.team_of_one_run().run_bags(bags, items, state, work)
    }

    fn team_of_one_run(&self) -> Team<Q> {
        Team::new(self.settings("filch worklist").start_what_can_be(), self.stop(), self.end_or_default())
    }

    fn end_or_default(&self) -> End {
        self.end.unwrap_or(End::of::<Q>()[0])
    }

    pub(crate) fn settings(&self, name: &'static str) -> TeamSettings<'_, Q> {
        let &Self { workers, capacity, ref params, loot, habits, pin, .. } = self;
        TeamSettings { name, workers, capacity, params, loot, habits, pin }
    }
}
