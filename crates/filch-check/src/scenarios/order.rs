//! The oldest comes first: tasks that block until an older one has begun.
//!
//! An owner forks (`+`), spawns (`s`), joins (`-`), and waits until a task has begun (its digit); or yields, and runs
//! its newest fork before the join (`y`); or shares all its forks (`g`); or its oldest fork is stolen and ends (`e`).
//! Tasks, forked or spawned, are numbered in the order in which they are made, and some wait for others to begin. A
//! thief takes what is oldest. [`split`], the [limits](Limits), the [marks](Marks) and [`steal_oldest`] are those that
//! ship; how the owner uses them, and the state of a stolen fork, are restated.
//!
//! Checks: no task runs twice, no joined task is lost, and every thread reaches its end.

use std::cell::{Cell as Plain, RefCell};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use filch::inside::protocol::grain::Params;
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::order::{Height, Marks, Victim, steal_oldest};
use filch::inside::protocol::sharer::Sharing;
use filch::inside::protocol::split;
use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::lace::index::{Moves, SharedIndex, StealIndex};
use filch_queue::{Amount, ChaseLev, Owner as _, Queue, Steal, Task};

use super::awake::{AllAwake, Slot};
use super::queues::lock;
use crate::harm::ensure;
use crate::{Checker, Program};

/// Mistakes that a check must find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// None.
    #[default]
    None,
    /// The thief takes a fork that it sees only after its look at the jobs.
    LooksLate,
    /// The owner takes back private forks without a look at newer jobs.
    NoFloor,
    /// The owner does not say that it has lowered jobs.
    LowersInSilence,
    /// The thief takes the oldest fork that is left, whichever it has looked at.
    AnyFork,
    /// The thief takes the oldest job that is left, whichever it has looked at.
    AnyJob,
}

const CAPACITY: usize = 4;
const OVER: usize = usize::MAX;
/// Instead of the task, in the slot of a fork that has been run before its join.
const EMPTY: usize = usize::MAX - 1;
const SLOT: usize = 64;

fn address(slot: usize) -> usize {
    (slot + 1) * SLOT
}

struct Shared<M: Memory> {
    index: SharedIndex<M>,
    limits: Limits<M>,
    slots: Vec<Slot<M>>,
    awake: AllAwake<M>,
    /// Per task, whether it has begun.
    begun: Vec<M::AtomicBool>,
    /// Pairs: the first waits for the second.
    waits: &'static [(usize, usize)],
    /// How many acts the owner has completed; [`OVER`] after the last.
    acts: M::AtomicUsize,
    mistake: Mistake,
    ran: Mutex<Vec<usize>>,
}

impl<M: Checker> Shared<M> {
    fn run(&self, task: usize) {
        M::note(|| format!("begins task {task}"));
        lock(&self.ran)[task] += 1;
        self.begun[task].store(true, Ordering::Relaxed);
        self.waits.iter().filter(|(waiter, _)| *waiter == task).for_each(|(_, other)| self.await_task(*other));
    }

    fn await_task(&self, task: usize) {
        while !self.begun[task].load(Ordering::Relaxed) {
            M::spin_loop();
        }
    }

    /// Does what a thief does that takes the oldest fork, alone, and ends it.
    fn end_oldest(&self) {
        let StealIndex::Index(slot) = self.index.steal() else { panic!("a fork is shared") };
        self.run_stolen(slot as usize);
    }

    fn run_stolen(&self, slot: usize) {
        self.run_slot(slot);
        self.slots[slot].end();
    }

    fn run_slot(&self, slot: usize) {
        let task = self.slots[slot].task();
        if task != EMPTY {
            self.run(task);
        }
    }
}

struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    forks: RefCell<split::Owner>,
    jobs: RefCell<<ChaseLev as Queue<M>>::Owner>,
    marks: RefCell<Marks>,
    /// The slots of forks that have been run before their joins, which rise.
    early: RefCell<Vec<usize>>,
    head: Plain<usize>,
    tasks: Plain<usize>,
}

