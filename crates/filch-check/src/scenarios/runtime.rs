//! filch's own protocols, together: fork, join, steal, leapfrog, sleep, wake; latches, mail, searching.
//!
//! A worker here is a worker of the default pool reduced to its protocols, which are those that ship: [`split`] forks and joins,
//! [`waiting`](filch::protocol::waiting) waits, [`JobState`] says who has a task, [`Dormitory`] who sleeps, [`Latch`] what has
//! ended. What is restated is how a thief takes a task and runs it: filch's slots and closures are made for speed on one memory.
//!
//! What is checked: every task of a small tree runs once, its result reaches its joiner, nobody sleeps for ever, and a
//! task's memory is never used by two threads without an order between them.

use std::cell::{Cell as Plain, RefCell};
use std::sync::{Arc, Mutex};

use filch::protocol::beat::{Clock, Due};
use filch::protocol::grain::{self, Time};
use filch::protocol::latch::{Event, Latch, Waiter};
use filch::protocol::limits::{Limits, Sharer};
use filch::protocol::sleep::{ANY, ANY_MEANWHILE, Dormitory, Wanted};
use filch::protocol::split;
use filch::protocol::state::{JobState, Settled, Theft};
use filch::protocol::termination::Counts;
use filch::protocol::ticks::Ticks;
use filch::protocol::waiting::{Joiner, Patience, Searcher, Sleeper, await_job, has_pushed, search};
use filch_memory::{Asymmetric, Atomic, AtomicInt, Cell, Memory, Ordering};
use filch_queue::lace::index::{SharedIndex, StealIndex};

use super::queues::lock;
use crate::Program;
use crate::scenario::Checker;

/// Slots of a worker's stack: more than any tree here needs.
const CAPACITY: usize = 6;
/// Limits compare addresses.
const SLOT: usize = 64;
const BOTTOM: usize = 64;

fn address(slot: usize) -> usize {
    BOTTOM + slot * SLOT
}

/// A slot of a task stack.
struct Slot<M: Memory> {
    state: JobState<M>,
    /// The task, then its result.
    content: M::Cell<usize>,
}

/// What the others see of a worker.
struct Desk<M: Memory> {
    index: SharedIndex<M>,
    limits: Limits<M>,
    slots: Vec<Slot<M>>,
    /// How many jobs have been posted to it.
    mail: M::AtomicUsize,
}

struct Team<M: Memory> {
    desks: Vec<Desk<M>>,
    grain: grain::Params,
    dormitory: Dormitory<M>,
    closing: M::AtomicBool,
    waiting: Waiting,
    /// For each task, the numbers of its parts.
    tree: &'static [&'static [usize]],
    /// How often each task ran.
    ran: Mutex<Vec<usize>>,
}

/// What a worker does whose task is stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Leapfrogs, and sleeps when there is nothing to steal.
    Sleeps,
    /// Tries to leapfrog so many times, and then stays awake.
    Leaps(usize),
}

/// A worker, on its own thread.
struct Worker<M: Memory> {
    team: Arc<Team<M>>,
    me: usize,
    owner: RefCell<split::Owner>,
    /// How many posted jobs it has run.
    read: Plain<usize>,
    /// Rounds that it stays awake when it is idle and finds nothing.
    patience: u32,
    /// Whether it gives back what it steals.
    gives_back: bool,
}

/// A number of rounds.
struct Rounds<M>(u32, std::marker::PhantomData<M>);

impl<M> Rounds<M> {
    fn new(rounds: u32) -> Self {
        Self(rounds, std::marker::PhantomData)
    }
}

impl<M: Memory> Patience for Rounds<M> {
    fn wait(&mut self) -> bool {
        let waits = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        waits
    }

    fn hold_on(&mut self) {
        M::spin_loop();
    }

    /// One more chance would be one more round of the same.
    fn renew(&mut self) {}
}

/// It waits until something changes, or not at all.
struct Awake<M>(bool, std::marker::PhantomData<M>);

impl<M: Memory> Patience for Awake<M> {
    fn wait(&mut self) -> bool {
        if self.0 {
            M::spin_loop();
        }
        self.0
    }

    fn hold_on(&mut self) {
        M::spin_loop();
    }

    fn renew(&mut self) {}
}

impl<M: Checker> Sleeper for Worker<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.team.dormitory
    }

    fn index(&self) -> usize {
        self.me
    }

    fn parks(&self) {
        M::note(|| "sleeps".into());
    }
}

impl<M: Checker> Sharer for Worker<M> {
    fn has_aside(&self) -> bool {
        false
    }

    /// Nothing takes any time.
    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.team.grain
    }
}

/// Owners that share whatever they fork.
pub const COARSE: grain::Params =
    grain::Params { window: u32::MAX, doubt: u32::MAX, ready: 0, vain: 0, fine: 0, patience: 0 };
