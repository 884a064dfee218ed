//! A worklist over all ranks: the workers of each, and one more that exchanges messages.

use std::sync::Mutex;
use std::time::Duration;

use filch::Stop;
use filch::worklist::{self, Queue, Worklist};
use filch_queue::ChaseLev;

use crate::protocol::{Message, Outbox, Rank};
use crate::{Transport, Wire};

/// How often a rank asks random victims before it asks its lifelines.
const TRIES: usize = 4;
/// After how many vain looks for a task to give a request is refused.
const LOOKS: usize = 4;
/// How long the communicating worker rests when there was nothing to do: at most while the rank works, and at first while it
/// waits for work.
const REST: Duration = Duration::from_micros(200);
const FIRST_REST: Duration = Duration::from_micros(5);

/// Many small tasks, or the communication of the rank.
enum Bag<T> {
    Tasks(Vec<T>),
    Communicate,
}

impl<T: Send> worklist::Bag for Bag<T> {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        match self {
            Self::Tasks(tasks) => tasks.len(),
            Self::Communicate => 1,
        }
    }

    fn split(&mut self) -> Option<Self> {
        match self {
            Self::Tasks(tasks) => worklist::Bag::split(tasks).map(Self::Tasks),
            Self::Communicate => None,
        }
    }

    fn split_one(&mut self) -> Option<Self> {
        match self {
            Self::Tasks(tasks) => worklist::Bag::split_one(tasks).map(Self::Tasks),
            Self::Communicate => None,
        }
    }
}

/// A worker, as a task sees it: to push tasks.
#[derive(Debug)]
pub struct Crew<'t, T> {
    tasks: &'t mut Vec<T>,
}

impl<T> Crew<'_, T> {
    /// Adds a task, for this worker or a thief of any rank.
    #[inline]
    pub fn push(&mut self, task: T) {
        self.tasks.push(task);
    }
}

/// What a rank has sent and received in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
///             |crew, count, node| {
///                 *count += 1;
///                 [2 * node, 2 * node + 1].into_iter().filter(|&child| child < 1 << 10).for_each(|child| crew.push(child));
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
    /// Each run has two tags, since ranks do not leave a run at the same time.
    runs: u32,
}

impl<X: Transport> Cluster<X> {
    /// Creates a worklist with so many workers on this rank, besides the one that communicates.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(world: X, workers: usize) -> Self {
        assert!(workers > 0, "a rank needs a worker");
        Self { world, list: Worklist::new(workers + 1), bag: 64, runs: 0 }
    }
}

impl<X: Transport, Q: Queue> Cluster<X, Q> {
    /// Sets the queue.
    #[must_use]
    pub fn queue<R: Queue>(self, params: R::Params) -> Cluster<X, R> {
        let Self { world, list, bag, runs } = self;
        Cluster { world, list: list.queue(params), bag, runs }
    }

    /// The ranks.
    pub fn world(&self) -> &X {
        &self.world
    }

    /// Runs tasks until none is left on any rank. `state` makes the state of each worker; `merge` joins states in any order.
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
        W: Fn(&mut Crew<'_, T>, &mut S, T) + Sync,
        M: Fn(S, S) -> S,
    {
        let tag = 2 * self.runs;
        self.runs += 1;
        let stop = self.list.stop();
        let seeds: Vec<T> = seeds.into_iter().collect();
        let link = Mutex::new(Link::new(&mut self.world, tag, stop));
        // With the newest first, the communication starts at once.
        let bags = [Bag::Tasks(seeds), Bag::Communicate];
        let outcome = self.list.run_bags(bags, self.bag, state, |crew, state, bag: &mut Bag<T>| match bag {
            Bag::Tasks(tasks) => {
                if let Some(next) = tasks.pop() {
                    task(&mut Crew { tasks }, state, next);
                }
            }
            Bag::Communicate => {
                link.lock().expect("one task communicates").communicate(crew);
                *bag = Bag::Tasks(Vec::new());
            }
        });
        let link = link.into_inner().expect("a panic is resumed");
        if let Some(by) = link.rank.aborted_by() {
            return Err(Aborted { by });
        }
        let traffic = link.traffic;
        let state = outcome.states.into_iter().reduce(&merge).expect("there are workers");
        Ok(Outcome { state: self.gather(tag + 1, state, merge), traffic })
    }

    /// Merges the states of all ranks, along the tree, at rank 0.
    fn gather<S: Wire>(&mut self, tag: u32, mut state: S, merge: impl Fn(S, S) -> S) -> Option<S> {
        let (me, size) = (self.world.rank(), self.world.size());
        for _ in (2 * me + 1..=2 * me + 2).filter(|&below| below < size) {
            let mut rest = FIRST_REST;
            let bytes = loop {
                if let Some((_, bytes)) = self.world.receive(tag) {
                    break bytes;
                }
                nap(&mut rest);
            };
            state = merge(state, S::decode(&mut &bytes[..]).expect("a state was sent"));
        }
        if me == 0 {
            return Some(state);
        }
        let mut bytes = Vec::new();
        state.encode(&mut bytes);
        self.world.send((me - 1) / 2, tag, bytes);
        None
    }
}

fn nap(rest: &mut Duration) {
    std::thread::sleep(*rest);
    *rest = (2 * *rest).min(REST);
}

/// A rank's connection to the others during a run.
struct Link<'x, X> {
    world: &'x mut X,
    tag: u32,
    rank: Rank,
    out: Outbox<Vec<u8>>,
    stop: Stop,
    traffic: Traffic,
}

impl<'x, X: Transport> Link<'x, X> {
    fn new(world: &'x mut X, tag: u32, stop: Stop) -> Self {
        let rank = Rank::new(world.rank(), world.size());
        Self { world, tag, rank, out: Vec::new(), stop, traffic: Traffic::default() }
    }