impl<M: Checker> Owner<M> {
    fn stack(&self) -> split::Stack<'_, M> {
        let Shared { index, limits, .. } = &*self.shared;
        split::Stack { shared: index, limits, bottom: address(0), slot_size: SLOT, capacity: CAPACITY }
    }

    fn act(&self, act: char) {
        match act {
            '+' => self.fork(self.tasks.replace(self.tasks.get() + 1)),
            's' => self.spawn(self.tasks.replace(self.tasks.get() + 1)),
            '-' => self.join(),
            'y' => self.run_newest(),
            'g' => self.forks.borrow_mut().give(&self.stack(), &self.shared.awake, self.head.get(), Amount::All),
            'e' => self.shared.end_oldest(),
            task => self.shared.await_task(task.to_digit(10).expect("an act") as usize),
        }
    }

    fn fork(&self, task: usize) {
        M::note(|| format!("forks task {task}"));
        let slot = self.head.replace(self.head.get() + 1);
        self.shared.slots[slot].with_task(|content| *content = task);
        if !self.shared.limits.admits_push(address(slot)) {
            self.forks.borrow_mut().pushed(&self.stack(), &self.shared.awake, slot);
        }
    }

    fn floor(&self) -> usize {
        let early = Height::on_stack(self.early.borrow().last().map_or(0, |slot| slot + 1));
        let floor = self.marks.borrow().newest().max(early).floor(address(0), SLOT);
        if self.shared.mistake == Mistake::NoFloor { 0 } else { floor }
    }

    fn spawn(&self, task: usize) {
        M::note(|| format!("spawns task {task}"));
        let mut jobs = self.jobs.borrow_mut();
        let position = jobs.next_position();
        if self.marks.borrow_mut().note(Height::on_stack(self.head.get()), position) {
            self.shared.limits.raise_floor(self.floor());
        }
        jobs.push(word_of(task, self.head.get())).expect("it has room");
    }

    /// As the library's `Direct::take_own`, for the newest of the forks that have not been run.
    fn run_newest(&self) {
        let head = self.head.get();
        let Some(slot) = (0..head).rev().find(|slot| !self.early.borrow().contains(slot)) else { return };
        let shared = &*self.shared;
        if self.forks.borrow_mut().recall(&self.stack(), &shared.awake, slot, head) {
            let task = shared.slots[slot].with_task(|task| std::mem::replace(task, EMPTY));
            let at = self.early.borrow().partition_point(|other| *other < slot);
            self.early.borrow_mut().insert(at, slot);
            shared.limits.raise_floor(self.floor());
            shared.run(task);
        }
    }

    fn join(&self) {
        let slot = self.head.get() - 1;
        let height = Height::on_stack(slot);
        self.head.set(slot);
        M::note(|| format!("joins slot {slot}"));
        let shared = &*self.shared;
        if shared.limits.admits_pop(address(slot)) {
            return shared.run_slot(slot);
        }
        let ran_early = self.early.borrow_mut().pop_if(|newest| *newest == slot).is_some();
        // No task of this program yields, so none runs the fork meanwhile.
        while !ran_early
            && !shared.slots[slot].is_done()
            && let Some(job) = self.pop_newer(height)
        {
            shared.run(job);
        }
        self.lower(height);
        if ran_early {
            shared.limits.set_floor(self.floor());
        }
        if self.forks.borrow_mut().take_back(&self.stack(), &shared.awake, slot) {
            return shared.run_slot(slot);
        }
        shared.slots[slot].await_thief();
        self.forks.borrow_mut().joined(&self.stack());
    }

    /// As the library's `Own<Home>::pop_newer`.
    fn pop_newer(&self, below: Height) -> Option<usize> {
        let first = self.marks.borrow().first_above(below)?;
        self.lower(below.above());
        let mut jobs = self.jobs.borrow_mut();
        let task = if jobs.next_position() > first { jobs.pop_or_steal() } else { None };
        task.map(|word| unpacked(word).0)
    }

    /// As the library's `Own<Home>::lower`.
    fn lower(&self, height: Height) {
        let lowered = self.marks.borrow_mut().lower(height);
        if let Some(first) = lowered {
            self.shared.limits.set_floor(self.floor());
            if self.shared.mistake != Mistake::LowersInSilence {
                let lowered =
                    |(task, forks): (usize, usize)| word_of(task, forks.min(height.forks_on_stack() as usize));
                self.jobs.borrow_mut().replace_from(first, |word| lowered(unpacked(word)));
            }
        }
    }
}

fn word_of(task: usize, forks: usize) -> Task {
    Task::from_id(NonZeroUsize::new(1 + task + forks * 10).expect("positive"))
}

/// Returns the task in a word, and the number of forks below.
fn unpacked(word: Task) -> (usize, usize) {
    let number = word.id().get() - 1;
    (number % 10, number / 10)
}

struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    jobs: RefCell<<ChaseLev as Queue<M>>::Thief>,
}

impl<M: Checker> Thief<M> {
    /// Takes and runs as many tasks, unless the owner ends before. Looks again after each act of the owner.
    fn take(&self, tasks: usize) {
        let acts = || self.shared.acts.load(Ordering::Acquire);
        let (mut taken, mut seen) = (0, acts());
        while taken < tasks && seen != OVER {
            if let Some(run) = steal_oldest(self) {
                run();
                taken += 1;
            } else {
                while acts() == seen {
                    M::spin_loop();
                }
                seen = acts();
            }
        }
    }
}