/// Owners that share what they fork until the second join, and again once they have been asked.
pub const FICKLE: grain::Params = grain::Params { window: 1, doubt: 1, ready: 1, vain: 2, fine: 0, patience: 0 };

impl<M: Checker> Worker<M> {
    fn team(workers: usize, waiting: Waiting, tree: &'static [&'static [usize]], grain: grain::Params) -> Vec<Self> {
        let mut owners = Vec::new();
        let desks = (0..workers).map(|_| {
            let (index, owner) = split::Owner::new();
            owners.push(owner);
            let slot = |_| Slot { state: JobState::default(), content: Cell::new(usize::MAX) };
            let slots = (0..CAPACITY).map(slot).collect();
            Desk { index, limits: Limits::closed(), slots, mail: Atomic::new(0) }
        });
        let team = Arc::new(Team {
            desks: desks.collect(),
            grain,
            dormitory: Dormitory::new(workers),
            closing: Atomic::new(false),
            waiting,
            tree,
            ran: Mutex::new(vec![0; tree.len()]),
        });
        let worker = |(me, owner)| Self {
            team: Arc::clone(&team),
            me,
            owner: RefCell::new(owner),
            read: Plain::new(0),
            patience: 0,
            gives_back: false,
        };
        owners.into_iter().enumerate().map(worker).collect()
    }

    fn desk(&self) -> &Desk<M> {
        &self.team.desks[self.me]
    }

    fn stack(&self) -> split::Stack<'_, M> {
        let Desk { index, limits, .. } = self.desk();
        split::Stack { shared: index, limits, bottom: BOTTOM, slot_size: SLOT, capacity: CAPACITY }
    }

    fn others(&self) -> impl Iterator<Item = usize> + Clone + use<M> {
        let me = self.me;
        (0..self.team.desks.len()).filter(move |&victim| victim != me)
    }

    /// Its stack is empty, and it runs something.
    fn begins(&self) {
        self.owner.borrow_mut().begins(&self.stack(), self);
    }

    /// Runs a task on the stack from `head` up; the result is the number of tasks in its subtree.
    fn run(&self, task: usize, head: usize) -> usize {
        M::note(|| format!("runs task {task}"));
        lock(&self.team.ran)[task] += 1;
        let parts = self.team.tree[task];
        for (offset, &part) in parts.iter().enumerate() {
            self.push(part, head + offset);
        }
        (0..parts.len()).rev().map(|offset| self.join(head + offset)).sum::<usize>() + 1
    }

    fn push(&self, task: usize, head: usize) {
        M::note(|| format!("forks task {task}"));
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.desk().slots[head].content.with_mut(|content| unsafe { *content = task });
        if !self.desk().limits.admits_push(address(head)) {
            self.owner.borrow_mut().pushed(&self.stack(), self, head);
        }
    }

    fn join(&self, head: usize) -> usize {
        let slot = &self.desk().slots[head];
        M::note(|| format!("joins slot {head}"));
        // SAFETY: as in `push`.
        let content = || slot.content.with(|content| unsafe { *content });
        if self.desk().limits.admits_pop(address(head)) || self.owner.borrow_mut().take_back(&self.stack(), self, head)
        {
            return self.run(content(), head);
        }
        let settled = await_job(&Joining { worker: self, head: head + 1, leaps: Plain::new(0) }, &slot.state);
        let result = content();
        slot.state.reset();
        self.owner.borrow_mut().joined(&self.stack());
        if settled == Settled::Unrun { self.run(result, head) } else { result }
    }

    fn ask(&self, victim: usize) {
        let desk = &self.team.desks[victim];
        if !desk.index.is_all_stolen() && victim != self.me {
            desk.limits.request(|| 0);
        }
    }

    /// Wins a slot of a worker, or asks it for more.
    fn steal(&self, victim: usize) -> Option<(usize, usize)> {
        let desk = &self.team.desks[victim];
        M::note(|| format!("tries worker {victim}"));
        loop {
            match desk.index.steal() {
                StealIndex::Index(index) => return Some((victim, index as usize)),
                StealIndex::Retry => {}
                StealIndex::NothingShared => {
                    self.ask(victim);
                    return None;
                }
                StealIndex::AllStolen => return None,
            }
        }
    }

    /// Runs what was won, on the stack from `head` up, or gives it back.
    fn run_stolen(&self, (victim, index): (usize, usize), head: usize) {
        let slot = &self.team.desks[victim].slots[index];
        slot.state.claim(self.me, head);
        let owner_sleeps = if self.gives_back {
            slot.state.give_back()
        } else {
            // SAFETY: as in `push`.
            let task = slot.content.with(|content| unsafe { *content });
            let result = self.run(task, head);
            // SAFETY: as in `push`.
            slot.content.with_mut(|content| unsafe { *content = result });
            slot.state.finish(false)
        };
        M::note(|| format!("has settled slot {index} of worker {victim}"));
        if owner_sleeps {
            self.dormitory().place(victim).wake(self.dormitory().sleepers());
        }
    }

    fn steal_and_run(&self, victim: usize, head: usize) -> bool {
        let found = self.steal(victim);
        found.inspect(|&found| self.run_stolen(found, head)).is_some()
    }

    /// Runs what has been posted to this worker.
    fn read_mail(&self) -> bool {
        let posted = self.desk().mail.load(Ordering::Acquire);
        posted > self.read.replace(posted)
    }

    fn has_mail(&self) -> bool {
        self.desk().mail.load(Ordering::Acquire) > self.read.get()
    }

    /// An idle worker's life, until the team closes.
    fn live(&self) {
        // Relaxed: the fences of the sleep protocol order it, as they would work.
        search(self, ANY, &|| self.team.closing.load(Ordering::Relaxed));
    }

    fn close(&self) {
        M::note(|| "closes".into());
        self.team.closing.store(true, Ordering::Relaxed);
        self.dormitory().notify_all();
    }
}

