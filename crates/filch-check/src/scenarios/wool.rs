//! Wool's direct task stack: an owner that forks and joins, thieves, and an account of every task.
//!
//! The protocol is the one that ships: [`Shared`], [`Owner`] and [`JobState`]. The [`Client`] says when the owner
//! answers, and what it forks above a stolen task.
//!
//! Checks: every task runs once; no two threads use a task's memory without an order between them; what a thief leaves
//! there reaches the joiner; in the end `bot` is back at the bottom, so that thieves can see every later task.
//!
//! [`wake_up`] adds the limits and a thief that sleeps. Its owner is the one that ships, [`public::Owner`].

use std::cell::{Cell as Plain, RefCell};
use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, Mutex};

use filch::inside::protocol::grain::{self, Time};
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::public;
use filch::inside::protocol::sharer::{Sharer, Wakes};
use filch::inside::protocol::sleep::{ANY, Dormitory, Sleepers};
use filch::inside::protocol::state::{JobState, Status};
use filch::inside::protocol::waiting::Sleeper;
use filch::inside::protocol::wool::{Owner, Params, Shared};
use filch_memory::{Atomic, Cell, Memory, Ordering};
use filch_queue::lace::index::StealIndex;

use super::queues::lock;
use crate::Program;
use crate::harm::ensure;
use crate::scenario::Checker;

/// The state that an owner finds when it waits for a thief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The thief may still put the task back.
    Open,
    /// The thief is running it.
    Runs,
    /// The task has been run.
    Done,
    /// The thief has put it back, and the owner has taken it.
    TakenBack,
}

/// A direct task stack; thieves take the oldest public task.
struct Stack<M: Memory> {
    shared: Shared<M>,
    states: Vec<JobState<M>>,
}

impl<M: Memory> Stack<M> {
    /// Returns an empty stack with `slots` slots, and its owner.
    fn new(slots: usize, &params: &Params) -> (Self, Owner) {
        let (shared, owner) = Shared::new(params, slots as u32);
        (Self { shared, states: (0..slots).map(|_| JobState::default()).collect() }, owner)
    }

    /// Owner: the task at `index` has been written.
    fn push(&self, owner: &mut Owner, index: usize) {
        owner.push(&self.states[index], index as u32);
    }

    /// Owner: makes more slots public if thieves have run out of them. The stack has `top` tasks.
    fn answer(&self, owner: &mut Owner, top: usize) {
        owner.publish(&self.shared, |index| &self.states[index as usize], top as u32, self.states.len() as u32);
    }

    /// Owner: takes the newest task back, or returns `false` if a thief has it.
    fn take_back(&self, owner: &mut Owner, index: usize) -> bool {
        if index >= owner.public() as usize {
            return true;
        }
        let taken = owner.take_back(&self.states[index], index as u32);
        if taken {
            owner.privatise(&self.shared, index as u32);
        }
        taken
    }

    /// Owner: checks the fate of a task that a thief won.
    fn look(&self, index: usize) -> Fate {
        match self.states[index].status() {
            Status::Fresh => Fate::Open,
            Status::Offered if self.states[index].retract() => Fate::TakenBack,
            Status::Offered => Fate::Open,
            Status::Stolen(_) => Fate::Runs,
            Status::Done | Status::Panicked | Status::Returned => Fate::Done,
        }
    }

    /// Owner: its wait for the newest task is over.
    fn joined(&self, owner: &mut Owner, index: usize) {
        owner.joined(&self.shared, &self.states[index], index as u32);
    }

    /// Thief: one attempt.
    fn steal(&self) -> Option<usize> {
        let StealIndex::Index(index) = self.shared.steal(|index| &self.states[index as usize]) else { return None };
        self.states[index as usize].claim(1, 0);
        Some(index as usize)
    }

    /// Thief: the task at `index` has been run.
    fn finish(&self, index: usize) {
        self.states[index].finish(false);
    }

    /// Checks that thieves begin at the bottom and every slot is free.
    fn is_clean(&self) -> Result<(), String> {
        match self.shared.bot() {
            0 if self.states.iter().all(JobState::is_fresh) => Ok(()),
            0 => Err("a slot is not free".into()),
            bot => Err(format!("bot stands at {bot}")),
        }
    }
}

