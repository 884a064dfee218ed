//! Queues: one owner, one or two thieves, a few tasks, and every task accounted for.
//!
//! What is checked follows from the queue's promises. Always: every task pushed is returned (I1), to one taker (I2); a
//! refused push changes nothing (I3); a pop that finds nothing leaves nothing behind (I6); the emptied queue is
//! [as good as new](filch_queue::as_new). With one thief, where promised: oldest first (I5). And a task publishes what belongs to it: each has a cell
//! that is not atomic, written before its push, read and written again by whoever takes it, as the memory of a job is.

use core::num::NonZeroUsize;
use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering};
use filch_queue::as_new::{Endings, Trial};
use filch_queue::{
    Delivery, Full, Order, Owner, Promises, Queue, Steal, StealMany, StealOrder, Stealable, Task, Thief,
};

use crate::Program;
use crate::outcome::mix;
use crate::scenario::Checker;

/// What the owner does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Pushes the next task.
    Push,
    /// Pops.
    Pop,
    /// Looks for requests.
    Poll,
}

/// A client of a queue.
#[derive(Clone, Debug)]
pub struct Client {
    /// Of the queue.
    pub capacity: usize,
    /// Tasks that lie in the queue at the start.
    pub before: usize,
    /// What the owner does.
    pub owner: Vec<Act>,
    /// How often each thief tries to steal.
    pub thieves: Vec<usize>,
    /// How many tasks a thief asks for, if it asks for several.
    pub most: Option<usize>,
    /// Whether each operation has its turn: for a queue that hides its steps behind a lock which is not the memory's.
    pub in_turns: bool,
    /// Whether the queue must be as good as new in the end, and not only usable, and answer as it promises: all but a twin,
    /// which says of itself no more than it has to.
    pub leaves_new: bool,
    ends: Ends,
}

/// What is known of the ends of a client's executions, on all machines: see [`outcome`](crate::outcome).
#[derive(Clone, Debug, Default)]
struct Ends(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// For each kind of queue.
    new: HashMap<u64, Arc<Endings>>,
    /// The outcomes that have left a queue as good as new.
    passed: HashSet<u64>,
}

impl Ends {
    /// Proves a queue as good as new, unless one was that was left in the same state.
    fn prove<M: Checker, Q: Queue<M>>(
        &self,
        trial: &Trial<Q, M>,
        params: &Q::Params,
        owner: &mut Q::Owner,
        thieves: &mut [Q::Thief],
    ) {
        let mut hasher = DefaultHasher::new();
        TypeId::of::<(Q, M)>().hash(&mut hasher);
        write!(Letters(&mut hasher), "{params:?}").expect("a hasher takes everything");
        let kind = hasher.finish();
        let outcome = mix(kind, M::outcome());
        let known = || lock(&self.0);
        if known().passed.contains(&outcome) {
            return;
        }
        let new = known().new.get(&kind).cloned();
        let new = new.unwrap_or_else(|| Arc::new(trial.of_new(thieves.len())));
        trial.passes_like(&new, owner, thieves);
        let mut known = known();
        known.new.insert(kind, new);
        known.passed.insert(outcome);
    }
}

/// Hashes what is written.
struct Letters<'h>(&'h mut DefaultHasher);

impl Write for Letters<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl Client {
    /// A client whose owner does what the letters say: `+` push, `-` pop, `.` poll.
    ///
    /// # Panics
    /// On any other letter.
    pub fn new(capacity: usize, before: usize, owner: &str, thieves: &[usize]) -> Self {
        let act = |letter| match letter {
            '+' => Act::Push,
            '-' => Act::Pop,
            '.' => Act::Poll,
            _ => panic!("an owner pushes (+), pops (-) and polls (.)"),
        };
        let owner = owner.chars().map(act).collect();
        Self {
            capacity,
            before,
            owner,
            thieves: thieves.to_vec(),
            most: None,
            in_turns: false,
            leaves_new: true,
            ends: Ends::default(),
        }
    }

    /// The same client, whose thieves ask for up to `most` tasks in each attempt.
    #[must_use]
    pub fn asking_for(self, most: usize) -> Self {
        Self { most: Some(most), ..self }
    }

    /// The same client of a twin.
    #[must_use]
    pub fn of_twin(self) -> Self {
        Self { leaves_new: false, ..self }
    }

