//! Worklists: tasks that nobody waits for one by one, and that come in no order; they are done when all are.
//!
//! **Paper.** The programs of Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing
//! with Private Deques*, PPoPP 2013, and of Maged Michael, Martin Vechev and Vijay Saraswat, *Idempotent Work Stealing*,
//! PPoPP 2009: searches of graphs and trees, where a task makes others and returns nothing.
//!
//! **Queues.** Any of [`filch_queue`] will do but `PatientThep`, whose thief may wait for an owner that has gone home; also those that
//! fork–join cannot use, because they return the oldest task first or a task perhaps twice; the latter only for [`Idempotent`] tasks,
//! by [`Worklist::run_idempotent`].
//!
//! **Threads.** A run has threads of its own, and the caller is one of them: a worker of a thread pool that took part in two
//! worklists at a time could wait for itself.
//!
//! **The end.** Not seeing a task says nothing: a thief may have been refused, or wait for an answer. So workers count, by
//! [`termination`](crate::protocol::termination): tasks, when they are pushed and when they have been run. Where a queue may return a task twice, that
//! sum would be wrong; there, workers count the times that they set out to look for work and came home without any. A worker is
//! home when its own queue, which nobody else fills, is empty and it holds no task. If all have come home as often as they
//! set out, none had a task when the first half of the sum was taken, so there was none.
//!
//! What must always hold: each task is run or dropped once (at least run once, for idempotent ones); no task is left in a queue
//! when a run returns.

mod bag;
mod item;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::{ChaseLev, Delivery, Padded, StealMany, Task};

pub use bag::Bag;
#[doc(no_inline)]
pub use filch_queue::Queue;
pub use item::{Idempotent, Item};

use crate::pool::{Hand, deal_any};
pub use crate::post::Tally;
use crate::post::{Loot, Post};
use crate::protocol::termination::Counts;
use crate::unwind::FirstPanic;
use crate::wait::Patience;

/// The settings of worklists, and the way to run them.
///
/// ```
/// use filch::worklist::Worklist;
///
/// // The numbers reachable from 1 by doubling and by tripling, up to a limit.
/// let found = Worklist::new(2).run(
///     [1_usize],
///     |_| Vec::new(),
///     |crew, found, n| {
///         found.push(n);
///         for next in [2 * n, 3 * n] {
///             if next <= 20 && (next % 3 == 0 || n % 3 != 0) {
///                 crew.push(next);
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
    pub(crate) stop: Stop,
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

/// The capacity of each worker's queue unless [`Worklist::capacity`] says otherwise. Queues that grow start with it.
pub const DEFAULT_CAPACITY: usize = 1 << 13;

impl Worklist {
    /// Worklists with so many workers, at least one, on Chase–Lev deques.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(workers: usize) -> Self {
        assert!(workers > 0, "a worklist needs a worker");
        Self { workers, capacity: DEFAULT_CAPACITY, params: (), loot: None, stop: Stop::default(), queue: PhantomData }
    }
}

