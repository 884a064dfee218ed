//! A direct task stack: an owner that forks and joins, thieves, and an account of every task.
//!
//! The [`Client`] says when the owner answers, and what it forks above a stolen task. What thieves may take, and how,
//! is up to the [`Tasks`].
//!
//! Checks: every task runs once; no two threads use a task's memory without an order between them; what a thief leaves
//! there reaches the joiner; in the end the stack is as it was, so that thieves can get every later task.

use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, Mutex};

use filch::inside::protocol::state::{JobState, Status};
use filch_memory::{Cell, Memory};

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

/// A direct task stack with its shipped protocol.
pub trait Tasks<M: Memory>: Send + Sync + 'static {
    /// The owner's part.
    type Owner: Send + 'static;

    /// The state of a slot.
    fn state(&self, index: usize) -> &JobState<M>;

    /// Owner: the task at `index` has been written.
    fn push(&self, owner: &mut Self::Owner, index: usize);

    /// Owner: answers thieves. The stack has `top` tasks.
    fn answer(&self, owner: &mut Self::Owner, top: usize);

    /// Owner: takes the newest task back, or returns `false` if a thief has it.
    fn take_back(&self, owner: &mut Self::Owner, index: usize) -> bool;

    /// Owner: its wait for the newest task is over.
    fn joined(&self, owner: &mut Self::Owner, index: usize);

    /// Thief, by number: one attempt.
    fn steal(&self, thief: usize) -> Option<usize>;

    /// Checks that an empty stack is as it was in the beginning.
    fn is_clean(&self) -> Result<(), String>;
}

/// Owner: checks the fate of a task that a thief won.
pub(super) fn look<M: Memory>(state: &JobState<M>) -> Fate {
    match state.status() {
        Status::Fresh => Fate::Open,
        Status::Offered if state.retract() => Fate::TakenBack,
        Status::Offered => Fate::Open,
        Status::Stolen(_) => Fate::Runs,
        Status::Done | Status::Panicked | Status::Returned => Fate::Done,
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
pub(super) const SLOTS: usize = 6;
/// The distance between two slots.
pub(super) const SLOT: usize = 64;
/// The cell of a slot without a task.
const EMPTY: usize = usize::MAX;
/// The cell of a slot whose task has run, less the task's number.
const RAN: usize = 100;

/// The address of a slot, for limits.
pub(super) fn address(slot: usize) -> usize {
    (slot + 1) * SLOT
}

struct Table<M: Memory, S> {
    stack: S,
    /// Per slot, the task, then its result.
    cells: Vec<M::Cell<usize>>,
    /// Per slot, the task.
    tasks: Mutex<[usize; SLOTS]>,
    /// Per task, how often it ran.
    ran: Mutex<Vec<usize>>,
}

impl<M: Checker, S: Tasks<M>> Table<M, S> {
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
    fn steal(&self, thief: usize) {
        M::note(|| "steal".into());
        let stolen = self.stack.steal(thief).inspect(|&slot| self.stack.state(slot).claim(thief, 0));
        M::note(|| stolen.map_or("nothing".into(), |slot| format!("has won slot {slot}")));
        if let Some(slot) = stolen {
            self.run(slot);
            self.stack.state(slot).finish(false);
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

struct Worker<M: Memory, S: Tasks<M>> {
    table: Arc<Table<M, S>>,
    owner: S::Owner,
    /// The number of tasks on the stack.
    height: usize,
    /// The acts above a stolen task.
    above: &'static str,
}

impl<M: Checker, S: Tasks<M>> Worker<M, S> {
    fn act(&mut self, acts: &str) {
        for act in acts.chars() {
            match act {
                '+' => self.fork(),
                '-' => self.join(),
                '.' => self.table.stack.answer(&mut self.owner, self.height),
                's' => self.table.steal(0),
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
            match look(table.stack.state(slot)) {
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

/// Returns the program of a client on an empty stack of `SLOTS` slots.
pub(super) fn program<M: Checker, S: Tasks<M>>(client: &Client, (stack, owner): (S, S::Owner)) -> Program {
    let cells = (0..SLOTS).map(|_| Cell::new(EMPTY)).collect();
    let table = Arc::new(Table { stack, cells, tasks: Mutex::default(), ran: Mutex::default() });
    let mut worker = Worker { table: Arc::clone(&table), owner, height: 0, above: client.above };
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
                table.steal(index + 1);
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