impl<M: Checker> Searcher for Worker<M> {
    type Find = (usize, usize);
    type Patience = Rounds<M>;

    fn patience(&self) -> Rounds<M> {
        Rounds::new(self.patience)
    }

    fn find(&self) -> Option<(usize, usize)> {
        self.read_mail();
        self.others().find_map(|victim| self.steal(victim))
    }

    fn leaves_more(&self, _: &(usize, usize)) -> bool {
        true
    }

    fn leaves_many(&self, &(victim, _): &(usize, usize)) -> bool {
        self.team.desks[victim].index.has_shared()
    }

    fn run(&self, find: (usize, usize)) {
        self.begins();
        self.run_stolen(find, 0);
    }

    fn share(&self) {}

    fn ask(&self) {
        self.others().for_each(|victim| self.ask(victim));
    }

    fn sees_any(&self) -> bool {
        self.has_mail() || self.others().any(|victim| self.team.desks[victim].index.has_shared())
    }
}

/// A worker whose task is stolen.
struct Joining<'w, M: Memory> {
    worker: &'w Worker<M>,
    /// What it runs meanwhile lies from here up.
    head: usize,
    leaps: Plain<usize>,
}

impl<M: Checker> Sleeper for Joining<'_, M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        self.worker.dormitory()
    }

    fn index(&self) -> usize {
        self.worker.me
    }

    fn parks(&self) {
        M::note(|| "sleeps on its task".into());
    }
}

impl<M: Checker> Joiner for Joining<'_, M> {
    type Patience = Awake<M>;

    fn patience(&self) -> Awake<M> {
        Awake(self.worker.team.waiting != Waiting::Sleeps, std::marker::PhantomData)
    }

    fn leap(&self, _: &JobState<M>, theft: Theft) -> bool {
        if self.worker.team.waiting == Waiting::Leaps(self.leaps.get()) {
            return false;
        }
        self.leaps.set(self.leaps.get() + 1);
        // A failure is not to be waited after while there are leaps left.
        self.worker.steal_and_run(theft.thief, self.head) || self.worker.team.waiting != Waiting::Sleeps
    }

    fn run_mail(&self) -> bool {
        self.worker.read_mail()
    }

    fn wanted(&self, theft: Theft) -> Wanted {
        theft.thief as Wanted
    }

    fn ask(&self, theft: Theft) {
        self.worker.ask(theft.thief);
    }

    fn sees_any(&self, theft: Theft) -> bool {
        self.worker.has_mail() || self.worker.team.desks[theft.thief].index.has_shared()
    }
}

type Threads = Vec<(String, Box<dyn FnOnce()>)>;

/// What the workers other than the first do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Try to steal so many times.
    Try(usize),
    /// Steal once and give the loot back.
    GiveBack,
    /// Steal whatever there is, or sleep, until the root is done; after so many rounds without finding anything.
    Live(u32),
}