    /// Exchanges messages until the run is over.
    fn communicate<T: Wire, Q: Queue>(&mut self, crew: &mut worklist::Crew<'_, Box<Bag<T>>, Q>) {
        let mut random = fastrand::Rng::with_seed(self.world.rank() as u64);
        let (mut tries, mut looks, mut rest) = (0, 0, FIRST_REST);
        let mut idle_since: Option<std::time::Instant> = None;
        // It has work until it has looked.
        self.rank.set_active(true, &mut self.out);
        loop {
            let mut is_quiet = true;
            while let Some((from, bytes)) = self.world.receive(self.tag) {
                is_quiet = false;
                let message = decode(&mut &bytes[..]).expect("ranks send messages");
                if let Some(bytes) = self.rank.receive(from, message, &mut self.out) {
                    let tasks = Vec::<T>::decode(&mut &bytes[..]).expect("ranks send tasks");
                    self.traffic.steals += 1;
                    self.traffic.stolen_tasks += tasks.len() as u64;
                    crew.push(Box::new(Bag::Tasks(tasks)));
                    tries = 0;
                }
            }
            crew.poll();
            if crew.is_stopped() && self.rank.aborted_by().is_none() && !self.rank.is_done() {
                self.rank.abort(&mut self.out);
            }
            if self.rank.aborted_by().is_some() {
                self.stop.stop();
            }
            let is_over = self.rank.is_done() || self.rank.aborted_by().is_some();
            if !is_over && !crew.is_last() {
                self.traffic.idle_ns += idle_since.take().map_or(0, |since| since.elapsed().as_nanos() as u64);
                if let Some(to) = self.rank.wanted() {
                    match spare(crew) {
                        Some(bag) => {
                            let mut bytes = Vec::new();
                            bag.encode(&mut bytes);
                            self.rank.give(to, bytes, &mut self.out);
                            looks = 0;
                        }
                        None => {
                            looks += 1;
                            if looks == LOOKS {
                                looks = 0;
                                self.rank.refuse(&mut self.out);
                            }
                        }
                    }
                }
            } else if !is_over {
                idle_since.get_or_insert_with(std::time::Instant::now);
                self.rank.set_active(false, &mut self.out);
                self.asks(&mut tries, &mut random);
            }
            is_quiet &= self.out.is_empty();
            self.sends();
            if is_over || self.rank.is_done() {
                let idle = idle_since.map_or(0, |since| since.elapsed().as_nanos() as u64);
                self.traffic.idle_ns += idle;
                self.traffic.end_ns = idle;
                return;
            }
            if is_quiet { nap(&mut rest) } else { rest = FIRST_REST }
        }
    }

    fn asks(&mut self, tries: &mut usize, random: &mut fastrand::Rng) {
        let (me, size) = (self.world.rank(), self.world.size());
        if size == 1 || !self.rank.may_ask() {
            return;
        }
        if *tries < TRIES {
            *tries += 1;
            let victim = (me + random.usize(1..size)) % size;
            self.rank.ask(victim, false, &mut self.out);
        } else if let Some(victim) = self.rank.lifeline() {
            self.rank.ask(victim, true, &mut self.out);
        }
    }

    fn sends(&mut self) {
        for (to, message) in self.out.drain(..) {
            self.traffic.messages += 1;
            self.traffic.requests += u64::from(matches!(message, Message::Request { .. }));
            self.world.send(to, self.tag, encode(&message));
        }
    }
}

/// Takes tasks to give away, but not the last of the rank.
fn spare<T: Wire, Q: Queue>(crew: &mut worklist::Crew<'_, Box<Bag<T>>, Q>) -> Option<Vec<T>> {
    let Bag::Tasks(mut tasks) = *crew.take()? else { unreachable!("the communication is not in a queue") };
    if !crew.is_last() && !tasks.is_empty() {
        return Some(tasks);
    }
    let half = worklist::Bag::split(&mut tasks);
    crew.push(Box::new(Bag::Tasks(tasks)));
    half
}

fn encode(message: &Message<Vec<u8>>) -> Vec<u8> {
    let (kind, number, bag): (u8, [u64; 2], &[u8]) = match message {
        Message::Request { is_lifeline } => (0, [u64::from(*is_lifeline), 0], &[]),
        Message::Nothing => (1, [0; 2], &[]),
        Message::Work(bag) => (2, [0; 2], bag),
        Message::Push(bag) => (3, [0; 2], bag),
        Message::Hint(number) => (4, [*number, 0], &[]),
        Message::Wave => (5, [0; 2], &[]),
        Message::Report { sent, received } => (6, [*sent, *received], &[]),
        Message::Stop => (7, [0; 2], &[]),
        Message::Settled => (8, [0; 2], &[]),
        Message::Leave => (9, [0; 2], &[]),
        Message::Abort => (10, [0; 2], &[]),
    };
    let mut bytes = Vec::with_capacity(17 + bag.len());
    kind.encode(&mut bytes);
    number.encode(&mut bytes);
    bytes.extend_from_slice(bag);
    bytes
}

fn decode(bytes: &mut &[u8]) -> Option<Message<Vec<u8>>> {
    let (kind, [a, b]) = <(u8, [u64; 2])>::decode(bytes)?;
    Some(match kind {
        0 => Message::Request { is_lifeline: a != 0 },
        1 => Message::Nothing,
        2 => Message::Work(bytes.to_vec()),
        3 => Message::Push(bytes.to_vec()),
        4 => Message::Hint(a),
        5 => Message::Wave,
        6 => Message::Report { sent: a, received: b },
        7 => Message::Stop,
        8 => Message::Settled,
        9 => Message::Leave,
        10 => Message::Abort,
        _ => return None,
    })
}
