//! The compare-and-swap queue, compact, with mistakes to choose from. See `filch_queue::wsq` for the algorithm.
//!
//! Unlike the source, it refuses a push of several where no slot is known to be empty.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{Ring, pack, promises, task, unpack, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A thief takes what its slot holds at once, be it nothing.
    NoWaitInSteal,
    /// A push does not spend the slot that the owner knew to be empty.
    EmptyNotSpent,
    /// A push of several does not spend its slots.
    ManyNotSpent,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Wsq;

struct Shared<M: Memory> {
    /// (top, count); bottom is their sum.
    index: M::AtomicU64,
    slots: Ring<M>,
}

impl<M: Memory> Shared<M> {
    fn swap(&self, from: u64, to: u64) -> bool {
        self.index.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    /// How many slots from bottom on are known to be empty.
    empty: u32,
    mistake: Mistake,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for Wsq {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("wsq");

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared { index: Atomic::new(0), slots: Ring::new(capacity) });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake }).collect();
        (Owner { shared, empty: capacity as u32, mistake }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    /// Reserves so many slots if there is room; returns the first one's index.
    fn reserve(&self, by: u32) -> Option<u32> {
        let shared = &*self.shared;
        loop {
            let seen = shared.index.load(Ordering::Acquire);
            let (top, count) = unpack(seen);
            if (count + by) as usize > shared.slots.len() {
                return None;
            }
            if shared.swap(seen, pack(top, count + by)) {
                return Some(top + count);
            }
        }
    }

    fn spend(&mut self, slots: u32, forgets: Mistake) {
        if self.mistake != forgets {
            self.empty -= slots;
        }
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let Some(bottom) = self.reserve(1) else { return Err(Full(task)) };
        if self.empty > 0 {
            self.spend(1, Mistake::EmptyNotSpent);
        } else {
            while self.shared.slots[bottom].load(Ordering::Acquire) != 0 {
                M::spin_loop();
            }
        }
        self.shared.slots[bottom].store(word(task), Ordering::Release);
        Ok(())
    }

    fn push_many(&mut self, tasks: &[Task]) -> usize {
        let shared = &*self.shared;
        if tasks.len() > self.empty as usize {
            let (top, count) = unpack(shared.index.load(Ordering::Acquire));
            let is_empty = |at: &u32| shared.slots[top + count + at].load(Ordering::Acquire) == 0;
            self.empty = (0..shared.slots.len() as u32 - count).take_while(is_empty).count() as u32;
        }
        let many = self.empty.min(tasks.len() as u32);
        let Some(bottom) = self.reserve(many) else { return 0 };
        self.spend(many, Mistake::ManyNotSpent);
        for (at, task) in (bottom..).zip(&tasks[..many as usize]) {
            self.shared.slots[at].store(word(*task), Ordering::Release);
        }
        many as usize
    }

    fn pop(&mut self) -> Option<Task> {
        let shared = &*self.shared;
        loop {
            let seen = shared.index.load(Ordering::Acquire);
            let (top, count) = unpack(seen);
            if count == 0 {
                return None;
            }
            if shared.swap(seen, pack(top, count - 1)) {
                return Some(task(shared.slots[top + count - 1].swap(0, Ordering::Acquire)));
            }
        }
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let seen = shared.index.load(Ordering::Acquire);
        let (top, count) = unpack(seen);
        if count == 0 {
            return Steal::Empty;
        }
        if !shared.swap(seen, pack(top + 1, count - 1)) {
            return Steal::Retry;
        }
        let slot = &shared.slots[top];
        loop {
            let taken = slot.load(Ordering::Relaxed);
            if taken == 0 && self.mistake != Mistake::NoWaitInSteal {
                M::spin_loop();
            } else if slot.compare_exchange(taken, 0, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Steal::Task(task(taken));
            }
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |name, mistake, client, shows| mistaken::<Wsq>(name, mistake, client, buffer(0), Harm::Panic, shows);
    vec![
        row(
            "no-wait-in-steal",
            Mistake::NoWaitInSteal,
            Client::new(1, 0, "+", &[1]),
            "a thief comes to its slot before the push that has reserved it",
        ),
        row(
            "empty-not-spent",
            Mistake::EmptyNotSpent,
            Client::new(1, 0, "++", &[1]),
            "a push overwrites a task that its thief has claimed and not taken",
        ),
        row(
            "many-not-spent",
            Mistake::ManyNotSpent,
            Client::new(1, 0, "11", &[1]),
            "a push of several overwrites a task that its thief has claimed and not taken",
        ),
    ]
}
