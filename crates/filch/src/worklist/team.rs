//! A team: threads and queues that last for several lists.

use std::fmt;

use filch_memory::Native;
use filch_queue::{ChaseLev, Delivery, Padded, Queue};

use super::crew::Shared;
use super::{Bag, Crew, Idempotent, Item, Outcome, Stop};
use crate::team::Members;

/// Threads and queues for worklists, kept from one list to the next: [`Worklist::start`](super::Worklist::start).
///
/// The thread that runs a list is its first worker. The others sleep between lists, and are woken by the next; dropping the team joins
/// them. The lists may have tasks of different types, and borrow what is around them: a run returns when all workers have finished it.
/// A list whose task has panicked, or that was stopped, leaves the team as it was, but that one that was [stopped](Stop) stays so.
///
/// ```
/// use filch::worklist::Worklist;
/// use filch_queue::PdqR;
///
/// let mut team = Worklist::new(2).queue::<PdqR>(Default::default()).start()?;
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
    pub(super) fn new(members: Members<Q>, stop: Stop) -> Self {
        Self { members, stop }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.members.queues.len()
    }

    /// Calls `f` on the thread of each worker, with its number: for what belongs to threads, and should be ready before the first run.
    ///
    /// # Panics
    /// If `f` does, with the payload of the first, once all calls have ended. In the child of a `fork()`, where the threads are not.
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

    /// What stops the team's runs early, from anywhere: that of the worklist that it was started from.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// As [`Worklist::run`](super::Worklist::run).
    ///
    /// Cost: waking the threads, some memory for each worker, and for each task a push, a pop or a steal, and two plain stores.
    ///
    /// # Panics
    /// If a task does, or the iterator or `state`, with the payload of the first, once all workers have stopped. The tasks that were left
    /// are dropped unrun. In the child of a `fork()`, where the threads are not.
    pub fn run<T, S, W>(
        &mut self,
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
        W: Fn(&mut Crew<'_, T, Q>, &mut S, T) + Sync,
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
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        work: W,
    ) -> Outcome<S>
    where
        T: Item,
        S: Send,
        W: Fn(&mut Crew<'_, T, Q>, &mut S, T) + Sync,
    {
        let workers = self.workers();
        let Members { threads, queues } = &mut self.members;
        threads.check_process();
        let shared = Shared::new(workers, &self.stop);
        // From here on nothing unwinds until the queues are back. Crews and states are written all the time, each by one worker: on lines
        // of their own.
        let crew = |(index, queue)| Padded(Crew::new(index, queue, &shared));
        let mut crews: Vec<Padded<Crew<'_, T, Q>>> = queues.drain(..).enumerate().map(crew).collect();
        let states = shared.panic.catch(|| {
            let states: Vec<Padded<S>> = (0..workers).map(|index| Padded(state(index))).collect();
            // With the caller, who is sure to run.
            crews[0].sets_out();
            tasks.into_iter().for_each(|task| crews[0].push(task));
            states
        });
        let live = |(crew, state): &mut (&mut Padded<Crew<'_, T, Q>>, &mut Padded<S>)| {
            if shared.panic.catch(|| crew.live(&mut state.0, &work)).is_none() {
                shared.breaks();
            }
        };
        let states = states.map(|mut states| {
            let mut members: Vec<_> = crews.iter_mut().zip(&mut states).collect();
            threads.each(&mut members, |_, member| live(member), live);
            states
        });
        let is_complete = !shared.is_stopped();
        // One crew's dropping may answer what another has asked for.
        while crews.iter_mut().map(|crew| crew.drop_tasks()).sum::<usize>() > 0 {}
        let (left, tallies) = crews.into_iter().map(|crew| crew.0.leave()).unzip();
        *queues = left;
        shared.panic.resume();
        // A result that is there when a destructor panics is lost, by the language; these may have one.
        drop((state, work));
        let states = states.expect("what keeps the states from being made is resumed");
        Outcome { states: states.into_iter().map(|state| state.0).collect(), tallies, is_complete }
    }
}