impl<Q: Queue<Native>> Worklist<Q> {
    /// The same on queues of another kind.
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
        let Self { workers, capacity, stop, .. } = self;
        Worklist { workers, capacity, params, loot: None, stop, queue: PhantomData }
    }

    /// The same with room for so many tasks in each worker's queue. What finds no room stays with its worker.
    ///
    /// # Panics
    /// If `capacity` is 0. A run panics if it is more than the queue can count.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Self {
        assert!(capacity > 0, "a queue needs a place");
        Self { capacity, ..self }
    }

    /// The same with thieves that take up to `most` tasks at once: one to run, the others for their own queue.
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
    /// If `most` is 0.
    #[must_use]
    pub fn loot(self, most: usize) -> Self
    where
        Q::Thief: StealMany<Task>,
    {
        assert!(most > 0, "who takes nothing does not steal");
        Self { loot: Some(Loot::up_to(most)), ..self }
    }

    /// What stops the runs of this worklist early, from anywhere.
    ///
    /// ```
    /// use filch::worklist::Worklist;
    ///
    /// let list = Worklist::new(2);
    /// let stop = list.stop();
    /// let outcome = list.run([0_usize], |_| (), |crew, (), n| {
    ///     if n == 100 {
    ///         stop.stop();
    ///     }
    ///     crew.push(n + 1); // for ever
    /// });
    /// assert!(!outcome.is_complete);
    /// ```
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Runs `work` on all of `tasks`, and on all that these push, in any order, and returns when there is none left.
    ///
    /// Each worker has a state of its own, made by `state` from the worker's number; they come back in the outcome.
    ///
    /// Cost: a thread for each worker but one, and for each task a push, a pop or a steal, and two plain stores.
    ///
    /// # Panics
    /// If a task does, with the payload of the first, once all workers have stopped. The tasks that were left are dropped unrun.
    pub fn run<T, S, W>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Item,
        S: Send,
        W: Fn(&mut Crew<'_, T, Q>, &mut S, T) + Sync,
    {
        const {
            assert!(
                matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce),
                "the queue may return a task twice: see `run_idempotent`"
            );
        };
        self.run_any(tasks, state, work)
    }

    /// As [`Worklist::run`], for tasks that may be run twice: also on queues that may return one twice.
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
        W: Fn(&mut Crew<'_, T, Q>, &mut S, T) + Sync,
    {
        self.run_any(tasks, state, work)
    }

    /// Runs `work` again and again on a bag, until that is empty, and on what is split off it and on what it pushes.
    ///
    /// `work` should take an item out of the bag, and may add others. A worker looks up after `items` calls: it answers thieves,
    /// and splits its bag if it has no other to give. More items make that cheaper; fewer share sooner.
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
        items: usize,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        B: Bag,
        S: Send,
        W: Fn(&mut Crew<'_, Box<B>, Q>, &mut S, &mut B) + Sync,
    {
        assert!(items > 0, "a worker that does nothing comes to no end");
        self.run(bags.into_iter().map(Box::new), state, |crew, state, mut bag| {
            loop {
                for _ in 0..items {
                    if bag.is_empty() {
                        return;
                    }
                    work(crew, state, &mut bag);
                }
                if crew.is_stopped() {
                    return;
                }
                if crew.wants_tasks()
                    && let Some(half) = bag.split()
                {
                    crew.push(Box::new(half));
                }
                crew.poll();
            }
        })
    }

    fn run_any<T, S, W>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Item,
        S: Send,
        W: Fn(&mut Crew<'_, T, Q>, &mut S, T) + Sync,
    {
        let shared = Shared {
            counts: (0..self.workers).map(|_| Counts::default()).collect(),
            stop: &self.stop,
            is_broken: Atomic::new(false),
            panic: FirstPanic::default(),
        };
        // Both are written all the time, each by one worker: on lines of their own.
        let mut states: Vec<Padded<S>> = (0..self.workers).map(|index| Padded(state(index))).collect();
        let hands = deal_any::<Q>(self.workers, self.capacity, &self.params);
        let crew = |(index, hand)| Padded(Crew::new(index, hand, self.loot, &shared));
        let mut crews: Vec<Padded<Crew<'_, T, Q>>> = hands.into_iter().enumerate().map(crew).collect();
        // With the caller, who is sure to run. It has set out before anybody looks.
        if crews[0].has_set_out() {
            shared.counts[0].sets_out();
        }
        tasks.into_iter().for_each(|task| crews[0].push(task));
        let live = |crew: &mut Crew<'_, T, Q>, state: &mut S| {
            if shared.panic.catch(|| crew.live(state, &work)).is_none() {
                // Relaxed: it publishes nothing.
                shared.is_broken.store(true, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            let mut others = crews.iter_mut().zip(&mut states);
            let own = others.next();
            for (crew, state) in others {
                let thread = std::thread::Builder::new().name(format!("filch worklist {}", crew.index));
                // If there is no thread to be had, there are fewer workers.
                let _ = thread.spawn_scoped(scope, || live(crew, state));
            }
            if let Some((crew, state)) = own {
                live(crew, state);
            }
        });
        let is_complete = !shared.is_stopped();
        let tallies = crews.iter().map(|crew| crew.post.tally).collect();
        // One crew's dropping may answer what another has asked for.
        while crews.iter_mut().map(|crew| crew.drop_tasks()).sum::<usize>() > 0 {}
        drop(crews);
        shared.panic.resume();
        // A result that is there when a destructor panics is lost, by the language; these may have one.
        drop((state, work));
        Outcome { states: states.into_iter().map(|state| state.0).collect(), tallies, is_complete }
    }
}

/// What has come of a run.
///
/// ```
/// let outcome = filch::worklist::Worklist::new(2).run(0..10_u32, |_| 0, |_, sum, n| *sum += n);
/// assert!(outcome.is_complete);
/// assert_eq!(outcome.states.iter().sum::<u32>(), 45);
/// assert_eq!(outcome.tallies.iter().map(|tally| tally.run).sum::<u64>(), 10);
/// ```
#[derive(Clone, Debug)]
pub struct Outcome<S> {
    /// Each worker's state.
    pub states: Vec<S>,
    /// What each worker has done.
    pub tallies: Vec<Tally>,
    /// Whether all tasks were run: nobody has called [`Stop::stop`].
    pub is_complete: bool,
}

/// Stops a worklist's runs, the current one and later ones: its workers finish the tasks that they are at, and drop the others.
#[derive(Clone, Debug)]
pub struct Stop(Arc<<Native as Memory>::AtomicBool>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(Atomic::new(false)))
    }
}

