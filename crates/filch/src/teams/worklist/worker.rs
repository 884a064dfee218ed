//! A worker of a run, which runs tasks, pushes others, and detects the end.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::{ChaseLev, Delivery, Queue, Task};

use super::end::End;
use super::item::Item;
use crate::loops::stop::Stop;
use crate::protocol::termination::TaskCounts;
use crate::teams::worker_queue::{Tally, WorkerQueue};
use crate::unwind::FirstPanic;

/// The state that the workers of a run share.
pub(super) struct Shared<'s> {
    counts: Vec<TaskCounts<Native>>,
    end: End,
    transfers: Transfers,
    stop: &'s Stop,
    /// Whether a task has panicked.
    is_broken: <Native as Memory>::AtomicBool,
    /// Whether the first worker has noticed the end for all.
    is_over: <Native as Memory>::AtomicBool,
    pub(super) panic: FirstPanic,
}

/// The tasks that workers have handed over to others.
struct Transfers {
    counts: Vec<Arc<filch_queue::Counts>>,
    /// The number in earlier runs.
    earlier: u64,
}

impl Transfers {
    fn of<Q: Queue<Native>>(queues: &[WorkerQueue<Q>]) -> Self {
        let mut transfers = Self { counts: queues.iter().map(WorkerQueue::counts).collect(), earlier: 0 };
        transfers.earlier = transfers.in_this_run();
        transfers
    }

    fn in_this_run(&self) -> u64 {
        self.counts.iter().map(|counts| counts.grants.get()).sum::<u64>() - self.earlier
    }
}

impl<'s> Shared<'s> {
    pub(super) fn new<Q: Queue<Native>>(queues: &[WorkerQueue<Q>], end: End, stop: &'s Stop) -> Self {
        Self {
            counts: queues.iter().map(|_| TaskCounts::default()).collect(),
            end,
            transfers: Transfers::of(queues),
            stop,
            is_broken: Atomic::new(false),
            is_over: Atomic::new(false),
            panic: FirstPanic::default(),
        }
    }

    /// Reports that a task has panicked.
    pub(super) fn mark_broken(&self) {
        // Relaxed: it publishes nothing.
        self.is_broken.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        // Relaxed: it publishes nothing.
        self.stop.is_stopped() || self.is_broken.load(Ordering::Relaxed)
    }
}

/// A worker of a run, as a task sees it: to push tasks.
///
/// Whoever holds the reference is the worker: no part of the worker belongs to a thread, so a task may lend the
/// reference to a branch or to another thread.
///
/// ```
/// let outcome = filch::worklist::Worklist::new(2).run(
///     [3_u32],
///     |_| 0,
///     |worker, sum, n| {
///         let pushes = || (0..n).for_each(|n| worker.push(n));
///         *sum += filch::join(pushes, || n).1;
///     },
/// );
/// assert_eq!(outcome.states.iter().sum::<u32>(), 3 + (2 + 1) + 1);
/// ```
///
/// ```compile_fail
/// filch::worklist::Worklist::new(2).run(
///     [3_u32],
///     |_| (),
///     |worker, (), n| {
///         filch::join(|| worker.push(n), || worker.push(n)); // two are not the worker at once
///     },
/// );
/// ```
pub struct ListWorker<'s, T: Item, Q: Queue<Native> = ChaseLev> {
    index: usize,
    queue: WorkerQueue<Q>,
    counts: &'s TaskCounts<Native>,
    end: End,
    shared: &'s Shared<'s>,
    items: PhantomData<T>,
}

impl<T: Item, Q: Queue<Native>> fmt::Debug for ListWorker<'_, T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListWorker")
            .field("index", &self.index)
            .field("tally", &self.queue.tally)
            .finish_non_exhaustive()
    }
}

