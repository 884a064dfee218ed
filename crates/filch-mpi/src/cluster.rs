//! A worklist over all ranks: the workers of each, and one more that exchanges messages.

use std::sync::Mutex;
use std::time::Duration;

use filch::worklist::{self, Queue, Worklist};
use filch_queue::ChaseLev;

use crate::link::{Bag, Link, Member, Pace, Parcels, Rest, Shared, communicate};
use crate::{Transport, Wire};

/// A worker, as a task sees it: to push tasks.
#[derive(Debug)]
pub struct Worker<'t, T> {
    pub(crate) tasks: &'t mut Vec<T>,
    pub(crate) parcels: &'t mut Parcels<T>,
    pub(crate) shared: &'t Shared,
}

impl<T> Worker<'_, T> {
    /// Adds a task, for this worker or a thief of any rank.
    #[inline]
    pub fn push(&mut self, task: T) {
        self.tasks.push(task);
    }

    /// Adds a task that a worker of this rank will run: for instance because the rank has the data that it needs.
    ///
    /// ```
    /// use filch_mpi::{Cluster, Threads};
    ///
    /// // Each rank owns the numbers that leave its own number as the rest.
    /// let ranks = Threads::world(3).into_iter().enumerate().map(|(rank, world)| {
    ///     std::thread::spawn(move || {
    ///         let seeds = (rank == 0).then_some(0_u32);
    ///         let run = Cluster::new(world, 1).run(
    ///             seeds,
    ///             |_| 0_u64,
    ///             |worker, count, number| {
    ///                 assert_eq!(number as usize % worker.ranks(), worker.rank());
    ///                 *count += 1;
    ///                 if number < 99 {
    ///                     worker.push_to((number as usize + 1) % worker.ranks(), number + 1);
    ///                 }
    ///             },
    ///             |a, b| a + b,
    ///         );
    ///         run.expect("no panic").state
    ///     })
    /// });
    /// let ranks: Vec<_> = ranks.collect();
    /// let states: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    /// assert_eq!(states, [Some(100), None, None]);
    /// ```
    ///
    /// # Panics
    /// If there is no such rank.
    #[inline]
    pub fn push_to(&mut self, rank: usize, task: T) {
        self.parcels.push(rank, task);
    }

    /// This rank's number.
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.shared.ranks
    }

    /// The largest number that any task of any rank has [raised](Self::raise) the bound to, as far as this rank knows;
    /// 0 at first.
    #[inline]
    pub fn bound(&self) -> u64 {
        self.shared.bound()
    }

    /// Raises the bound of all ranks, which hear of it soon: for instance the value of the best solution that a search
    /// has found.
    ///
    /// ```
    /// use filch_mpi::{Cluster, Threads};
    ///
    /// let world = Threads::world(1).remove(0);
    /// let run = Cluster::new(world, 1).run(
    ///     [3_u64, 9, 4],
    ///     |_| 0_u64,
    ///     |worker, tried, value| {
    ///         // The newest comes first: 4 raises the bound, 9 too, and 3 is not worth a try.
    ///         if value > worker.bound() {
    ///             *tried += 1;
    ///             worker.raise(value);
    ///         }
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(run.expect("no panic").state, Some(2));
    /// ```
    pub fn raise(&self, bound: u64) {
        self.shared.raise(bound);
    }
}

/// What a rank has sent and received in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Traffic {
    /// Messages sent, of any kind.
    pub messages: u64,
    /// Requests for work sent.
    pub requests: u64,
    /// Bags received from other ranks.
    pub steals: u64,
    /// Tasks in them.
    pub stolen_tasks: u64,
    /// Nanoseconds from when the rank had no work for the last time until it knew of the end.
    pub end_ns: u64,
    /// Nanoseconds without work.
    pub idle_ns: u64,
    /// Tasks run.
    pub tasks: u64,
}

impl Wire for Traffic {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let &Self { messages, requests, steals, stolen_tasks, end_ns, idle_ns, tasks } = self;
        [messages, requests, steals, stolen_tasks, end_ns, idle_ns, tasks].encode(bytes);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let [messages, requests, steals, stolen_tasks, end_ns, idle_ns, tasks] = Wire::decode(bytes)?;
        Some(Self { messages, requests, steals, stolen_tasks, end_ns, idle_ns, tasks })
    }
}