impl<M: Checker> Victim for Thief<M> {
    type Loot = Box<dyn FnOnce()>;

    fn shared_below(&self) -> Height {
        let end = self.shared.index.shared_end();
        M::fence(Ordering::Acquire);
        if self.shared.mistake == Mistake::LooksLate { Height::TOP } else { Height::on_stack(end as usize) }
    }

    fn oldest_job(&self) -> Option<Height> {
        let word = self.jobs.borrow().oldest_hint()?;
        M::fence(Ordering::Acquire);
        Some(Height::on_stack(unpacked(word).1))
    }

    fn has_older(&self, height: Height) -> bool {
        self.shared.index.has_unstolen_below(height.forks_on_stack(), 0)
    }

    fn steal_job(&self, up_to: Height) -> Option<Self::Loot> {
        let takes = |word| self.shared.mistake == Mistake::AnyJob || Height::on_stack(unpacked(word).1) <= up_to;
        let Steal::Task(word) = self.jobs.borrow().steal_if(takes) else { return None };
        let shared = Arc::clone(&self.shared);
        Some(Box::new(move || shared.run(unpacked(word).0)))
    }

    fn steal_fork(&self, below: Height) -> Option<Self::Loot> {
        let shared = Arc::clone(&self.shared);
        let stolen = match below {
            Height::GROUND => StealIndex::NothingShared,
            _ if shared.mistake == Mistake::AnyFork => shared.index.steal(),
            _ => shared.index.steal_below(below.forks_on_stack()),
        };
        match stolen {
            StealIndex::Index(slot) => Some(Box::new(move || shared.run_stolen(slot as usize))),
            StealIndex::NothingShared => {
                shared.limits.request(|| 0);
                None
            }
            StealIndex::Retry | StealIndex::AllStolen => None,
        }
    }
}

/// The owner acts, before `|` alone; each thief takes as many tasks as given, or fewer. Of each pair in `waits`, the
/// first task blocks until the second has begun.
pub fn program<M: Checker>(
    acts: &'static str,
    waits: &'static [(usize, usize)],
    thieves: &'static [usize],
    mistake: Mistake,
) -> Program {
    let (index, forks) = split::Owner::new(Moves::default(), Sharing::ByGrain);
    let tasks = acts.matches(['+', 's']).count();
    let (jobs, ends) = <ChaseLev as Queue<M>>::make(CAPACITY, thieves.len(), &());
    let shared = Arc::new(Shared::<M> {
        index,
        limits: Limits::closed(),
        slots: (0..CAPACITY).map(|_| Slot::new()).collect(),
        awake: AllAwake::new(thieves.len() + 1, Params::FINE),
        begun: (0..tasks).map(|_| Atomic::new(false)).collect(),
        waits,
        acts: Atomic::new(0),
        mistake,
        ran: Mutex::new(vec![0; tasks]),
    });
    let owner = Owner {
        shared: Arc::clone(&shared),
        forks: RefCell::new(forks),
        jobs: RefCell::new(jobs),
        marks: RefCell::new(Marks::default()),
        early: RefCell::default(),
        head: Plain::new(0),
        tasks: Plain::new(0),
    };
    let (before, after) = acts.split_once('|').unwrap_or(("", acts));
    before.chars().for_each(|act| owner.act(act));
    let owner_acts = move || {
        for (number, act) in after.chars().enumerate() {
            owner.act(act);
            let done = if number + 1 == after.len() { OVER } else { number + 1 };
            owner.shared.acts.store(done, Ordering::Release);
        }
    };
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = vec![("owner".into(), Box::new(owner_acts))];
    for (number, (jobs, &times)) in ends.into_iter().zip(thieves).enumerate() {
        let thief = Thief { shared: Arc::clone(&shared), jobs: RefCell::new(jobs) };
        threads.push((format!("thief {number}"), Box::new(move || thief.take(times))));
    }
    let is_forked = acts.chars().filter(|act| "+s".contains(*act)).map(|act| act == '+');
    let is_forked: Vec<bool> = is_forked.collect();
    let finally = Box::new(move || {
        for (task, &times) in lock(&shared.ran).iter().enumerate() {
            ensure!(times > 0 || !is_forked[task], Lost, "task {task} was lost");
            ensure!(times <= 1, Twice, "task {task} ran {times} times");
        }
    });
    Program { threads, finally }
}