impl Stop {
    /// Stops, soon.
    pub fn stop(&self) {
        // Relaxed: it publishes nothing.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}

/// What the workers of a run have in common.
struct Shared<'s> {
    counts: Vec<Counts<Native>>,
    stop: &'s Stop,
    /// Whether a task has panicked.
    is_broken: <Native as Memory>::AtomicBool,
    panic: FirstPanic,
}

impl Shared<'_> {
    fn is_stopped(&self) -> bool {
        // Relaxed: it publishes nothing.
        self.stop.is_stopped() || self.is_broken.load(Ordering::Relaxed)
    }
}

/// A worker of a run, as a task sees it.
pub struct Crew<'s, T: Item, Q: Queue<Native> = ChaseLev> {
    index: usize,
    post: Post<Q>,
    shared: &'s Shared<'s>,
    items: PhantomData<T>,
}

impl<T: Item, Q: Queue<Native>> fmt::Debug for Crew<'_, T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("index", &self.index).field("tally", &self.post.tally).finish_non_exhaustive()
    }
}

impl<'s, T: Item, Q: Queue<Native>> Crew<'s, T, Q> {
    /// Whether a task is run once, so that runs can be counted.
    const COUNTS_TASKS: bool = matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce);

    fn new(index: usize, hand: Hand<Q>, loot: Option<Loot<Q>>, shared: &'s Shared<'s>) -> Self {
        Self { index, post: Post::new(index, hand, loot), shared, items: PhantomData }
    }

    /// The worker's number, below the number of workers.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Adds a task, for this worker or for one that steals it.
    #[inline]
    pub fn push(&mut self, task: T) {
        // It may panic: then there is no task to wait for.
        let task = task.into_task();
        if Self::COUNTS_TASKS {
            self.counts().created(1);
        }
        self.post.push(task);
    }

    /// Answers thieves: for tasks that run long without pushing.
    #[inline]
    pub fn poll(&mut self) {
        self.post.poll();
    }

    /// Whether a task that can be divided should be: there is nothing for others to steal.
    #[inline]
    pub fn wants_tasks(&self) -> bool {
        self.post.wants_tasks()
    }

    /// Whether the run is to end early: a long task may return.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    fn counts(&self) -> &'s Counts<Native> {
        &self.shared.counts[self.index]
    }

    /// Whether the worker, when it starts, counts as one that is not at home.
    fn has_set_out(&self) -> bool {
        !Self::COUNTS_TASKS && self.index == 0
    }

    fn live<S>(&mut self, state: &mut S, work: &impl Fn(&mut Self, &mut S, T)) {
        let mut patience = Patience::default();
        let mut run = |crew: &mut Self, task: Task| {
            crew.post.tally.run += 1;
            // SAFETY: `push` made the word from a `T`, the queue gives each out once unless `T` is idempotent, and whatever
            // it borrows outlives the run.
            work(crew, state, unsafe { T::from_task(task) });
            if Self::COUNTS_TASKS {
                crew.counts().finished();
            }
        };
        let mut is_out = self.has_set_out();
        loop {
            while let Some(task) = self.post.pop() {
                if self.is_stopped() {
                    return drop_task::<T>(task);
                }
                run(self, task);
            }
            if std::mem::take(&mut is_out) {
                self.counts().comes_home();
            }
            if self.is_stopped() || self.is_all_done() {
                return;
            }
            // Workers that set out all the time would never be at home together.
            if Self::COUNTS_TASKS || self.post.sees_any() {
                if !Self::COUNTS_TASKS {
                    self.counts().sets_out();
                    is_out = true;
                }
                if let Some(task) = self.post.steal() {
                    patience.renew();
                    run(self, task);
                    continue;
                }
                if std::mem::take(&mut is_out) {
                    self.counts().comes_home();
                }
            }
            patience.wait_or_nap();
        }
    }

    /// Drops the tasks that are left, when all workers have stopped; returns how many.
    fn drop_tasks(&mut self) -> usize {
        let panic = &self.shared.panic;
        self.post.drain().fold(0, |dropped, task| {
            panic.catch(|| drop_task::<T>(task));
            dropped + 1
        })
    }

    fn is_all_done(&self) -> bool {
        let all = if Self::COUNTS_TASKS { Counts::all_done } else { Counts::all_home };
        all(&self.shared.counts)
    }
}

impl<T: Item, Q: Queue<Native>> Drop for Crew<'_, T, Q> {
    fn drop(&mut self) {
        self.drop_tasks();
    }
}

fn drop_task<T: Item>(task: Task) {
    // SAFETY: it came out of a queue, or never went in, and is not used any more.
    drop(unsafe { T::from_task(task) });
}