/// The result of a run on one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<S> {
    /// The merged states of all ranks, on rank 0.
    pub state: Option<S>,
    /// The traffic of this rank.
    pub traffic: Traffic,
}

/// The run ended early, since a task of that rank has panicked or its list was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// The rank.
    pub by: usize,
}

impl std::fmt::Display for Aborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} has ended the run early", self.by)
    }
}

impl std::error::Error for Aborted {}

/// Worklists on all ranks of a world.
///
/// All ranks call the same methods in the same order.
///
/// ```
/// use filch_mpi::{Cluster, Threads};
///
/// let ranks = Threads::world(3).into_iter().enumerate().map(|(rank, world)| {
///     std::thread::spawn(move || {
///         let seeds = (rank == 0).then_some(1_u32);
///         let run = Cluster::new(world, 1).run(
///             seeds,
///             |_| 0_u64,
///             |worker, count, node| {
///                 *count += 1;
///                 [2 * node, 2 * node + 1].into_iter().filter(|&child| child < 1 << 10).for_each(|child| worker.push(child));
///             },
///             |a, b| a + b,
///         );
///         run.expect("no panic").state
///     })
/// });
/// let ranks: Vec<_> = ranks.collect();
/// let states: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
/// assert_eq!(states, [Some((1 << 10) - 1), None, None]);
/// ```
#[derive(Debug)]
pub struct Cluster<X, Q: Queue = ChaseLev> {
    world: X,
    list: Worklist<Q>,
    bag: usize,
    pace: Pace,
    progress: Option<Progress>,
    /// The ranks that rank 0 has heard to be dead.
    gone: Vec<usize>,
    /// Each run has two tags, since ranks do not leave a run at the same time.
    runs: u32,
}

/// What rank 0 does while a run goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) period: Duration,
    pub(crate) show: fn(&[u64]),
}

impl<X: Transport> Cluster<X> {
    /// Creates a worklist with so many workers on this rank. If there are other ranks, one more thread exchanges
    /// messages when the workers do not.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(world: X, workers: usize) -> Self {
        assert!(workers > 0, "a rank needs a worker");
        let threads = workers + usize::from(world.size() > 1);
        let list = Worklist::new(threads);
        let pace = Pace::of(&world);
        Self { world, list, bag: 64, pace, progress: None, gone: Vec::new(), runs: 0 }
    }
}

impl<X: Transport, Q: Queue> Cluster<X, Q> {
    /// Sets the queue.
    #[must_use]
    pub fn queue<R: Queue>(self, params: R::Params) -> Cluster<X, R> {
        let Self { world, list, bag, pace, progress, gone, runs } = self;
        Cluster { world, list: list.queue(params), bag, pace, progress, gone, runs }
    }

    /// Whether a rank without work keeps looking for messages, instead of resting up to 0.2 ms between looks. That
    /// takes a processor, and saves time if messages are faster than that. Default: no.
    #[must_use]
    pub fn stay_awake(mut self, is_awake: bool) -> Self {
        let pace = Pace::of(&self.world);
        self.pace = if is_awake { pace.stay_awake() } else { pace };
        self
    }

    /// Calls `show` on rank 0 once per period with the number of tasks that each rank has run, as far as rank 0 knows.
    /// All ranks have to set the same period.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use filch_mpi::{Cluster, Threads};
    ///
    /// let world = Threads::world(1).remove(0);
    /// let cluster = Cluster::new(world, 1).stay_awake(true).progress(Duration::from_secs(1), |tasks| eprintln!("{tasks:?}"));
    /// # drop(cluster);
    /// ```
    #[must_use]
    pub fn progress(mut self, period: Duration, show: fn(&[u64])) -> Self {
        self.progress = Some(Progress { period, show });
        self
    }

    /// The ranks.
    pub fn world(&self) -> &X {
        &self.world
    }

    /// The ranks, for messages of the program's own between runs: with tags from
    /// [`FIRST_FREE_TAG`](Self::FIRST_FREE_TAG) on.
    pub fn world_mut(&mut self) -> &mut X {
        &mut self.world
    }