/// Worker 0 runs the tree, whose root is task 0; the others help.
pub fn fork_join<M: Checker>(
    tree: &'static [&'static [usize]],
    workers: usize,
    waiting: Waiting,
    others: Others,
    grain: grain::Params,
) -> Program {
    let mut team = Worker::<M>::team(workers, waiting, tree, grain);
    let shared = Arc::clone(&team[0].team);
    let total = Arc::new(Mutex::new(0));
    let mut threads: Threads = Vec::new();
    for mut worker in team.drain(..).rev() {
        let (me, total) = (worker.me, Arc::clone(&total));
        let body = move || match (me, others) {
            (0, _) => {
                worker.begins();
                let result = worker.run(0, 0);
                *lock(&total) = result;
                worker.close();
            }
            (_, Others::Try(times)) => {
                for _ in 0..times {
                    worker.steal_and_run(0, 0);
                }
            }
            (_, Others::GiveBack) => {
                worker.gives_back = true;
                worker.steal_and_run(0, 0);
            }
            (_, Others::Live(patience)) => {
                worker.patience = patience;
                worker.live();
            }
        };
        threads.insert(0, (format!("worker {me}"), Box::new(body)));
    }
    let finally = Box::new(move || {
        let ran = lock(&shared.ran).clone();
        assert!(ran.iter().all(|&times| times == 1), "tasks ran this often: {ran:?}");
        assert_eq!(*lock(&total), tree.len(), "the root's result");
    });
    Program { threads, finally }
}

/// A worker that says when it sleeps, looks for one task, and finds none the first times.
struct Napper<M: Memory> {
    worker: Worker<M>,
    /// Odd while it is asleep or about to be; `SERVED` in the end.
    phase: Arc<M::AtomicU32>,
    sleeps: Plain<u32>,
    /// How often it goes to sleep, or sees something in its last look, instead of looking for work.
    naps: Option<u32>,
    rounds: Plain<u32>,
    served: Plain<bool>,
}

const SERVED: u32 = u32::MAX;

impl<M: Checker> Napper<M> {
    fn says(&self, phase: u32) {
        self.phase.store(phase, Ordering::Release);
    }
}

impl<M: Checker> Sleeper for Napper<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        self.worker.dormitory()
    }

    fn index(&self) -> usize {
        self.worker.me
    }

    fn parks(&self) {
        self.rounds.set(self.rounds.get() + 1);
        self.sleeps.set(self.sleeps.get() + 1);
        self.says(2 * self.sleeps.get() - 1);
        M::note(|| "sleeps".into());
    }
}

impl<M: Checker> Searcher for Napper<M> {
    type Find = (usize, usize);
    type Patience = Rounds<M>;

    fn patience(&self) -> Rounds<M> {
        Rounds::new(self.worker.patience)
    }

    fn find(&self) -> Option<(usize, usize)> {
        if self.sleeps.get() > 0 {
            self.says(2 * self.sleeps.get());
        }
        if self.naps.is_some() { None } else { self.worker.steal(0) }
    }

    fn leaves_more(&self, _: &(usize, usize)) -> bool {
        true
    }

    fn run(&self, find: (usize, usize)) {
        self.worker.run_stolen(find, 0);
        self.served.set(true);
    }

    fn share(&self) {}

    fn ask(&self) {
        self.worker.ask(0);
    }

    fn sees_any(&self) -> bool {
        let sees = self.worker.team.desks[0].index.has_shared();
        self.rounds.set(self.rounds.get() + u32::from(sees));
        sees
    }
}

/// Worker 1 wants one task and sleeps until it gets it. Worker 0 forks and joins, as `+` and `-` say, and once the other
/// sleeps it forks again: this must wake the sleeper.
///
/// With `naps`, worker 1 does not look for work but goes to sleep so often: what it finds is of no account. Before it first sleeps it
/// stays awake for so many rounds, which it is known for.
pub fn wake_up<M: Checker>(owner: &'static str, naps: Option<u32>, rounds: u32, grain: grain::Params) -> Program {
    const LEAVES: &[&[usize]] = &[&[] as &[usize]; CAPACITY + 1];
    let mut team = Worker::<M>::team(2, Waiting::Sleeps, LEAVES, grain);
    let (mut thief, worker) = (team.pop().expect("two workers"), team.pop().expect("two workers"));
    thief.patience = rounds;
    let phase: Arc<M::AtomicU32> = Arc::new(Atomic::new(0));
    let mine = Arc::clone(&phase);
    let own = move || {
        worker.begins();
        let mut head = 0;
        let fork = |head: &mut usize| {
            worker.push(1, *head);
            *head += 1;
        };
        for act in owner.chars() {
            if act == '+' {
                fork(&mut head);
            } else {
                head -= 1;
                worker.join(head);
            }
        }
        loop {
            let now = mine.load(Ordering::Acquire);
            if now == SERVED {
                break;
            }
            // Asleep, and not about to be woken, which nobody but this worker does.
            if now % 2 == 1 && worker.dormitory().place(1).would_help(|_| true) {
                M::note(|| "sees the other asleep".into());
                let is_overlooked = grain == COARSE && worker.desk().index.has_shared();
                assert!(!is_overlooked, "a worker sleeps though there is a task for it");
                fork(&mut head);
            }
            while mine.load(Ordering::Acquire) == now {
                M::spin_loop();
            }
        }
        while head > 0 {
            head -= 1;
            worker.join(head);
        }
    };
    let steal = move || {
        let (sleeps, rounds, served) = (Plain::new(0), Plain::new(0), Plain::new(false));
        let napper = Napper { worker: thief, phase, sleeps, naps, rounds, served };
        search(&napper, ANY, &|| naps.map_or_else(|| napper.served.get(), |naps| napper.rounds.get() >= naps));
        napper.says(SERVED);
    };
    Program {
        threads: vec![("worker 0".into(), Box::new(own)), ("worker 1".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}

/// Who waits for a latch: a worker.
struct Waits<M: Memory>(Arc<Team<M>>, usize);

impl<M: Memory> Clone for Waits<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), self.1)
    }
}

