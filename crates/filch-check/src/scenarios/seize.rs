//! A thief shares tasks on behalf of an owner that does not answer requests.
//!
//! The owner works in closure style: its head is in memory. It forks (`+`) and joins (`-`). Thieves steal; if nothing
//! is shared they ask and insist. [`split`], the [`Head`] and the [`Turn`] are those that ship; the order of the
//! owner's steps on its fast path is restated.
//!
//! Checks: no task runs twice, every joined task runs, no two threads use a task's place or the owner's part at the
//! same time, and the owner reaches its end.

use std::sync::{Arc, Mutex};

use filch::inside::protocol::grain;
use filch::inside::protocol::limits::Limits;
use filch::inside::protocol::seize::{Head, Turn};
use filch::inside::protocol::sharer::Sharing;
use filch::inside::protocol::split;
use filch_memory::{Asymmetric, Cell, Memory};
use filch_queue::lace::index::{Moves, SharedIndex, StealIndex};

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
    /// The head rises before the task is written.
    RisesEarly,
}

const CAPACITY: usize = 4;
const SLOT: usize = 64;

/// Returns a slot's address, which is never dereferenced.
fn address(slot: usize) -> *mut u8 {
    std::ptr::without_provenance_mut((slot + 1) * SLOT)
}

fn slot_at(head: *mut u8) -> usize {
    head.addr() / SLOT - 1
}

struct Shared<M: Memory> {
    index: SharedIndex<M>,
    limits: Limits<M>,
    head: Head<M, u8>,
    turn: Turn<M>,
    owner: M::Cell<split::Owner>,
    slots: Vec<Slot<M>>,
    awake: AllAwake<M>,
    /// How often each task ran.
    ran: Mutex<Vec<usize>>,
}

/// A worker; the owner is number 0.
struct Worker<M: Memory>(Arc<Shared<M>>, usize);

impl<M: Checker + Asymmetric> Worker<M> {
    fn stack(&self) -> split::Stack<'_, M> {
        let Shared { index, limits, .. } = &*self.0;
        split::Stack { shared: index, limits, bottom: address(0).addr(), slot_size: SLOT, capacity: CAPACITY }
    }

    /// Calls `f` with the owner's part.
    fn with<R>(&self, f: impl FnOnce(&mut split::Owner) -> R) -> R {
        // SAFETY: a cell of the program; the checker reports any other access at the same time.
        self.0.owner.with_mut(|owner| f(unsafe { &mut *owner }))
    }

    /// Calls `f` with the owner's part, as the owner does on its cold path.
    fn enter<R>(&self, f: impl FnOnce(&mut split::Owner) -> R) -> R {
        let _turn = self.0.turn.enter();
        self.with(f)
    }

    fn run(&self, slot: usize) {
        let task = self.0.slots[slot].task();
        M::note(|| format!("runs task {task}"));
        lock(&self.0.ran)[task] += 1;
    }

    fn push(&self, task: usize, slot: usize, mistake: Mistake) {
        M::note(|| format!("forks task {task}"));
        let Shared { limits, head, slots, .. } = &*self.0;
        let is_admitted = limits.admits_push(address(slot).addr());
        let early = mistake == Mistake::RisesEarly;
        if early {
            head.rise(address(slot + 1));
        }
        slots[slot].with_task(|content| *content = task);
        if !is_admitted {
            self.enter(|owner| owner.pushed(&self.stack(), &self.0.awake, slot));
        }
        if !early {
            head.rise(address(slot + 1));
        }
    }

    fn join(&self, slot: usize) {
        M::note(|| format!("joins slot {slot}"));
        let Shared { limits, head, slots, .. } = &*self.0;
        head.fall(address(slot));
        let is_admitted = limits.admits_pop(address(slot).addr());
        if is_admitted || self.enter(|owner| owner.take_back(&self.stack(), &self.0.awake, slot)) {
            return self.run(slot);
        }
        slots[slot].await_thief();
        self.enter(|owner| owner.joined(&self.stack()));
    }

    /// Steals a task if one is shared; otherwise asks and insists, and tries again if that shared any.
    fn steal(&self) {
        let Shared { index, limits, head, turn, slots, .. } = &*self.0;
        match index.steal() {
            StealIndex::Index(slot) => {
                let slot = slot as usize;
                self.run(slot);
                slots[slot].end();
            }
            StealIndex::Retry | StealIndex::AllStolen => {}
            StealIndex::NothingShared => {
                M::note(|| "insists".into());
                let head = || slot_at(head.seen());
                if index.has_private(head() as u32) {
                    let share = || self.with(|owner| owner.seized(&self.stack(), &self.0.awake, head()));
                    let shared = turn.seize(self.1 as u32, limits, || 0, share).unwrap_or(0);
                    M::note(|| format!("has shared {shared}"));
                    if shared > 0 {
                        self.steal();
                    }
                }
            }
        }
    }
}

/// The owner forks and joins; its acts before `|` precede the thieves, each of which tries to steal as often as given.
pub fn program<M: Checker + Asymmetric>(
    acts: &'static str,
    thieves: &'static [usize],
    (moves, grain): (Moves, grain::Params),
    mistake: Mistake,
) -> Program {
    let (before, after) = acts.split_once('|').unwrap_or(("", acts));
    let (index, owner) = split::Owner::new(moves, Sharing::ByGrain);
    let (mut is_joined, mut forked) = (Vec::new(), Vec::new());
    for act in acts.chars().filter(|&act| act != '|') {
        if act == '+' {
            forked.push(is_joined.len());
            is_joined.push(false);
        } else if let Some(task) = forked.pop() {
            is_joined[task] = true;
        }
    }
    let shared = Arc::new(Shared::<M> {
        index,
        limits: Limits::closed(),
        head: Head::new(address(0)),
        turn: Turn::new(),
        owner: Cell::new(owner),
        slots: (0..CAPACITY).map(|_| Slot::new()).collect(),
        awake: AllAwake::new(thieves.len() + 1, grain),
        ran: Mutex::new(vec![0; is_joined.len()]),
    });
    let owner = Worker(Arc::clone(&shared), 0);
    let (mut task, mut height) = (0, 0);
    let mut act = move |act| {
        if act == '+' {
            owner.push(task, height, mistake);
            task += 1;
            height += 1;
        } else {
            height -= 1;
            owner.join(height);
        }
    };
    before.chars().for_each(&mut act);
    let mut threads: Vec<(String, Box<dyn FnOnce()>)> =
        vec![("owner".into(), Box::new(move || after.chars().for_each(act)))];
    for (thief, &times) in thieves.iter().enumerate() {
        let worker = Worker(Arc::clone(&shared), thief + 1);
        threads.push((format!("thief {thief}"), Box::new(move || (0..times).for_each(|_| worker.steal()))));
    }
    let finally = Box::new(move || {
        for (task, &times) in lock(&shared.ran).iter().enumerate() {
            ensure!(times > 0 || !is_joined[task], Lost, "task {task} was lost");
            ensure!(times <= 1, Twice, "task {task} ran {times} times");
        }
    });
    Program { threads, finally }
}