    /// The same client of a queue whose operations are single steps, which the checker could not exchange.
    #[must_use]
    pub fn in_turns(self) -> Self {
        Self { in_turns: true, ..self }
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |act: &Act| match act {
            Act::Push => '+',
            Act::Pop => '-',
            Act::Poll => '.',
        };
        let owner: String = self.owner.iter().map(letter).collect();
        let (before, bar) = ("+".repeat(self.before), if self.before > 0 { "|" } else { "" });
        write!(f, "{before}{bar}{owner}")?;
        for steals in &self.thieves {
            let steal = self.most.map_or_else(|| "s".to_owned(), |most| format!("s{most}"));
            write!(f, " {}", steal.repeat(*steals))?;
        }
        write!(f, " c{}", self.capacity)
    }
}

fn task(id: usize) -> Task {
    Task::from_id(NonZeroUsize::new(id).expect("tasks are numbered from 1"))
}

/// Who got which tasks, in order.
#[derive(Debug, Default)]
struct Taken {
    by_owner: Vec<usize>,
    by_thieves: Vec<Vec<usize>>,
    pushed: usize,
    /// Tasks pushed when a pop found nothing.
    found_empty_at: usize,
    /// Beginnings and ends of operations so far.
    now: usize,
    /// For each task taken, when whoever took it first had begun to.
    taken_from: HashMap<usize, usize>,
    /// The operations that have ended and took nothing: when they began and ended, and whether a thief said that there was nothing.
    vain: Vec<(usize, usize, bool)>,
}

impl Taken {
    /// An operation begins; returns when.
    fn begin(&mut self) -> usize {
        self.now += 1;
        self.now
    }

    /// An operation that began then has ended without a task.
    fn end_in_vain(&mut self, from: usize, is_empty: bool) {
        self.now += 1;
        self.vain.push((from, self.now, is_empty));
    }

    /// An operation that began then has taken a task.
    fn take(&mut self, id: usize, from: usize) {
        self.taken_from.entry(id).or_insert(from);
    }

    fn pop(&mut self, id: usize) {
        assert!(
            id > self.found_empty_at,
            "task {id} was there, though a pop had found the queue empty after it was pushed"
        );
        self.by_owner.push(id);
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        self.by_thieves.iter().flatten().chain(&self.by_owner).copied()
    }

    fn count(&self, id: usize) -> usize {
        self.all().filter(|&taken| taken == id).count()
    }

    /// `before`: tasks that had been pushed before the threads began.
    fn check(&self, promises: &Promises, before: usize) {
        for id in 1..=self.pushed {
            let count = self.count(id);
            assert!(count > 0, "task {id} was lost");
            // At least once has no limit: each operation of the owner can bring a task back.
            let is_once = promises.delivery == Delivery::ExactlyOnce;
            assert!(count == 1 || !is_once, "task {id} was taken {count} times");
        }
        assert!(self.all().all(|id| (1..=self.pushed).contains(&id)), "a task was taken that nobody pushed");
        let order = (promises.steals, promises.delivery);
        if let ([loot], (StealOrder::OldestFirst, Delivery::ExactlyOnce)) = (&self.by_thieves[..], order) {
            assert!(loot.is_sorted(), "the only thief got its tasks in the order {loot:?}");
        }
        // A thief finds nothing only if each task that is still there is being reached for, by somebody who comes to nothing. What
        // is pushed later may be on its way to memory.
        let is_all = promises.stealable == Stealable::All;
        for (index, &(from, to, _)) in self.vain.iter().enumerate().filter(|(_, (.., is_empty))| is_all && *is_empty) {
            let left = self.taken_from.iter().filter(|&(&id, &since)| id <= before && since > to).count();
            let is_beside = |&(other, &(began, ended, _)): &(usize, &(usize, usize, bool))| {
                other != index && began < to && ended > from
            };
            let reaching = self.vain.iter().enumerate().filter(is_beside).count();
            assert!(
                left <= reaching,
                "a thief found nothing, while {left} tasks were there and {reaching} were reached for"
            );
        }
    }
}

/// What belongs to each task, by its number.
struct Contents<M: Checker>(Vec<M::Cell<usize>>);

/// What a cell holds once its task has been taken.
const DONE: usize = usize::MAX;