impl<M: Checker> Waiter for Waits<M> {
    fn wake(&self) {
        self.0.dormitory.notify(self.1);
    }
}

/// So many jobs are posted to a worker that waits for them, and sleeps whenever it has none. If it sleeps through one, it sleeps for ever.
pub fn posted<M: Checker>(jobs: usize) -> Program {
    let worker = Worker::<M>::team(1, Waiting::Sleeps, &[], grain::Params::FINE).pop().expect("a worker");
    let team = Arc::clone(&worker.team);
    let post = move || {
        for _ in 0..jobs {
            M::note(|| "posts a job".into());
            team.desks[0].mail.fetch_add(1, Ordering::Release);
            team.dormitory.notify(0);
        }
    };
    let work = move || search(&worker, ANY_MEANWHILE, &|| worker.read.get() == jobs);
    Program {
        threads: vec![("worker".into(), Box::new(work)), ("poster".into(), Box::new(post))],
        finally: Box::new(|| ()),
    }
}

/// The thief of a task posts a job to its owner, and is not done before the owner has run it.
pub fn posted_to_a_joiner<M: Checker>() -> Program {
    const TREE: &[&[usize]] = &[&[1], &[]];
    let mut team = Worker::<M>::team(2, Waiting::Sleeps, TREE, grain::Params::FINE);
    let (thief, owner) = (team.pop().expect("two workers"), team.pop().expect("two workers"));
    let is_read: Arc<M::AtomicBool> = Arc::new(Atomic::new(false));
    owner.push(1, 0);
    let stolen = thief.steal(0).expect("the first fork is shared");
    let reads = Arc::clone(&is_read);
    let join = move || {
        struct Reads<'w, M: Memory>(Joining<'w, M>, Arc<M::AtomicBool>);
        impl<M: Checker> Sleeper for Reads<'_, M> {
            type Memory = M;
            fn dormitory(&self) -> &Dormitory<M> {
                self.0.dormitory()
            }
            fn index(&self) -> usize {
                self.0.index()
            }
            fn parks(&self) {
                self.0.parks();
            }
        }
        impl<M: Checker> Joiner for Reads<'_, M> {
            type Patience = Awake<M>;
            fn patience(&self) -> Awake<M> {
                self.0.patience()
            }
            fn leap(&self, state: &JobState<M>, theft: Theft) -> bool {
                self.0.leap(state, theft)
            }
            fn run_mail(&self) -> bool {
                let ran = self.0.run_mail();
                if ran {
                    M::note(|| "runs the job".into());
                    self.1.store(true, Ordering::Release);
                }
                ran
            }
            fn wanted(&self, theft: Theft) -> Wanted {
                self.0.wanted(theft)
            }
            fn ask(&self, theft: Theft) {
                Joiner::ask(&self.0, theft);
            }
            fn sees_any(&self, theft: Theft) -> bool {
                Joiner::sees_any(&self.0, theft)
            }
        }
        let joining = Reads(Joining { worker: &owner, head: 1, leaps: Plain::new(0) }, reads);
        let settled = await_job(&joining, &owner.desk().slots[0].state);
        assert_eq!(settled, Settled::Done);
    };
    let steal = move || {
        let slot = &thief.team.desks[0].slots[stolen.1];
        slot.state.claim(1, 0);
        M::note(|| "posts a job".into());
        thief.team.desks[0].mail.fetch_add(1, Ordering::Release);
        thief.dormitory().notify(0);
        while !is_read.load(Ordering::Acquire) {
            M::spin_loop();
        }
        if slot.state.finish(false) {
            thief.dormitory().place(0).wake(thief.dormitory().sleepers());
        }
    };
    Program {
        threads: vec![("owner".into(), Box::new(join)), ("thief".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}

/// A worker waits until so many others have each ended a thing; what they did is there then.
pub fn latch<M: Checker>(things: usize) -> Program {
    let worker = Worker::<M>::team(1, Waiting::Sleeps, &[], grain::Params::FINE).pop().expect("a worker");
    let waits = Waits(Arc::clone(&worker.team), 0);
    ended::<M, _>(things, waits, move |is_over, _| search(&worker, ANY_MEANWHILE, is_over))
}

/// As [`latch`], and it is no worker that waits.
pub fn event<M: Checker>(things: usize) -> Program {
    ended::<M, _>(things, Arc::new(Event::<M>::default()), |is_over, event| {
        while !is_over() {
            M::note(|| "sleeps".into());
            event.wait();
        }
    })
}

fn ended<M, W>(things: usize, waiter: W, wait: impl FnOnce(&dyn Fn() -> bool, &W) + 'static) -> Program
where
    M: Checker,
    W: Waiter + 'static,
{
    struct Frame<M: Memory, W> {
        latch: Latch<M, W>,
        done: Vec<M::Cell<usize>>,
    }
    let frame = Arc::new(Frame {
        latch: Latch::<M, W>::new(things, waiter),
        done: (0..things).map(|_| Cell::new(0)).collect(),
    });
    let mut threads: Threads = Vec::new();
    for thing in 0..things {
        let frame = Arc::clone(&frame);
        let end = move || {
            M::note(|| "ends a thing".into());
            // SAFETY: a cell of the program; the checker reports any other access at the same time.
            frame.done[thing].with_mut(|done| unsafe { *done = 1 });
            // SAFETY: each thread ends one thing; the frame is kept by the program.
            unsafe { Latch::end(&raw const frame.latch) };
        };
        threads.push((format!("thread {}", thing + 1), Box::new(end)));
    }
    let wait = move || {
        let Frame { latch, done } = &*frame;
        wait(&|| latch.is_over(), latch.waiter());
        // SAFETY: as above.
        assert!(done.iter().all(|done| done.with(|done| unsafe { *done }) == 1));
    };
    threads.insert(0, ("waiter".into(), Box::new(wait)));
    Program { threads, finally: Box::new(|| ()) }
}

/// Idle workers that search, sleep and wake each other: pieces of work are published, all at once, and each of as many workers wants
/// one. All but the last sleep when it begins, and the last is about to look once more before it sleeps too. A worker that sleeps while
/// there is a piece for it sleeps for ever.
pub fn pieces<M: Checker>(workers: usize) -> Program {
    struct Shared<M: Memory> {
        dormitory: Dormitory<M>,
        pieces: M::AtomicUsize,
    }
    struct Taker<M: Memory> {
        shared: Arc<Shared<M>>,
        me: usize,
        has: Plain<bool>,
    }
    impl<M: Checker> Sleeper for Taker<M> {
        type Memory = M;
        fn dormitory(&self) -> &Dormitory<M> {
            &self.shared.dormitory
        }
        fn index(&self) -> usize {
            self.me
        }
        fn parks(&self) {
            M::note(|| "sleeps".into());
        }
    }
    impl<M: Checker> Searcher for Taker<M> {
        type Find = ();
        type Patience = Rounds<M>;
        fn patience(&self) -> Rounds<M> {
            // The last one begins in the middle of a search.
            Rounds::new(u32::from(self.me + 1 == self.shared.dormitory.len()))
        }
        fn find(&self) -> Option<()> {
            let mut pieces = self.shared.pieces.load(Ordering::Relaxed);
            while pieces != 0 {
                let less = pieces - 1;
                match self.shared.pieces.compare_exchange(pieces, less, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Some(()),
                    Err(now) => pieces = now,
                }
            }
            None
        }
        fn leaves_more(&self, (): &()) -> bool {
            self.sees_any()
        }
        fn run(&self, (): ()) {
            M::note(|| "has a piece".into());
            self.has.set(true);
        }
        fn share(&self) {}
        fn ask(&self) {}
        fn sees_any(&self) -> bool {
            self.shared.pieces.load(Ordering::Acquire) != 0
        }
    }
    let shared = Arc::new(Shared::<M> { dormitory: Dormitory::new(workers), pieces: Atomic::new(0) });
    let publisher = Arc::clone(&shared);
    let publish = move || {
        M::note(|| "publishes the pieces".into());
        publisher.pieces.fetch_add(workers, Ordering::Release);
        if publisher.dormitory.sleepers().sleepers_after() {
            publisher.dormitory.wake_for_any(0);
        }
    };
    let mut threads: Threads = vec![("publisher".to_owned(), Box::new(publish))];
    for me in 0..workers {
        let taker = Taker { shared: Arc::clone(&shared), me, has: Plain::new(false) };
        threads.push((format!("worker {me}"), Box::new(move || search(&taker, ANY, &|| taker.has.get()))));
    }
    Program { threads, finally: Box::new(|| ()) }
}

/// An owner pushes a task, without a fence, to a queue that anybody can steal from, and does nothing else, as in a long task. So many
/// lie in the queue before, and as many thieves take one of them, or the new one; one more thief sleeps until there is one for it. Before
/// it does so it passes a barrier for the owner, unless it forgets.
pub fn push_unfenced<M: Checker + Asymmetric>(before: usize, forgets: bool) -> Program {
    struct Shared<M: Memory> {
        dormitory: Dormitory<M>,
        /// A queue: how many tasks have been pushed, and how many taken.
        pushed: M::AtomicUsize,
        taken: M::AtomicUsize,
    }
    impl<M: Memory> Shared<M> {
        fn steal(&self) -> bool {
            let mut taken = self.taken.load(Ordering::Relaxed);
            while taken < self.pushed.load(Ordering::Acquire) {
                match self.taken.compare_exchange(taken, taken + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return true,
                    Err(now) => taken = now,
                }
            }
            false
        }
    }
    struct Worker<M: Memory> {
        shared: Arc<Shared<M>>,
        me: usize,
        has: Plain<bool>,
        forgets: bool,
    }
    impl<M: Checker + Asymmetric> Sleeper for Worker<M> {
        type Memory = M;
        fn dormitory(&self) -> &Dormitory<M> {
            &self.shared.dormitory
        }
        fn index(&self) -> usize {
            self.me
        }
        fn settles(&self) {
            // As where the system has barriers.
            self.dormitory().place(self.me).settled();
            if !self.forgets {
                M::heavy_barrier();
            }
        }
        fn parks(&self) {
            M::note(|| "sleeps".into());
        }
    }
    impl<M: Checker + Asymmetric> Searcher for Worker<M> {
        type Find = ();
        type Patience = Rounds<M>;
        fn patience(&self) -> Rounds<M> {
            Rounds::new(0)
        }
        fn find(&self) -> Option<()> {
            self.shared.steal().then_some(())
        }
        fn leaves_more(&self, (): &()) -> bool {
            self.sees_any()
        }
        fn run(&self, (): ()) {
            M::note(|| "has a task".into());
            self.has.set(true);
        }
        fn share(&self) {}
        fn ask(&self) {}
        fn sees_any(&self) -> bool {
            self.shared.taken.load(Ordering::Relaxed) < self.shared.pushed.load(Ordering::Relaxed)
        }
    }
    let dormitory = Dormitory::<M>::new(2);
    let shared = Arc::new(Shared { dormitory, pushed: Atomic::new(before), taken: Atomic::new(0) });
    let worker = |me| Worker { shared: Arc::clone(&shared), me, has: Plain::new(false), forgets };
    let (owner, sleeper) = (worker(0), worker(1));
    let push = move || {
        M::note(|| "pushes a task".into());
        let was_empty = owner.shared.taken.load(Ordering::Relaxed) == before;
        owner.shared.pushed.store(before + 1, Ordering::Release);
        has_pushed(&owner, was_empty);
    };
    let sleep = move || search(&sleeper, ANY, &|| sleeper.has.get());
    let mut threads: Threads = vec![("owner".to_owned(), Box::new(push)), ("sleeper".to_owned(), Box::new(sleep))];
    for thief in 1..=before {
        let shared = Arc::clone(&shared);
        threads.push((format!("thief {thief}"), Box::new(move || _ = shared.steal())));
    }
    Program { threads, finally: Box::new(|| ()) }
}

/// Two workers pass pieces of work through a cell each, counting them; a third asks whether all is done.
pub fn termination<M: Checker>(looks: usize) -> Program {
    struct Shared<M: Memory> {
        counts: [Counts<M>; 2],
        /// Whether a piece is on its way to worker 1.
        passed: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> = Arc::new(Shared { counts: Default::default(), passed: Atomic::new(false) });
    shared.counts[0].created(1);
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), Arc::clone(&shared));
    let finished: Arc<[Mutex<bool>; 3]> = Arc::default();
    let (a, b, c) = (Arc::clone(&finished), Arc::clone(&finished), finished);
    let root = move || {
        M::note(|| "splits the root".into());
        first.counts[0].created(1);
        first.passed.store(true, Ordering::Release);
        *lock(&a[0]) = true;
        first.counts[0].finished();
    };
    let other = move || {
        // Two looks for the piece, then it stays unfinished.
        for _ in 0..2 {
            if second.passed.load(Ordering::Acquire) {
                second.counts[1].created(1);
                M::note(|| "has got a piece, and splits it".into());
                *lock(&b[1]) = true;
                second.counts[1].finished();
                *lock(&b[2]) = true;
                second.counts[1].finished();
                break;
            }
        }
    };
    let reader = move || {
        for _ in 0..looks {
            if Counts::all_done(&third.counts) {
                let undone = (0..3).filter(|&piece| !*lock(&c[piece])).count();
                assert_eq!(undone, 0, "found all done with {undone} pieces left");
            }
        }
    };
    Program {
        threads: vec![
            ("worker 0".into(), Box::new(root)),
            ("worker 1".into(), Box::new(other)),
            ("reader".into(), Box::new(reader)),
        ],
        finally: Box::new(|| ()),
    }
}

/// Worker 0 has a task that worker 1 may steal; each sets out and comes home. A third asks whether all are at home.
pub fn all_home<M: Checker>(looks: usize) -> Program {
    struct Shared<M: Memory> {
        counts: [Counts<M>; 2],
        /// Worker 0's queue: whether the task is in it.
        task: M::AtomicBool,
        /// Whether it has been run.
        done: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { counts: Default::default(), task: Atomic::new(true), done: Atomic::new(false) });
    shared.counts[0].sets_out();
    let (first, second, third) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    // Relaxed, as all that queues that return a task twice can be relied on for.
    let takes =
        |shared: &Shared<M>| shared.task.compare_exchange(true, false, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let owner = move || {
        if takes(&first) {
            M::note(|| "runs the task".into());
            first.done.store(true, Ordering::Relaxed);
        }
        first.counts[0].comes_home();
    };
    let thief = move || {
        second.counts[1].sets_out();
        if takes(&second) {
            M::note(|| "runs the task".into());
            second.done.store(true, Ordering::Relaxed);
        }
        second.counts[1].comes_home();
    };
    let reader = move || {
        for _ in 0..looks {
            if Counts::all_home(&third.counts) {
                // Relaxed: a worker comes home after what it has done.
                assert!(third.done.load(Ordering::Relaxed), "found all at home before the task was done");
            }
        }
    };
    Program {
        threads: vec![
            ("worker 0".into(), Box::new(owner)),
            ("worker 1".into(), Box::new(thief)),
            ("reader".into(), Box::new(reader)),
        ],
        finally: Box::new(|| ()),
    }
}

/// A worker takes so many beats, waits for each and once more, and closes; the clock sleeps when it may. If it sleeps through
/// a beat that was taken, the worker waits for ever.
pub fn beat<M: Checker>(beats: usize) -> Program {
    let due = Arc::new(Due::<M>::new(true));
    let clock = Arc::new(Clock::new([Arc::clone(&due)]));
    let ticking = Arc::clone(&clock);
    let work = move || {
        let wait = || {
            while !due.is_raised() {
                M::spin_loop();
            }
        };
        for _ in 0..beats {
            wait();
            M::note(|| "takes a beat".into());
            due.lower();
            clock.taken();
        }
        wait();
        M::note(|| "closes".into());
        clock.close();
    };
    let tick = move || ticking.run(|| M::note(|| "ticks".into()));
    Program {
        threads: vec![("worker".into(), Box::new(work)), ("clock".into(), Box::new(tick))],
        finally: Box::new(|| ()),
    }
}

/// A thief wants a tick so many times in vain, then makes a request, and wants another, as if it went to sleep; the owner answers on
/// ticks only. If the last tick comes before the request can be seen, the thief waits for ever.
pub fn ticks<M: Checker>(in_vain: usize) -> Program {
    struct Shared<M: Checker> {
        ticks: Ticks<M>,
        request: M::AtomicBool,
        answer: M::AtomicBool,
    }
    let shared: Arc<Shared<M>> =
        Arc::new(Shared { ticks: Ticks::new(1), request: Atomic::new(false), answer: Atomic::new(false) });
    let (thief, owner, ticker) = (Arc::clone(&shared), Arc::clone(&shared), shared);
    let steal = move || {
        for _ in 0..in_vain {
            thief.ticks.want();
        }
        M::note(|| "asks".into());
        // Relaxed, as the fence orders it.
        thief.request.store(true, Ordering::Relaxed);
        M::fence(Ordering::SeqCst);
        thief.ticks.want();
        while !thief.answer.load(Ordering::Relaxed) {
            M::spin_loop();
        }
        thief.ticks.clock().close();
    };
    let own = move || {
        loop {
            if owner.ticks.is_due(0) == Some(true) && owner.request.load(Ordering::Relaxed) {
                M::note(|| "answers".into());
                owner.answer.store(true, Ordering::Relaxed);
                return;
            }
            M::spin_loop();
        }
    };
    let tick = move || {
        ticker.ticks.clock().run(|| {
            M::note(|| "ticks".into());
            ticker.ticks.make();
        });
    };
    Program {
        threads: vec![
            ("thief".into(), Box::new(steal)),
            ("owner".into(), Box::new(own)),
            ("ticker".into(), Box::new(tick)),
        ],
        finally: Box::new(|| ()),
    }
}