/// What the threads do.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The owner's acts: `+` forks, `-` joins the newest task, `.` answers thieves. The acts before a bar precede the
    /// thieves; `s` there is a steal by a thief that is gone. In the end the owner joins what is left.
    pub owner: &'static str,
    /// The owner's acts above the first stolen task that it waits for.
    pub above: &'static str,
    /// How often each thief tries to steal.
    pub thieves: &'static [usize],
}

impl Display for Client {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.owner)?;
        if !self.above.is_empty() {
            write!(f, " ({})", self.above)?;
        }
        self.thieves.iter().try_for_each(|&steals| write!(f, " {}", "s".repeat(steals)))
    }
}

/// The slots of the stack: one more than any client here needs.
const SLOTS: usize = 6;
/// The cell of a slot without a task.
const EMPTY: usize = usize::MAX;
/// The cell of a slot whose task has run, less the task's number.
const RAN: usize = 100;

struct Table<M: Memory> {
    stack: Stack<M>,
    /// Per slot, the task, then its result.
    cells: Vec<M::Cell<usize>>,
    /// Per slot, the task.
    tasks: Mutex<[usize; SLOTS]>,
    /// Per task, how often it ran.
    ran: Mutex<Vec<usize>>,
}

impl<M: Checker> Table<M> {
    /// Runs the task in a slot and leaves its result there.
    fn run(&self, slot: usize) {
        let task = lock(&self.tasks)[slot];
        M::note(|| format!("runs task {task}"));
        lock(&self.ran)[task] += 1;
        if self.ran_once(task) {
            self.turn(slot, task, RAN + task);
        }
    }

    /// Whether the task ran only once. A second run leaves the cell alone: the count says more about it than a race
    /// does.
    fn ran_once(&self, task: usize) -> bool {
        lock(&self.ran)[task] == 1
    }

    /// Tries to steal once, and runs the loot.
    fn steal(&self) {
        M::note(|| "steal".into());
        let stolen = self.stack.steal();
        M::note(|| stolen.map_or("nothing".into(), |slot| format!("has won slot {slot}")));
        if let Some(slot) = stolen {
            self.run(slot);
            self.stack.finish(slot);
        }
    }

    /// Checks that a slot's cell holds `from`, and replaces it by `to`.
    fn turn(&self, slot: usize, from: usize, to: usize) {
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        let found = self.cells[slot].with(|cell| unsafe { *cell });
        assert_eq!(found, from, "what belongs to slot {slot} was not written before it was read");
        // SAFETY: as above.
        self.cells[slot].with_mut(|cell| unsafe { *cell = to });
    }
}

struct Worker<M: Memory> {
    table: Arc<Table<M>>,
    owner: Owner,
    /// The number of tasks on the stack.
    height: usize,
    /// The acts above a stolen task.
    above: &'static str,
}

impl<M: Checker> Worker<M> {
    fn act(&mut self, acts: &str) {
        for act in acts.chars() {
            match act {
                '+' => self.fork(),
                '-' => self.join(),
                '.' => self.table.stack.answer(&mut self.owner, self.height),
                's' => self.table.steal(),
                _ => panic!("an owner forks (+), joins (-) and answers (.)"),
            }
        }
    }

    fn fork(&mut self) {
        let (slot, task) = (self.height, lock(&self.table.ran).len());
        lock(&self.table.ran).push(0);
        M::note(|| format!("forks task {task}"));
        lock(&self.table.tasks)[slot] = task;
        self.table.turn(slot, EMPTY, task);
        self.height += 1;
        self.table.stack.push(&mut self.owner, slot);
    }

    fn join(&mut self) {
        let table = Arc::clone(&self.table);
        let slot = self.height - 1;
        let task = lock(&table.tasks)[slot];
        M::note(|| format!("joins task {task}"));
        if table.stack.take_back(&mut self.owner, slot) || self.wait(slot) {
            table.run(slot);
        }
        self.height = slot;
        if table.ran_once(task) {
            table.turn(slot, RAN + task, EMPTY);
        }
    }

