//! A rank's connection to the others during a run.
//!
//! While the rank has work, its workers look for messages between their tasks, and a thief elsewhere gets half of the
//! bag in a worker's hand. When no other worker has a bag, one with an empty hand asks other ranks, and waits for an
//! answer. The communicator, one more thread, looks seldom: it is there for tasks that take long, and keeps the list
//! open.
//!
//! Invariant: the rank counts as having work while a worker has a bag with tasks.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use filch::Stop;
use filch::worklist::{self, Queue};
use filch_memory::{Atomic, Memory, Native, Ordering};
use filch_queue::clock;

use crate::cluster::{Aborted, Progress, Traffic, Worker};
use crate::message::{decode, encode};
use crate::protocol::{Hint, Message, Outbox, Rank};
use crate::{Transport, Wire};

type Shared64 = <Native as Memory>::AtomicU64;

/// How often a rank asks random victims before it asks its lifelines; the first half on its own node, if it has
/// neighbours there.
const TRIES: usize = 4;
/// After how many vain looks for a task to give a request is refused.
const LOOKS: usize = 4;
/// How long a thread that waits for work rests between looks, at first and at most, and how long it waits without a
/// rest; and the communicator's rests while there is work.
const FIRST_REST: Duration = Duration::from_micros(5);
const SOON: Duration = Duration::from_micros(150);
const REST: Duration = Duration::from_micros(200);
const LONG_REST: Duration = Duration::from_millis(1);
/// How often a worker looks for messages: at most once in so many tasks and ticks of the clock, some tens of
/// microseconds.
const TASKS: u32 = 16;
const TICKS: u64 = 60_000;
/// So many tasks for another rank travel at once.
const PARCEL: usize = 512;

/// Many small tasks, or the communication of the rank.
pub(crate) enum Bag<T> {
    Tasks(Vec<T>),
    /// Tasks that stay on this rank.
    Here(Vec<T>),
    Communicate,
}

impl<T: Send> Bag<T> {
    fn divide(&mut self, split: impl Fn(&mut Vec<T>) -> Option<Vec<T>>) -> Option<Self> {
        match self {
            Self::Tasks(tasks) => split(tasks).map(Self::Tasks),
            Self::Here(tasks) => split(tasks).map(Self::Here),
            Self::Communicate => None,
        }
    }
}

impl<T: Send> worklist::Bag for Bag<T> {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        match self {
            Self::Tasks(tasks) | Self::Here(tasks) => tasks.len(),
            Self::Communicate => 1,
        }
    }

    fn split(&mut self) -> Option<Self> {
        self.divide(worklist::Bag::split)
    }

    fn split_one(&mut self) -> Option<Self> {
        self.divide(worklist::Bag::split_one)
    }
}

/// What tasks and the link share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    bound: Shared64,
    /// Tasks run, as far as workers have told.
    tasks: Shared64,
    communicator: OnceLock<Thread>,
    pub(crate) pace: Pace,
}

impl Shared {
    pub(crate) fn new(world: &impl Transport, pace: Pace) -> Self {
        let (rank, ranks) = (world.rank(), world.size());
        Self { rank, ranks, bound: Atomic::new(0), tasks: Atomic::new(0), communicator: OnceLock::new(), pace }
    }

    // Relaxed, here and below: the numbers publish nothing.
    pub(crate) fn bound(&self) -> u64 {
        self.bound.load(Ordering::Relaxed)
    }

    pub(crate) fn raise(&self, bound: u64) {
        let mut known = self.bound();
        while known < bound {
            match self.bound.compare_exchange_weak(known, bound, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => known = other,
            }
        }
    }

    pub(crate) fn tasks(&self) -> u64 {
        self.tasks.load(Ordering::Relaxed)
    }

    fn wake_communicator(&self) {
        if let Some(thread) = self.communicator.get() {
            thread.unpark();
        }
    }
}

/// Tasks of one worker for certain ranks, on their way there.
#[derive(Debug)]
pub(crate) struct Parcels<T> {
    by_rank: Vec<Vec<T>>,
    count: usize,
}