    /// Runs use smaller tags.
    pub const FIRST_FREE_TAG: u32 = 1 << 14;

    /// Returns what this rank gives, of all ranks, by rank, on rank 0. All ranks must live.
    ///
    /// ```
    /// use filch_mpi::{Cluster, Threads, Transport};
    ///
    /// let ranks = Threads::world(3).into_iter().map(|world| {
    ///     std::thread::spawn(move || {
    ///         let rank = world.rank() as u64;
    ///         Cluster::new(world, 1).gather(10 * rank)
    ///     })
    /// });
    /// let ranks: Vec<_> = ranks.collect();
    /// let gathered: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    /// assert_eq!(gathered, [Some(vec![0, 10, 20]), None, None]);
    /// ```
    pub fn gather<S: Wire>(&mut self, value: S) -> Option<Vec<S>> {
        let rank = self.world.rank() as u64;
        self.runs += 1;
        let joined = |mut a: Vec<(u64, S)>, b| {
            a.extend(b);
            a
        };
        let values = self.merge(self.last_tag() + 1, vec![(rank, value)], joined);
        values.map(|mut values| {
            values.sort_unstable_by_key(|(rank, _)| *rank);
            values.into_iter().map(|(_, value)| value).collect()
        })
    }

    /// The tag of the newest run; the next one is the tag of its states.
    fn last_tag(&self) -> u32 {
        2 * self.runs % Self::FIRST_FREE_TAG
    }