    /// Waits for the thief of the newest task, and returns whether the task came back.
    fn wait(&mut self, slot: usize) -> bool {
        let table = Arc::clone(&self.table);
        let fate = loop {
            match table.stack.look(slot) {
                Fate::Runs if !self.above.is_empty() => {
                    let above = std::mem::take(&mut self.above);
                    self.act(above);
                }
                Fate::Open | Fate::Runs => M::spin_loop(),
                fate => break fate,
            }
        };
        table.stack.joined(&mut self.owner, slot);
        fate == Fate::TakenBack
    }
}

/// Returns the program of a client.
pub fn program<M: Checker>(client: &Client, params: &Params) -> Program {
    let (stack, owner) = Stack::new(SLOTS, params);
    let cells = (0..SLOTS).map(|_| Cell::new(EMPTY)).collect();
    let table = Arc::new(Table { stack, cells, tasks: Mutex::default(), ran: Mutex::default() });
    let mut worker = Worker::<M> { table: Arc::clone(&table), owner, height: 0, above: client.above };
    let (before, acts) = client.owner.split_once('|').unwrap_or(("", client.owner));
    worker.act(before);
    let own = move || {
        worker.act(acts);
        while worker.height > 0 {
            worker.join();
        }
    };
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> = vec![("owner".into(), Box::new(own))];
    for (index, &steals) in client.thieves.iter().enumerate() {
        let table = Arc::clone(&table);
        let steal = move || {
            for _ in 0..steals {
                table.steal();
            }
        };
        threads.push((format!("thief {}", index + 1), Box::new(steal)));
    }
    let finally = Box::new(move || {
        for (task, &times) in lock(&table.ran).iter().enumerate() {
            ensure!(times > 0, Lost, "task {task} was lost");
            ensure!(times == 1, Twice, "task {task} ran {times} times");
        }
        let clean = table.stack.is_clean();
        ensure!(
            clean.is_ok(),
            Hidden,
            "with nothing on the stack {}, which hides tasks from thieves",
            clean.unwrap_err()
        );
    });
    Program { threads, finally }
}

/// A stack, its owner's limits, and the sleeping places of the owner and the only thief.
struct Desk<M: Memory> {
    stack: Stack<M>,
    limits: Limits<M>,
    dormitory: Dormitory<M>,
    /// Odd while the thief is asleep or about to be, after its last look; `SERVED` in the end.
    phase: M::AtomicU32,
}

const SERVED: u32 = u32::MAX;
/// The thief's place.
const THIEF: usize = 1;

/// Limits compare addresses.
fn address(slot: usize) -> usize {
    (slot + 1) * 64
}

/// The owner of a desk.
struct Tenant<M: Memory> {
    desk: Arc<Desk<M>>,
    grain: grain::Params,
    owner: RefCell<public::Owner>,
    owed: Plain<Wakes>,
    height: Plain<usize>,
}

impl<M: Checker> Sleeper for Tenant<M> {
    type Memory = M;

    fn dormitory(&self) -> &Dormitory<M> {
        &self.desk.dormitory
    }

    fn index(&self) -> usize {
        0
    }
}

impl<M: Checker> Sharer for Tenant<M> {
    type Memory = M;

    fn sleepers(&self) -> &Sleepers<M> {
        self.desk.dormitory.sleepers()
    }

    fn workers(&self) -> usize {
        self.desk.dormitory.len()
    }

    fn wake_after(&self, wakes: Wakes) {
        self.owed.set(wakes);
    }

    fn has_aside(&self) -> bool {
        false
    }

    /// Returns 0: nothing takes any time.
    fn now(&self) -> Time {
        0
    }

    fn grain(&self) -> grain::Params {
        self.grain
    }
}

