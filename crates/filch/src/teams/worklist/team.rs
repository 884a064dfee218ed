//! A team: threads and queues for several lists.

use std::fmt;

use filch_memory::Native;
use filch_queue::{ChaseLev, Delivery, Padded, Queue};

use super::bag::{Bag, BagSplit, Bags};
use super::end::End;
use super::item::{Idempotent, Item};
use super::worker::{ListWorker, Shared};
use crate::loops::stop::Stop;
use crate::teams::{team::Members, worker_queue::Tally};

/// The outcome of a run.
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
    /// The tally of each worker.
    pub tallies: Vec<Tally>,
    /// Whether all tasks were run: neither [`Stop::stop`] nor a deadline ended the run.
    pub is_complete: bool,
}

/// Threads and queues for worklists, kept from one list to the next. [`Worklist::start`](super::Worklist::start) makes
/// a team.
///
/// The calling thread is the first worker. Between lists the other threads sleep, or [spin](crate::Idle::Spin);
/// dropping the team joins them. Lists may have tasks of different types, and borrow from their surroundings, since a
/// run returns when all workers have finished it. A team survives a list whose task panics or that is stopped, but a
/// [stopped](Stop) team stays stopped.
///
/// ```
/// use filch::worklist::Worklist;
/// use filch_queue::PdqRAsync;
///
/// let mut team = Worklist::new(2).queue::<PdqRAsync>(Default::default()).start()?;
/// let words = ["fork", "join", "steal"].map(str::to_owned);
/// let letters = team.run(&words, |_| 0, |_, letters, word: &String| *letters += word.len());
/// let sum = team.run(0..100_u32, |_| 0, |_, sum, n| *sum += n);
/// assert_eq!(letters.states.iter().sum::<usize>(), 13);
/// assert_eq!(sum.states.iter().sum::<u32>(), 4950);
/// # Ok::<(), filch::worklist::StartError>(())
/// ```
pub struct Team<Q: Queue<Native> = ChaseLev> {
    members: Members<Q>,
    stop: Stop,
    end: End,
}

impl<Q: Queue<Native>> fmt::Debug for Team<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team")
            .field("queue", &Q::PROMISES.name)
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

impl<Q: Queue<Native>> Team<Q> {
    pub(super) fn new(members: Members<Q>, stop: Stop, end: End) -> Self {
        Self { members, stop, end }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.members.queues.len()
    }

    /// Calls `f` on each worker's thread, with the worker's number: to prepare thread-local state before the first run.
    ///
    /// # Panics
    /// If `f` panics, with the payload of the first, once all calls have ended. In the child of a `fork()`, which does
    /// not have the threads.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let mut team = filch::worklist::Worklist::new(2).start()?;
    /// let called = Mutex::new([false; 2]);
    /// team.on_each(|worker| called.lock().unwrap()[worker] = true);
    /// assert_eq!(called.into_inner().unwrap(), [true; 2]);
    /// # Ok::<(), filch::worklist::StartError>(())
    /// ```
    pub fn on_each(&mut self, f: impl Fn(usize) + Sync) {
        self.members.on_each(f);
    }

    /// Returns the handle that stops the team's runs early, from any thread: the handle of the team's worklist.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// As [`Worklist::run`](super::Worklist::run).
    ///
    /// Cost: waking the threads, some memory per worker, and per task a push, a pop or a steal, and two plain stores.
    ///
    /// # Panics
    /// If a task, the iterator or `state` panics, with the payload of the first, once all workers have stopped. The
    /// remaining tasks are dropped unrun. In the child of a `fork()`, which does not have the threads.
    pub fn run<T, S, W>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Item,
        S: Send,
        W: Fn(&mut ListWorker<'_, T, Q>, &mut S, T) + Sync,
    {
        const {
            assert!(
                matches!(Q::PROMISES.delivery, Delivery::ExactlyOnce),
                "the queue may return a task twice: see `run_idempotent`"
            );
        };
        self.run_any(tasks, state, work)
    }

    /// As [`Worklist::run_idempotent`](super::Worklist::run_idempotent).
    ///
    /// # Panics
    /// As [`Team::run`].
    pub fn run_idempotent<T, S, W>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Idempotent,
        S: Send,
        W: Fn(&mut ListWorker<'_, T, Q>, &mut S, T) + Sync,
    {
        self.run_any(tasks, state, work)
    }

    /// As [`Worklist::run_bags`](super::Worklist::run_bags).
    ///
    /// # Panics
    /// As [`Team::run`]; if `items` is 0.
    pub fn run_bags<B, S, W>(
        &mut self,
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
        let Bags { items, split } = items.into();
        assert!(items > 0, "a worker must process at least one item between looks");
        self.run(bags.into_iter().map(Box::new), state, |worker, state, mut bag| {
            let mut has_offered = false;
            'bag: loop {
                for _ in 0..items {
                    if bag.is_empty() {
                        break 'bag;
                    }
                    work(worker, state, &mut bag);
                }
                if worker.is_stopped() {
                    break;
                }
                let part = match split {
                    BagSplit::Eager if worker.wants_tasks() => bag.split(),
                    BagSplit::Half if worker.is_wanting() => bag.split(),
                    BagSplit::One if worker.is_wanting() => bag.split_one(),
                    _ => None,
                };
                if let Some(part) = part {
                    worker.count_given(part.len());
                    worker.push(Box::new(part));
                }
                worker.poll();
                if split != BagSplit::Eager {
                    worker.offers(true);
                    has_offered = true;
                }
            }
            if has_offered {
                worker.offers(false);
            }
        })
    }

    fn run_any<T, S, W>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Item,
        S: Send,
        W: Fn(&mut ListWorker<'_, T, Q>, &mut S, T) + Sync,
    {
        let number = self.workers();
        let Members { threads, queues } = &mut self.members;
        threads.check_process();
        let shared = Shared::new(queues, self.end, &self.stop);
        // Nothing unwinds from here until the queues are back. Each thread writes its worker and its state all the
        // time, so both are padded to cache lines.
        let worker = |(index, queue)| Padded(ListWorker::new(index, queue, &shared));
        let mut workers: Vec<Padded<ListWorker<'_, T, Q>>> = queues.drain(..).enumerate().map(worker).collect();
        let states = shared.panic.catch(|| {
            let states: Vec<Padded<S>> = (0..number).map(|index| Padded(state(index))).collect();
            // The caller, which certainly runs, starts with all tasks.
            workers[0].set_out();
            tasks.into_iter().for_each(|task| workers[0].push(task));
            states
        });
        let live = |(worker, state): &mut (&mut Padded<ListWorker<'_, T, Q>>, &mut Padded<S>)| {
            if shared.panic.catch(|| worker.live(&mut state.0, &work)).is_none() {
                shared.mark_broken();
            }
            worker.go_home();
        };
        let states = states.map(|mut states| {
            let mut members: Vec<_> = workers.iter_mut().zip(&mut states).collect();
            threads.each(&mut members, |_, member| live(member), live);
            states
        });
        let is_complete = !shared.is_stopped();
        // Dropping one worker's tasks may answer another worker's request.
        while workers.iter_mut().map(|worker| worker.drop_tasks()).sum::<usize>() > 0 {}
        let (left, tallies) = workers.into_iter().map(|worker| worker.0.leave()).unzip();
        *queues = left;
        shared.panic.resume();
        // If a destructor panicked while the result exists, the language would lose the result; so `state` and `work`
        // are dropped before.
        drop((state, work));
        let states = states.expect("a panic in `state` or the iterator is resumed");
        Outcome { states: states.into_iter().map(|state| state.0).collect(), tallies, is_complete }
    }
}