impl<'s, T: Item, Q: Queue<Native>> ListWorker<'s, T, Q> {
    /// Whether each task runs once, so that runs can be counted.
    const IS_ONCE: bool = matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce);

    /// Creates a worker on an empty queue.
    pub(super) fn new(index: usize, queue: WorkerQueue<Q>, shared: &'s Shared<'s>) -> Self {
        Self { index, queue, counts: &shared.counts[index], end: shared.end, shared, items: PhantomData }
    }

    #[inline]
    fn counts_tasks(&self) -> bool {
        Self::IS_ONCE && self.end == End::Tasks
    }

    /// Returns its queue, without tasks, and its tally.
    pub(super) fn leave(mut self) -> (WorkerQueue<Q>, Tally) {
        let mut tally = self.queue.take_tally();
        if self.counts_tasks() {
            tally.pushed = self.counts.pieces();
        }
        (self.queue, tally)
    }

    /// The worker's number, below the number of workers.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Adds a task, for this worker or a thief.
    #[inline]
    pub fn push(&mut self, task: T) {
        // This may panic; then there is no task to wait for.
        let task = task.into_task();
        if self.counts_tasks() {
            self.counts.created(1);
        } else {
            self.queue.tally.pushed += 1;
        }
        self.queue.push(task);
    }

    /// Takes out of the list a task that nobody has begun, to hand it to somebody outside. Looks at this worker's
    /// queue, and then once at each other worker's.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let outside = Mutex::new(Vec::new());
    /// let outcome = filch::worklist::Worklist::new(1).run(
    ///     [1_u32, 2, 3],
    ///     |_| 0,
    ///     |worker, sum, n| {
    ///         *sum += n;
    ///         outside.lock().unwrap().extend(worker.take());
    ///     },
    /// );
    /// assert_eq!((outcome.states, outside.into_inner().unwrap()), (vec![3 + 1], vec![2]));
    /// ```
    pub fn take(&mut self) -> Option<T> {
        let task = self.queue.pop().or_else(|| self.queue.steal()).or_else(|| self.queue.settle())?;
        if self.counts_tasks() {
            self.counts.finished();
        }
        // SAFETY: as in `live`.
        Some(unsafe { T::from_task(task) })
    }

    /// Whether the calling task is the only one left. If so, it can fetch more tasks from elsewhere, and push them.
    ///
    /// Cost: a look at each worker's counts.
    ///
    /// # Panics
    /// Unless the list counts its tasks: it needs [`End::Tasks`], and a queue that returns each task once.
    ///
    /// ```
    /// let mut more = vec![vec![4_u32], vec![2, 3]];
    /// let more = std::sync::Mutex::new(&mut more);
    /// let outcome = filch::worklist::Worklist::new(2).run(
    ///     [0],
    ///     |_| 0,
    ///     |worker, sum, n| {
    ///         *sum += n;
    ///         while n == 0 && (!worker.is_last() || !more.lock().unwrap().is_empty()) {
    ///             more.lock().unwrap().pop().into_iter().flatten().for_each(|n| worker.push(n));
    ///             if let Some(n) = worker.take() {
    ///                 *sum += n;
    ///             }
    ///         }
    ///     },
    /// );
    /// assert_eq!(outcome.states.iter().sum::<u32>(), 9);
    /// ```
    pub fn is_last(&self) -> bool {
        self.is_among_last(1)
    }

    /// As [`is_last`](Self::is_last), but whether exactly `running` tasks are left. The caller must know that these
    /// tasks run, and that all their pushes happen before this call, for instance by a lock.
    ///
    /// # Panics
    /// As [`is_last`](Self::is_last).
    ///
    /// ```
    /// let outcome = filch::worklist::Worklist::new(1).run(
    ///     [1_u32, 2, 3],
    ///     |_| Vec::new(),
    ///     |worker, left, _| left.push([1, 2, 3].map(|running| worker.is_among_last(running))),
    /// );
    /// assert_eq!(outcome.states[0], [[false, false, true], [false, true, false], [true, false, false]]);
    /// ```
    pub fn is_among_last(&self, running: u64) -> bool {
        assert!(self.counts_tasks(), "only a list that counts its tasks knows which is the last");
        let counts = &self.shared.counts;
        TaskCounts::all_done_of(counts, || counts.iter().map(TaskCounts::pieces).sum::<u64>().wrapping_sub(running))
    }

    /// Answers thieves, for long tasks that push no others.
    #[inline]
    pub fn poll(&mut self) {
        self.queue.poll();
    }

    /// Whether somebody would take a part of a bag.
    pub(super) fn is_wanting(&mut self) -> bool {
        self.queue.is_wanting()
    }

    /// Says whether there is a bag that could be split.
    pub(super) fn offers(&mut self, more: bool) {
        self.queue.offers(more);
    }

    /// Counts items that are about to be pushed for others.
    pub(super) fn count_given(&mut self, items: usize) {
        self.queue.tally.given += items as u64;
    }

    /// Whether to divide a divisible task, because there is nothing for others to steal.
    #[inline]
    pub fn wants_tasks(&self) -> bool {
        self.queue.wants_tasks()
    }

    /// Whether the run is stopped, so that a long task may return early.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Whether the worker starts away from home.
    fn has_set_out(&self) -> bool {
        self.end == End::Homes && self.index == 0
    }

    /// Counts the first worker, which starts with the tasks, as away from home, before any worker looks.
    pub(super) fn set_out(&self) {
        if self.has_set_out() {
            self.counts.set_out();
        }
    }

    pub(super) fn live<S>(&mut self, state: &mut S, work: &impl Fn(&mut Self, &mut S, T)) {
        let mut patience = self.queue.patience();
        let mut run = |worker: &mut Self, task: Task| {
            worker.queue.tally.run += 1;
            // SAFETY: `push` made the word from a `T`, the queue gives out each once unless `T` is idempotent, and the
            // task's borrows outlive the run.
            work(worker, state, unsafe { T::from_task(task) });
            if worker.counts_tasks() {
                worker.counts.finished();
            }
        };
        let mut is_out = self.has_set_out();
        // The tasks that it has received but not counted as finished, and all tasks that it has received from others.
        // The tasks that the first worker has at the start count as one.
        let (mut in_hand, mut received) = (u64::from(self.index == 0), 0);
        loop {
            while let Some(task) = self.queue.pop() {
                if self.is_stopped() {
                    return drop_task::<T>(task);
                }
                run(self, task);
            }
            if std::mem::take(&mut is_out) {
                self.counts.come_home();
            }
            if self.end == End::Transfers {
                in_hand += self.queue.tally.stolen - std::mem::replace(&mut received, self.queue.tally.stolen);
                if in_hand > 0 {
                    self.counts.finished_all(std::mem::take(&mut in_hand));
                }
            }
            if self.is_stopped() || self.is_all_done() {
                return;
            }
            let goes_out = self.end == End::Homes;
            // If workers set out all the time, they would never all be at home.
            if !goes_out || self.queue.sees_any() {
                if goes_out {
                    self.counts.set_out();
                    is_out = true;
                }
                // At home nothing may come to the worker.
                let settles = |queue: &mut WorkerQueue<Q>| if goes_out { queue.settle() } else { None };
                if let Some(task) = self.queue.steal().or_else(|| settles(&mut self.queue)) {
                    self.queue.get_busy();
                    patience.renew();
                    run(self, task);
                    continue;
                }
                if std::mem::take(&mut is_out) {
                    self.counts.come_home();
                }
            }
            self.queue.fall_idle();
            patience.wait_or_nap();
        }
    }

    /// Makes no thief wait for the worker, which has gone home, perhaps with tasks in its queue.
    pub(super) fn go_home(&mut self) {
        self.queue.rest();
    }

    /// Drops the remaining tasks, when all workers have stopped; returns their number.
    pub(super) fn drop_tasks(&mut self) -> usize {
        let panic = &self.shared.panic;
        self.queue.drain().fold(0, |dropped, task| {
            panic.catch(|| drop_task::<T>(task));
            dropped + 1
        })
    }

    fn is_all_done(&self) -> bool {
        let Shared { counts, transfers, is_over, .. } = self.shared;
        match self.end {
            End::Tasks => TaskCounts::all_done(counts),
            End::Homes => TaskCounts::all_home(counts),
            End::Transfers => {
                if self.index == 0 && TaskCounts::all_done_of(counts, || 1 + transfers.in_this_run()) {
                    // Relaxed: it publishes nothing.
                    is_over.store(true, Ordering::Relaxed);
                }
                // Relaxed: as above.
                is_over.load(Ordering::Relaxed)
            }
        }
    }
}

fn drop_task<T: Item>(task: Task) {
    // SAFETY: the task came out of a queue, or never went in, and is not used again.
    drop(unsafe { T::from_task(task) });
}