impl<M: Checker> Contents<M> {
    fn new(tasks: usize) -> Self {
        Self((0..=tasks).map(|_| Cell::new(0)).collect())
    }

    fn write(&self, id: usize) {
        // SAFETY: the memory reports accesses that may overlap, and runs the threads of a program one at a time.
        self.0[id].with_mut(|cell| unsafe { *cell = id });
    }

    /// By who takes a task. If only one may, the first writes, and counting finds the others; if several may, all read.
    fn take(&self, id: usize, taken: &Taken, delivery: Delivery) {
        let is_once = delivery == Delivery::ExactlyOnce;
        let Some(cell) = self.0.get(id).filter(|_| !is_once || taken.count(id) == 0) else { return };
        // SAFETY: as in `write`.
        let found = cell.with(|cell| unsafe { *cell });
        assert_eq!(found, id, "what belongs to task {id} was not written before it was taken");
        if is_once {
            // SAFETY: as in `write`.
            cell.with_mut(|cell| unsafe { *cell = DONE });
        }
    }
}

/// Nothing here is contended: threads of one program run one at a time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The order of operations that are single steps: none, if the queue has steps of its own.
struct Turns<M: Memory>(Option<M::AtomicU32>);

impl<M: Memory> Turns<M> {
    fn take(&self) {
        if let Some(turns) = &self.0 {
            // Pairs with itself, as the lock that it stands for does.
            turns.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// What a thief does in one attempt: it asks for so many tasks, and gets them in its bag.
type Attempt<T> = fn(&mut T, usize, &mut Vec<Task>) -> Steal<usize>;

/// The program of a client of queue `Q`.
///
/// # Panics
/// If its thieves ask for several tasks at once: [`program_of_many`] is for these.
pub fn program<M: Checker, Q: Queue<M>>(client: &Client, params: &Q::Params) -> Program {
    assert!(client.most.is_none(), "the thieves ask for several tasks at once");
    let attempt: Attempt<Q::Thief> = |thief, _, bag| {
        thief.steal().map(|task| {
            bag.push(task);
            1
        })
    };
    program_with::<M, Q>(client, params, attempt, |trial| trial)
}

/// The program of a client of queue `Q` whose thieves ask for several tasks at once.
pub fn program_of_many<M: Checker, Q: Queue<M, Thief: StealMany<Task>>>(
    client: &Client,
    params: &Q::Params,
) -> Program {
    program_with::<M, Q>(client, params, StealMany::steal_many, Trial::of_many)
}

fn program_with<M: Checker, Q: Queue<M>>(
    client: &Client,
    params: &Q::Params,
    attempt: Attempt<Q::Thief>,
    trial: fn(Trial<Q, M>) -> Trial<Q, M>,
) -> Program {
    let delivery = Q::PROMISES.delivery;
    let (capacity, leaves_new, lies_before) = (client.capacity, client.leaves_new, client.before);
    let (mut owner, thieves) = Q::make(client.capacity, client.thieves.len(), params);
    let taken = Arc::new(Mutex::new(Taken { by_thieves: vec![Vec::new(); thieves.len()], ..Taken::default() }));
    let pushes = client.before + client.owner.iter().filter(|&&act| act == Act::Push).count();
    let contents = Arc::new(Contents::<M>::new(pushes));
    let turns = Arc::new(Turns::<M>(client.in_turns.then(|| Atomic::new(0))));
    for _ in 0..client.before {
        push(&mut owner, &taken, &contents, &turns);
    }
    let owner = Arc::new(Mutex::new(Some(owner)));
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = Vec::new();
    {
        let (owner, taken, acts) = (Arc::clone(&owner), Arc::clone(&taken), client.owner.clone());
        let (contents, turns) = (Arc::clone(&contents), Arc::clone(&turns));
        threads.push((
            "owner".into(),
            Box::new(move || {
                let mut mine = lock(&owner).take().expect("the owner is put there once");
                for act in acts {
                    match act {
                        Act::Push => {
                            M::note(|| format!("push {}", lock(&taken).pushed + 1));
                            push(&mut mine, &taken, &contents, &turns);
                        }
                        Act::Pop => {
                            M::note(|| "pop".into());
                            turns.take();
                            let from = lock(&taken).begin();
                            let popped = mine.pop();
                            M::note(|| popped.map_or("nothing".into(), |task| format!("popped {}", task.id())));
                            pop(popped, from, &taken, &contents, delivery);
                        }
                        Act::Poll => {
                            M::note(|| "poll".into());
                            turns.take();
                            mine.poll();
                        }
                    }
                }
                *lock(&owner) = Some(mine);
            }),
        ));
    }
    let thieves: Vec<_> = thieves.into_iter().map(|thief| Arc::new(Mutex::new(Some(thief)))).collect();
    let most = client.most.unwrap_or(1);
    for (index, (thief, &steals)) in thieves.iter().zip(&client.thieves).enumerate() {
        let (thief, taken, contents) = (Arc::clone(thief), Arc::clone(&taken), Arc::clone(&contents));
        let turns = Arc::clone(&turns);
        threads.push((
            format!("thief {}", index + 1),
            Box::new(move || {
                let mut mine = lock(&thief).take().expect("the thief is put there once");
                for _ in 0..steals {
                    M::note(|| "steal".into());
                    turns.take();
                    let (mut bag, from) = (Vec::new(), lock(&taken).begin());
                    let stolen = attempt(&mut mine, most, &mut bag);
                    M::note(|| match stolen {
                        Steal::Task(_) => {
                            bag.iter().map(|task| format!("stole {}", task.id())).collect::<Vec<_>>().join(", ")
                        }
                        other => format!("{other:?}"),
                    });
                    assert_eq!(stolen.task().unwrap_or(0), bag.len(), "the answer is not what is in the bag");
                    assert!(bag.len() <= most, "{} tasks are more than {most}", bag.len());
                    let is_promised = !leaves_new || Q::PROMISES.may_answer(&stolen);
                    assert!(is_promised, "{stolen:?} is no answer of this queue");
                    if bag.is_empty() {
                        lock(&taken).end_in_vain(from, stolen.is_empty());
                    }
                    for task in bag {
                        let mut taken = lock(&taken);
                        taken.take(task.id().get(), from);
                        contents.take(task.id().get(), &taken, delivery);
                        taken.by_thieves[index].push(task.id().get());
                    }
                }
                *lock(&thief) = Some(mine);
            }),
        ));
    }
    let (params, ends) = (params.clone(), client.ends.clone());
    let trial = trial(Trial::new(capacity, &params));
    let finally = Box::new(move || {
        let ended = |thief: &Arc<Mutex<Option<Q::Thief>>>| lock(thief).take().expect("the thief has ended");
        let mut thieves: Vec<_> = thieves.iter().map(ended).collect();
        let mut owner = lock(&owner).take().expect("the owner has ended");
        let last = lock(&taken).begin();
        loop {
            let before = lock(&taken).all().count();
            for (index, thief) in thieves.iter_mut().enumerate() {
                if let Some(task) = thief.quiesce() {
                    let mut taken = lock(&taken);
                    taken.take(task.id().get(), last);
                    contents.take(task.id().get(), &taken, delivery);
                    taken.by_thieves[index].push(task.id().get());
                }
            }
            while let Some(task) = owner.pop() {
                pop(Some(task), last, &taken, &contents, delivery);
            }
            if !Q::PROMISES.owner_must_poll {
                break;
            }
            // The owner may have answered a thief meanwhile.
            owner.poll();
            if lock(&taken).all().count() == before {
                break;
            }
        }
        lock(&taken).check(&Q::PROMISES, lies_before);
        if leaves_new {
            return ends.prove::<M, Q>(&trial, &params, &mut owner, &mut thieves);
        }
        // It is not only empty but usable.
        let first = lock(&taken).pushed + 1;
        let ids: Vec<usize> = (first..first + capacity.min(2)).filter(|&id| owner.push(task(id)).is_ok()).collect();
        assert!(!ids.is_empty(), "the emptied queue takes no task");
        let popped: Vec<usize> = std::iter::from_fn(|| owner.pop()).map(|task| task.id().get()).collect();
        let expected: Vec<usize> = match Q::PROMISES.order {
            Order::Lifo => ids.into_iter().rev().collect(),
            Order::Fifo => ids,
        };
        assert_eq!(popped, expected, "the emptied queue returns other tasks than it was given");
    });
    Program { threads, finally }
}

fn push<M: Checker>(owner: &mut impl Owner<Task>, taken: &Mutex<Taken>, contents: &Contents<M>, turns: &Turns<M>) {
    let id = lock(taken).pushed + 1;
    contents.write(id);
    turns.take();
    match owner.push(task(id)) {
        Ok(()) => lock(taken).pushed = id,
        Err(Full(refused)) => assert_eq!(refused, task(id), "a full queue returns the task it refuses"),
    }
}

fn pop<M: Checker>(
    popped: Option<Task>,
    from: usize,
    taken: &Mutex<Taken>,
    contents: &Contents<M>,
    delivery: Delivery,
) {
    let mut taken = lock(taken);
    match popped {
        Some(task) => {
            taken.take(task.id().get(), from);
            contents.take(task.id().get(), &taken, delivery);
            taken.pop(task.id().get());
        }
        None => {
            taken.end_in_vain(from, false);
            taken.found_empty_at = taken.pushed;
        }
    }
}

/// A program in which a worker looks whether there is work, once, while the owner and another thief act: of the tasks that lie
/// in the queue before, the client must leave one.
pub fn hint<M: Checker, Q: Queue<M>>(client: &Client, params: &Q::Params) -> Program {
    let (mut owner, mut thieves) = Q::make(client.capacity, 2, params);
    let taken = Arc::new(Mutex::new(0));
    for id in 1..=client.before {
        assert!(owner.push(task(id)).is_ok(), "there is room for what lies there before");
    }
    let (looker, mut thief) = (thieves.remove(1), thieves.remove(0));
    // Who has ended leaves its side here.
    let owners: Ended<Q::Owner> = Arc::default();
    let [thieves, lookers]: [Ended<Q::Thief>; 2] = Default::default();
    let (mine, yours, others) = (Arc::clone(&owners), Arc::clone(&thieves), Arc::clone(&lookers));
    let seen = Arc::new(Mutex::new(None));
    let look = {
        let seen = Arc::clone(&seen);
        move || {
            let hint = looker.has_work_hint();
            M::note(|| format!("there is {}", if hint { "work" } else { "no work" }));
            *lock(&seen) = Some(hint);
            *lock(&others) = Some(looker);
        }
    };
    let own = {
        let (taken, acts) = (Arc::clone(&taken), client.owner.clone());
        move || {
            for act in acts {
                match act {
                    Act::Push => panic!("what is pushed now need not be seen"),
                    Act::Pop => *lock(&taken) += usize::from(owner.pop().is_some()),
                    Act::Poll => owner.poll(),
                }
            }
            *lock(&mine) = Some(owner);
        }
    };
    let steal = {
        let (taken, steals) = (Arc::clone(&taken), client.thieves.iter().sum());
        move || {
            for _ in 0..steals {
                *lock(&taken) += usize::from(thief.steal().is_task());
            }
            *lock(&yours) = Some(thief);
        }
    };
    let (before, ends) = (client.before, client.ends.clone());
    let (params, trial) = (params.clone(), Trial::new(client.capacity, params));
    Program {
        threads: vec![
            ("owner".into(), Box::new(own)),
            ("thief".into(), Box::new(steal)),
            ("looker".into(), Box::new(look)),
        ],
        finally: Box::new(move || {
            let mut taken = *lock(&taken);
            assert!(taken < before, "the client leaves a task, or it shows nothing");
            assert_eq!(*lock(&seen), Some(true), "there was a task all the time, and the hint did not say so");
            let mut owner = lock(&owners).take().expect("the owner has ended");
            let mut thieves = [&thieves, &lookers].map(|thief| lock(thief).take().expect("the thief has ended"));
            for _ in 0..2 {
                taken += std::iter::from_fn(|| thieves[0].quiesce()).count();
                taken += std::iter::from_fn(|| owner.pop()).count();
                owner.poll();
            }
            let is_once = Q::PROMISES.delivery == Delivery::ExactlyOnce;
            assert!(taken == before || taken > before && !is_once, "{taken} of {before} tasks were taken");
            ends.prove::<M, Q>(&trial, &params, &mut owner, &mut thieves);
        }),
    }
}

/// The side of a queue whose thread has ended.
type Ended<T> = Arc<Mutex<Option<T>>>;