    /// Runs tasks until none is left on any rank. `state` makes the state of each thread; `merge` joins states in any
    /// order.
    ///
    /// # Errors
    /// If a task has panicked on another rank. The cluster cannot run again.
    ///
    /// # Panics
    /// With the payload of the first of this rank's tasks that panicked. If a message cannot be decoded.
    pub fn run<T, S, W, M>(
        &mut self,
        seeds: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        task: W,
        merge: M,
    ) -> Result<Outcome<S>, Aborted>
    where
        T: Wire,
        S: Wire,
        W: Fn(&mut Worker<'_, T>, &mut S, T) + Sync,
        M: Fn(S, S) -> S,
    {
        let (state, traffic) = self.run_rounds(seeds, state, task, &merge, false)?;
        Ok(Outcome { state: self.merge(self.last_tag() + 1, state, merge), traffic })
    }

    /// As [`run`](Self::run), and goes on if ranks other than 0 die, and if their tasks panic: with the others, who do
    /// again what the dead have got from them. So tasks may run several times, and their results are merged as often:
    /// the task and `merge` must not mind. Rank 0 has all seeds. Each rank keeps a copy of what it gives away, until
    /// the end.
    ///
    /// The world has to [hear](Transport::lost) of deaths: see `Mpi::survive`.
    ///
    /// ```
    /// use filch_mpi::{Cluster, Threads};
    ///
    /// // The largest number, by ranks of which one breaks.
    /// let ranks = Threads::world(3).into_iter().enumerate().map(|(rank, world)| {
    ///     std::thread::spawn(move || {
    ///         let seeds = (rank == 0).then_some(1_u32);
    ///         let run = Cluster::new(world, 1).run_idempotent(
    ///             seeds,
    ///             |_| 0_u32,
    ///             |worker, most, node| {
    ///                 assert!(worker.rank() != 2, "this rank breaks when it has got work");
    ///                 *most = node.max(*most);
    ///                 [2 * node, 2 * node + 1].into_iter().filter(|&child| child < 1 << 16).for_each(|child| worker.push(child));
    ///             },
    ///             |a, b| a.max(b),
    ///         );
    ///         run.expect("rank 0 lives").state
    ///     })
    /// });
    /// let ranks: Vec<_> = ranks.collect();
    /// let states: Vec<_> = ranks.into_iter().map(|rank| rank.join()).collect();
    /// assert_eq!(states[0].as_ref().ok(), Some(&Some((1 << 16) - 1)));
    /// ```
    ///
    /// # Errors
    /// If rank 0 has died. The cluster cannot run again.
    ///
    /// # Panics
    /// As [`run`](Self::run); if another rank than 0 has seeds; and if a task is [pushed to](Worker::push_to) another
    /// rank.
    pub fn run_idempotent<T, S, W, M>(
        &mut self,
        seeds: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        task: W,
        merge: M,
    ) -> Result<Outcome<S>, Aborted>
    where
        T: Wire,
        S: Wire,
        W: Fn(&mut Worker<'_, T>, &mut S, T) + Sync,
        M: Fn(S, S) -> S,
    {
        let (state, traffic) = self.run_rounds(seeds, state, task, &merge, true)?;
        let is_first = self.world.rank() == 0;
        Ok(Outcome { state: is_first.then_some(state), traffic })
    }

    /// Runs until the end, and again after deaths. Returns the state of this rank; on rank 0 that of all if the run
    /// survives deaths.
    fn run_rounds<T, S, W>(
        &mut self,
        seeds: impl IntoIterator<Item = T>,
        state: impl Fn(usize) -> S + Sync,
        task: W,
        merge: &impl Fn(S, S) -> S,
        survives: bool,
    ) -> Result<(S, Traffic), Aborted>
    where
        T: Wire,
        S: Wire,
        W: Fn(&mut Worker<'_, T>, &mut S, T) + Sync,
    {
        let mut seeds: Vec<T> = seeds.into_iter().collect();
        assert!(
            !survives || self.world.rank() == 0 || seeds.is_empty(),
            "rank 0 has the seeds of a run that survives deaths"
        );
        self.runs += 1;
        let tag = self.last_tag();
        let shared = Shared::new(&self.world, self.pace);
        let stop = self.list.stop();
        let known = survives.then(|| std::mem::take(&mut self.gone));
        let mut link = Mutex::new(Link::new(&mut self.world, tag, stop, &shared, self.progress, known));
        let mut before: Option<S> = None;
        loop {
            // With the newest first, the communication starts at once.
            let communicator = (shared.ranks > 1).then_some(Bag::Communicate);
            let bags = [Bag::Tasks(seeds)].into_iter().chain(communicator);
            let member = |worker| Member::new(state(worker), &shared);
            let run = |worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>,
                       member: &mut Member<'_, S, T>,
                       bag: &mut Bag<T>| match bag {
                Bag::Tasks(tasks) => member.run_one(tasks, &task, worker, &link),
                Bag::Here(tasks) => member.run_here(tasks, &task, worker, &link),
                Bag::Communicate => {
                    communicate(worker, &shared, &link);
                    *bag = Bag::Tasks(Vec::new());
                }
            };
            let outcome = self.list.run_bags(bags, self.bag, member, run);
            let link = link.get_mut().expect("a panic is resumed");
            let states = outcome.states.into_iter().map(Member::into_state);
            let mut state = before.into_iter().chain(states).reduce(merge).expect("there are workers");
            if let Some(by) = link.aborted_by() {
                return Err(Aborted { by });
            }
            let mut is_over = !survives || shared.ranks == 1;
            if !is_over && let Some(others) = link.collect(&state)? {
                is_over = true;
                state = others.into_iter().fold(state, merge);
            }
            if is_over {
                let traffic = Traffic { tasks: shared.tasks(), ..link.traffic() };
                self.gone = link.take_gone();
                return Ok((state, traffic));
            }
            before = Some(state);
            seeds = link.take_inbox();
        }
    }

    /// Merges the states of all ranks, along the tree, at rank 0.
    fn merge<S: Wire>(&mut self, tag: u32, mut state: S, merge: impl Fn(S, S) -> S) -> Option<S> {
        let (me, size) = (self.world.rank(), self.world.size());
        for _ in (2 * me + 1..=2 * me + 2).filter(|&below| below < size) {
            let mut rest = Rest::default();
            let bytes = loop {
                if let Some((_, bytes)) = self.world.receive(tag) {
                    break bytes;
                }
                rest.after(true, self.pace);
            };
            state = merge(state, S::decode(&mut &bytes[..]).expect("a state was sent"));
        }
        if me == 0 {
            return Some(state);
        }
        self.world.send((me - 1) / 2, tag, state.to_bytes());
        None
    }
}