impl<M: Checker> Tenant<M> {
    fn stack<'s>(&'s self) -> public::Stack<'s, M, impl Fn(u32) -> &'s JobState<M>> {
        let Desk { stack: Stack { shared, states }, limits, .. } = &*self.desk;
        let state_at = |index| &states[index as usize];
        public::Stack {
            shared,
            limits,
            state_at,
            bottom: address(0),
            slot_size: address(1) - address(0),
            capacity: SLOTS,
        }
    }

    /// Gives `f` the owner's part, and then wakes whom that has shared tasks for.
    fn enter<R>(&self, f: impl FnOnce(&mut public::Owner) -> R) -> R {
        let result = f(&mut self.owner.borrow_mut());
        self.owed.take().wake(self);
        result
    }

    fn push(&self) {
        let index = self.height.get();
        self.height.set(index + 1);
        M::note(|| format!("forks in slot {index}"));
        if !self.desk.limits.admits_push(address(index)) {
            self.enter(|owner| owner.pushed(&self.stack(), self, index));
        }
    }

    /// Joins the newest task, stolen or not.
    fn join(&self) {
        let index = self.height.get() - 1;
        self.height.set(index);
        M::note(|| format!("joins slot {index}"));
        let desk = &self.desk;
        if desk.limits.admits_pop(address(index)) || self.enter(|owner| owner.take_back(&self.stack(), self, index)) {
            return;
        }
        while !matches!(desk.stack.look(index), Fate::Done | Fate::TakenBack) {
            M::spin_loop();
        }
        self.enter(|owner| owner.joined(&self.stack(), index));
    }
}

/// A thief wants one task and sleeps until it gets it. The owner forks (`+`) and joins (`-`), and once it sees the
/// thief asleep it forks again, which must wake the thief.
pub fn wake_up<M: Checker>(acts: &'static str, params: Params, grain: grain::Params) -> Program {
    let (shared, owner) = public::Owner::new(params, SLOTS as u32);
    let desk = Arc::new(Desk::<M> {
        stack: Stack { shared, states: (0..SLOTS).map(|_| JobState::default()).collect() },
        limits: Limits::closed(),
        dormitory: Dormitory::new(2),
        phase: Atomic::new(0),
    });
    let (owner, owed, height) = (RefCell::new(owner), Plain::default(), Plain::new(0));
    let tenant = Tenant::<M> { desk: Arc::clone(&desk), grain, owner, owed, height };
    let own = move || {
        let desk: &Desk<M> = &tenant.desk;
        tenant.enter(|owner| owner.begin(&tenant.stack(), &tenant));
        for act in acts.chars() {
            if act == '+' { tenant.push() } else { tenant.join() }
        }
        loop {
            let now = desk.phase.load(Ordering::Acquire);
            if now == SERVED {
                break;
            }
            // Asleep, and not about to be woken: only the owner wakes it.
            if now % 2 == 1 && desk.dormitory.place(THIEF).would_help(|_| true) {
                M::note(|| "sees the thief asleep".into());
                tenant.push();
            }
            while desk.phase.load(Ordering::Acquire) == now {
                M::spin_loop();
            }
        }
        while tenant.height.get() > 0 {
            tenant.join();
        }
    };
    let steal = move || {
        let shared = &desk.stack.shared;
        let (sleepers, place) = (desk.dormitory.sleepers(), desk.dormitory.place(THIEF));
        let (mut phase, mut searching) = (0, false);
        let slot = loop {
            if let Some(slot) = desk.stack.steal() {
                break slot;
            }
            if std::mem::replace(&mut searching, true) {
                sleepers.end_search();
            }
            place.announce(sleepers, ANY);
            if shared.has_run_out() {
                desk.limits.request(|| 0);
            }
            place.settle();
            if shared.has_public(|index| &desk.stack.states[index as usize]) {
                place.cancel(sleepers);
                continue;
            }
            desk.phase.store(phase + 1, Ordering::Release);
            M::note(|| "sleeps".into());
            place.sleep();
            phase += 2;
            desk.phase.store(phase, Ordering::Release);
        };
        desk.stack.finish(slot);
        desk.phase.store(SERVED, Ordering::Release);
    };
    Program {
        threads: vec![("owner".into(), Box::new(own)), ("thief".into(), Box::new(steal))],
        finally: Box::new(|| ()),
    }
}