impl<T> Parcels<T> {
    #[inline]
    pub(crate) fn push(&mut self, rank: usize, task: T) {
        self.by_rank[rank].push(task);
        self.count += 1;
    }

    /// Moves what is for this rank.
    #[inline]
    fn take_own(&mut self, rank: usize, to: &mut Vec<T>) {
        let own = &mut self.by_rank[rank];
        self.count -= own.len();
        to.append(own);
    }
}

/// A worker's own part of a run.
pub(crate) struct Member<'s, S, T> {
    state: S,
    parcels: Parcels<T>,
    shared: &'s Shared,
    /// Tasks run since the last look at the clock.
    tasks: u32,
    looked: u64,
}

impl<'s, S, T: Wire> Member<'s, S, T> {
    pub(crate) fn new(state: S, shared: &'s Shared) -> Self {
        let parcels = Parcels { by_rank: (0..shared.ranks).map(|_| Vec::new()).collect(), count: 0 };
        Self { state, parcels, shared, tasks: 0, looked: clock::now() }
    }

    pub(crate) fn into_state(self) -> S {
        self.state
    }

    #[inline(always)]
    fn call(&mut self, task: &impl Fn(&mut Worker<'_, T>, &mut S, T), tasks: &mut Vec<T>, next: T) {
        let Self { state, parcels, shared, .. } = self;
        task(&mut Worker { tasks, parcels, shared }, state, next);
        self.tasks += 1;
    }

    /// Runs a task of the bag, and sometimes exchanges messages.
    #[inline]
    pub(crate) fn run_one<X: Transport, Q: Queue>(
        &mut self,
        tasks: &mut Vec<T>,
        task: &impl Fn(&mut Worker<'_, T>, &mut S, T),
        worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>,
        link: &Mutex<Link<'_, X>>,
    ) {
        if let Some(next) = tasks.pop() {
            self.call(task, tasks, next);
        }
        if self.tasks >= TASKS || tasks.is_empty() {
            self.look(tasks, worker, link);
        }
    }

    /// Runs some tasks of a bag that stays here. What they push may go elsewhere.
    pub(crate) fn run_here<X: Transport, Q: Queue>(
        &mut self,
        here: &mut Vec<T>,
        task: &impl Fn(&mut Worker<'_, T>, &mut S, T),
        worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>,
        link: &Mutex<Link<'_, X>>,
    ) {
        let mut tasks = Vec::new();
        while self.tasks < TASKS
            && let Some(next) = here.pop()
        {
            self.call(task, &mut tasks, next);
            self.parcels.take_own(self.shared.rank, here);
        }
        if !tasks.is_empty() {
            worker.push(Box::new(Bag::Tasks(tasks)));
        }
        self.look(here, worker, link);
    }

    /// Looks for messages, if it is time; and sends its own, if there are many or the worker has nothing else to do.
    #[cold]
    fn look<X: Transport, Q: Queue>(
        &mut self,
        hand: &mut Vec<T>,
        worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>,
        link: &Mutex<Link<'_, X>>,
    ) {
        // Relaxed: as above.
        self.shared.tasks.fetch_add(u64::from(std::mem::take(&mut self.tasks)), Ordering::Relaxed);
        if self.shared.ranks == 1 {
            self.keep_own(worker);
            return;
        }
        let is_empty = hand.is_empty();
        if self.parcels.count >= PARCEL || is_empty && self.parcels.count > 0 {
            self.keep_own(worker);
            let link = &mut *link.lock().expect("no panic with the link");
            assert!(!link.survives, "a task that belongs to a rank cannot survive it: push it for anybody");
            for (to, parcel) in self.parcels.by_rank.iter_mut().enumerate().filter(|(_, parcel)| !parcel.is_empty()) {
                link.rank.push(to, bytes_of(true, parcel), &mut link.out);
                parcel.clear();
            }
            self.parcels.count = 0;
            link.sends();
        }
        if is_empty {
            // The bag in hand and the communicator's are left.
            let mut rest = Rest::default();
            while worker.is_among_last(2) {
                let Exchange { is_over, is_quiet, .. } =
                    link.lock().expect("no panic with the link").exchange(worker, Hand::Empty);
                if is_over {
                    return self.shared.wake_communicator();
                }
                rest.after(is_quiet, self.shared.pace);
            }
            return;
        }
        let now = clock::now();
        if now.wrapping_sub(self.looked) >= self.shared.pace.ticks {
            self.looked = now;
            if let Ok(mut link) = link.try_lock()
                && link.exchange(worker, Hand::Tasks(hand)).is_over
            {
                self.shared.wake_communicator();
            }
        }
    }

    /// Pushes what is for this rank.
    fn keep_own<Q: Queue>(&mut self, worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>) {
        let mut own = Vec::new();
        self.parcels.take_own(self.shared.rank, &mut own);
        if !own.is_empty() {
            worker.push(Box::new(Bag::Here(own)));
        }
    }
}

/// The link, and what has passed over it.
pub(crate) struct Link<'x, X> {
    world: &'x mut X,
    tag: u32,
    rank: Rank,
    out: Outbox<Vec<u8>>,
    stop: Stop,
    shared: &'x Shared,
    progress: Option<Progress>,
    told: Told,
    traffic: Traffic,
    random: fastrand::Rng,
    tries: usize,
    looks: usize,
    idle_since: Option<Instant>,
    /// Bags that have arrived, and those to do again.
    inbox: Vec<Vec<u8>>,
    survives: bool,
    /// What it has given to others, if it survives them.
    given: Vec<(usize, Vec<u8>)>,
    /// The dead, and on rank 0 the states that have arrived.
    gone: Vec<usize>,
    states: BTreeMap<usize, Vec<u8>>,
}

/// What the ranks have told each other.
struct Told {
    bound: u64,
    at: Instant,
    /// By rank.
    tasks: Vec<u64>,
}

/// Who exchanges messages.
enum Hand<'h, T> {
    /// A worker with tasks in its hand.
    Tasks(&'h mut Vec<T>),
    /// A worker without.
    Empty,
    Communicator,
}

/// The outcome of an exchange.
#[derive(Clone, Copy)]
struct Exchange {
    is_over: bool,
    /// Nothing was sent or received.
    is_quiet: bool,
    /// The rank waits for work.
    is_idle: bool,
}

impl<'x, X: Transport> Link<'x, X> {
    pub(crate) fn new(
        world: &'x mut X,
        tag: u32,
        stop: Stop,
        shared: &'x Shared,
        progress: Option<Progress>,
        survives: Option<Vec<usize>>,
    ) -> Self {
        let (survives, gone) = (survives.is_some(), survives.unwrap_or_default());
        let new = if survives { Rank::surviving } else { Rank::new };
        let mut rank = new(shared.rank, shared.ranks);
        let mut out = Vec::new();
        // It has work until the communicator has looked.
        rank.set_active(true, &mut out);
        Self {
            world,
            tag,
            rank,
            out,
            stop,
            shared,
            progress,
            told: Told { bound: 0, at: Instant::now(), tasks: vec![0; shared.ranks] },
            traffic: Traffic::default(),
            random: fastrand::Rng::with_seed(shared.rank as u64),
            tries: 0,
            looks: 0,
            idle_since: None,
            inbox: Vec::new(),
            survives,
            given: Vec::new(),
            gone,
            states: BTreeMap::new(),
        }
    }

    pub(crate) fn aborted_by(&self) -> Option<usize> {
        self.rank.aborted_by()
    }

    /// The dead, on rank 0.
    pub(crate) fn take_gone(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.gone)
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Receives what has arrived, answers, and asks.
    fn exchange<T: Wire, Q: Queue>(
        &mut self,
        worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>,
        mut hand: Hand<'_, T>,
    ) -> Exchange {
        let mut is_quiet = !self.receives();
        self.loses();
        for bytes in self.inbox.drain(..) {
            let (stays, tasks) = <(u8, Vec<T>)>::decode(&mut &bytes[..]).expect("ranks send tasks");
            self.traffic.stolen_tasks += tasks.len() as u64;
            worker.push(Box::new(if stays == 0 { Bag::Tasks(tasks) } else { Bag::Here(tasks) }));
        }
        worker.poll();
        // A rank that others survive ends alone.
        let is_broken = worker.is_stopped() && self.rank.aborted_by().is_none() && !self.rank.is_done();
        if is_broken && !self.survives {
            self.rank.abort(&mut self.out);
        }
        if self.rank.aborted_by().is_some() {
            self.stop.stop();
        }
        let mut is_over = self.rank.is_done() || self.rank.aborted_by().is_some() || is_broken;
        let is_idle = match hand {
            Hand::Tasks(_) => false,
            Hand::Empty => worker.is_among_last(2),
            Hand::Communicator => worker.is_last(),
        };
        if !is_over && is_idle {
            self.idle_since.get_or_insert_with(Instant::now);
            self.rank.set_active(false, &mut self.out);
            self.asks();
        } else if !is_over && self.rank.is_active() {
            self.traffic.idle_ns += self.idle_since.take().map_or(0, |since| nanoseconds(since.elapsed()));
            while let Some(to) = self.rank.wanted() {
                let half = if let Hand::Tasks(tasks) = &mut hand { every_second(tasks) } else { None };
                let Some(bag) = half.or_else(|| spare(worker)) else {
                    self.looks += 1;
                    if self.looks == LOOKS {
                        self.looks = 0;
                        self.rank.refuse(&mut self.out);
                    }
                    break;
                };
                let bytes = bytes_of(false, &bag);
                if self.survives {
                    self.given.push((to, bytes.clone()));
                }
                self.rank.give(to, bytes, &mut self.out);
                self.looks = 0;
            }
            self.tells();
        }
        is_quiet &= self.out.is_empty();
        self.sends();
        is_over |= self.rank.is_done();
        if is_over && matches!(hand, Hand::Communicator) {
            let idle = self.idle_since.take().map_or(0, |since| nanoseconds(since.elapsed()));
            self.traffic.idle_ns += idle;
            self.traffic.end_ns = idle;
        }
        Exchange { is_over, is_quiet, is_idle }
    }

    /// Receives all that has arrived. Returns whether there was something.
    fn receives(&mut self) -> bool {
        let mut is_any = false;
        while let Some((from, bytes)) = self.world.receive(self.tag) {
            is_any = true;
            let message = decode(&mut &bytes[..]).expect("ranks send messages");
            if let Message::Hint(hint) = message {
                self.shared.raise(hint.bound);
                self.told.bound = self.told.bound.max(hint.bound);
                self.told.tasks[from] = self.told.tasks[from].max(hint.tasks);
            }
            if let Some(bytes) = self.rank.receive(from, message, &mut self.out) {
                self.traffic.steals += 1;
                self.tries = 0;
                self.inbox.push(bytes);
            }
        }
        is_any
    }

    /// Hears of deaths, and does again what the dead have got from here.
    fn loses(&mut self) {
        if !self.survives {
            return;
        }
        while let Some(rank) = self.world.lost() {
            if self.shared.rank == 0 {
                self.gone.push(rank);
            } else if rank == 0 {
                self.rank.receive(0, Message::Abort, &mut self.out);
            }
        }
        for &rank in self.gone.iter().filter(|rank| !self.states.contains_key(rank)) {
            self.rank.lose(rank, &mut self.out);
        }
        while let Some(rank) = self.rank.take_lost() {
            let (lost, given) = std::mem::take(&mut self.given).into_iter().partition(|(to, _)| *to == rank);
            self.given = given;
            let lost: Vec<_> = lost;
            self.inbox.extend(lost.into_iter().map(|(_, bytes)| bytes));
        }
    }

    /// Exchanges states after a run that survives deaths. Returns those of all other living ranks, on rank 0; or `None`
    /// if the run has to go on, because a rank has died with its state.
    pub(crate) fn collect<S: Wire>(&mut self, state: &S) -> Result<Option<Vec<S>>, Aborted> {
        let tag = self.tag + 1;
        let epoch = self.rank.epoch() as u64;
        if self.shared.rank != 0 {
            let mut bytes = epoch.to_bytes();
            state.encode(&mut bytes);
            self.world.send(0, tag, bytes);
        }
        let mut rest = Rest::default();
        loop {
            // Who is gone may have sent all before.
            self.loses();
            let mut is_quiet = !self.receives();
            while let Some((from, bytes)) = self.world.receive(tag) {
                is_quiet = false;
                let rest = &mut &bytes[..];
                if u64::decode(rest) == Some(epoch) {
                    self.states.insert(from, rest.to_vec());
                }
            }
            if self.shared.rank != 0 && self.states.contains_key(&0) {
                return Ok(Some(Vec::new()));
            }
            if let Some(by) = self.rank.aborted_by() {
                return Err(Aborted { by });
            }
            if self.rank.is_working() {
                self.states.clear();
                self.loses();
                self.sends();
                return Ok(None);
            }
            if self.shared.rank == 0 && self.rank.others().all(|rank| self.states.contains_key(&rank)) {
                for rank in self.rank.others().collect::<Vec<_>>() {
                    self.world.send(rank, tag, epoch.to_bytes());
                }
                let states = std::mem::take(&mut self.states).into_values();
                return Ok(Some(states.map(|bytes| S::decode(&mut &bytes[..]).expect("a state was sent")).collect()));
            }
            self.sends();
            rest.after(is_quiet, self.shared.pace);
        }
    }

    /// Takes the bags that have arrived after the run.
    pub(crate) fn take_inbox<T: Wire>(&mut self) -> Vec<T> {
        let tasks = |bytes: Vec<u8>| <(u8, Vec<T>)>::decode(&mut &bytes[..]).expect("ranks send tasks").1;
        self.inbox.drain(..).flat_map(tasks).collect()
    }

    /// Asks a victim near by, then any, then the lifelines.
    fn asks(&mut self) {
        let size = self.shared.ranks;
        if size == 1 || !self.rank.may_ask() {
            return;
        }
        if self.tries < TRIES {
            self.tries += 1;
            let near = self.world.near();
            let victim = match NonZero::new(near.len()).filter(|_| self.tries <= TRIES / 2) {
                Some(count) => near[self.random.usize(..count.get())],
                None => (self.shared.rank + self.random.usize(1..size)) % size,
            };
            if self.rank.others().any(|rank| rank == victim) {
                self.rank.ask(victim, false, &mut self.out);
            }
        } else if let Some(victim) = self.rank.lifeline() {
            self.rank.ask(victim, true, &mut self.out);
        }
    }

    /// Tells others a new bound, and rank 0 the progress. Only with work: the messages are counted.
    fn tells(&mut self) {
        let (me, bound, tasks) = (self.shared.rank, self.shared.bound(), self.shared.tasks());
        if bound > self.told.bound {
            self.told.bound = bound;
            self.rank.hint(Hint { bound, tasks }, &mut self.out);
        }
        if let Some(Progress { period, show }) = self.progress
            && self.told.at.elapsed() >= period
        {
            self.told.at = Instant::now();
            if me == 0 {
                self.told.tasks[0] = tasks;
                show(&self.told.tasks);
            } else {
                self.rank.hint_to(0, Hint { bound, tasks }, &mut self.out);
            }
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

/// Takes every second task, the oldest first: old tasks tend to be large, and a steal between ranks is dear, so both
/// get their share of them.
fn every_second<T>(tasks: &mut Vec<T>) -> Option<Vec<T>> {
    let mut is_taken = false;
    let mut take = |_: &mut T| {
        is_taken = !is_taken;
        is_taken
    };
    (tasks.len() > 1).then(|| tasks.extract_if(.., &mut take).collect())
}

/// Takes tasks to give away, but not the last of the rank.
fn spare<T: Wire, Q: Queue>(worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>) -> Option<Vec<T>> {
    let mut bag = worker.take()?;
    let half = match &mut *bag {
        Bag::Tasks(tasks) if !worker.is_last() && !tasks.is_empty() => return Some(std::mem::take(tasks)),
        Bag::Tasks(tasks) => every_second(tasks),
        Bag::Here(_) => None,
        Bag::Communicate => unreachable!("the communication is not in a queue"),
    };
    worker.push(bag);
    half
}

/// Tasks with whether they stay where they arrive.
fn bytes_of<T: Wire>(stays: bool, tasks: &[T]) -> Vec<u8> {
    let mut bytes = u8::from(stays).to_bytes();
    T::encode_all(tasks, &mut bytes);
    bytes
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Exchanges messages until the run is over: the communicator's task.
pub(crate) fn communicate<X: Transport, T: Wire, Q: Queue>(
    worker: &mut worklist::ListWorker<'_, Box<Bag<T>>, Q>,
    shared: &Shared,
    link: &Mutex<Link<'_, X>>,
) {
    // If the run goes on after a death, it is perhaps another thread's, which looks without being woken.
    let _ = shared.communicator.set(thread::current());
    let mut rest = Rest::default();
    loop {
        let mut link = link.lock().expect("no panic with the link");
        let Exchange { is_over, is_quiet, is_idle } = link.exchange(worker, Hand::Communicator);
        drop(link);
        if is_over {
            return;
        }
        if is_idle { rest.after(is_quiet, shared.pace) } else { thread::park_timeout(LONG_REST) }
    }
}

/// How often a rank looks for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// How long a thread without work keeps looking, before it rests between looks.
    patience: Duration,
    /// How many ticks a worker works between looks.
    ticks: u64,
}

impl Pace {
    /// As often as pays on this node.
    pub(crate) fn of(world: &impl Transport) -> Self {
        let is_crowded = processors().is_some_and(|processors| world.near().len() >= processors);
        // With more ranks than processors, each look lets another rank run, if the MPI yields as Open MPI does.
        Self { patience: SOON, ticks: if is_crowded { 10 * TICKS } else { TICKS } }
    }

    /// A thread without work never rests.
    pub(crate) fn stay_awake(self) -> Self {
        Self { patience: Duration::MAX, ..self }
    }
}

/// The processors of this machine, not only those that this rank is bound to, where the system tells.
fn processors() -> Option<usize> {
    #[cfg(unix)]
    {
        // SAFETY: the call only asks for a number.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        usize::try_from(processors).ok().filter(|&processors| processors > 0)
    }
    #[cfg(not(unix))]
    None
}

/// The waits of a thread between looks for messages.
#[derive(Default)]
pub(crate) struct Rest {
    quiet_since: Option<Instant>,
    naps: u32,
}

impl Rest {
    /// Waits: at first only for whoever else wants the processor, then longer and longer while all is quiet.
    pub(crate) fn after(&mut self, is_quiet: bool, pace: Pace) {
        if !is_quiet {
            *self = Self::default();
        }
        let since = *self.quiet_since.get_or_insert_with(Instant::now);
        if since.elapsed() < pace.patience {
            thread::yield_now();
        } else {
            thread::sleep((FIRST_REST * (1 << self.naps.min(8))).min(REST));
            self.naps += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Threads;

    #[test]
    fn neighbours_are_asked_first() {
        let mut ranks = Threads::on_nodes(&[0, 1, 0, 1, 0, 1]);
        let shared = Shared::new(&ranks[3], Pace::of(&ranks[3]));
        let mut link = Link::new(&mut ranks[3], 0, Stop::new(), &shared, None, None);
        link.rank.set_active(false, &mut link.out);
        let mut asked = Vec::new();
        while asked.len() <= TRIES {
            link.asks();
            let (victim, message) = link.out.pop().expect("a request");
            assert_eq!(message, Message::Request { is_lifeline: asked.len() == TRIES });
            asked.push(victim);
            link.rank.receive(victim, Message::Nothing, &mut link.out);
        }
        let (near, far) = asked[..TRIES].split_at(TRIES / 2);
        assert!(near.iter().all(|victim| [1, 5].contains(victim)), "{asked:?}");
        assert!(far.iter().all(|&victim| victim != 3), "{asked:?}");
    }
}
