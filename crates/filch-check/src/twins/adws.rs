//! adws, compact, with mistakes to choose from. See `filch_queue::adws` for the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine. A thief takes what was granted to others.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Progress, Promises, Queue, Steal, StealOrder, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{Ring, promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// The room for pushes is counted from the owner's oldest task.
    CellsIgnored,
    /// The room for pushes is counted from the oldest position that is granted, and not from one being copied.
    CopyingIgnored,
    /// A thief says that it has taken a task before it has copied it.
    NoCopying,
    /// A thief asks again while another one copies what it was granted.
    EndedWhileCopying,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Adws;

const GRANTED: u64 = 1;
const NOTHING: u64 = 2;
const TAKEN: u64 = 3;
const COPYING: u64 = 4;

struct Shared<M: Memory> {
    mistake: Mistake,
    slots: Ring<M>,
    requests: Vec<M::AtomicU64>,
    /// (number, kind, position).
    cells: Vec<M::AtomicU64>,
}

fn answer(number: u64, kind: u64, position: u64) -> u64 {
    number << 32 | kind << 24 | position
}

fn parts(word: u64) -> (u64, u64, u64) {
    (word >> 32, word >> 24 & 0xFF, word & 0xFF_FFFF)
}

impl<M: Memory> Shared<M> {
    /// Takes what a cell grants.
    fn take(&self, cell: usize) -> Option<Task> {
        let granted = self.cells[cell].load(Ordering::Acquire);
        let (number, kind, position) = parts(granted);
        let taken = answer(number, TAKEN, 0);
        let copying = if self.mistake == Mistake::NoCopying { taken } else { answer(number, COPYING, position) };
        let is_mine = kind == GRANTED
            && self.cells[cell].compare_exchange(granted, copying, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        is_mine.then(|| {
            let copied = self.slots[position].load(Ordering::Relaxed);
            if self.mistake != Mistake::NoCopying {
                self.cells[cell].store(taken, Ordering::Release);
            }
            task(copied)
        })
    }
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    front: u64,
    back: u64,
    answered: Vec<u64>,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    index: usize,
    number: u64,
    is_outstanding: bool,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for Adws {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = Promises {
        steals: StealOrder::Unordered,
        steal_progress: Progress::OwnerDependent,
        owner_must_poll: true,
        ..promises("adws")
    };

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            mistake,
            slots: Ring::new(capacity),
            requests: (0..thieves).map(|_| Atomic::new(0)).collect(),
            cells: (0..thieves).map(|_| Atomic::new(answer(0, TAKEN, 0))).collect(),
        });
        let thief = |index| Thief { shared: Arc::clone(&shared), index, number: 0, is_outstanding: false };
        let sides = (0..thieves).map(thief).collect();
        (Owner { shared, front: 0, back: 0, answered: vec![0; thieves] }, sides)
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let shared = &*self.shared;
        let named = shared.cells.iter().filter_map(|cell| {
            let (_, kind, position) = parts(cell.load(Ordering::Acquire));
            let counts = match shared.mistake {
                Mistake::CellsIgnored => false,
                Mistake::CopyingIgnored => kind == GRANTED,
                _ => kind == GRANTED || kind == COPYING,
            };
            counts.then_some(position)
        });
        let oldest = named.fold(self.front, u64::min);
        let has_room = self.back - oldest < shared.slots.len() as u64;
        if has_room {
            shared.slots[self.back].store(word(task), Ordering::Relaxed);
            self.back += 1;
        }
        self.poll();
        if has_room { Ok(()) } else { Err(Full(task)) }
    }

    fn pop(&mut self) -> Option<Task> {
        let popped = if self.back > self.front {
            self.back -= 1;
            Some(task(self.shared.slots[self.back].load(Ordering::Relaxed)))
        } else {
            let mut cells: Vec<_> = (0..self.answered.len()).collect();
            cells.sort_by_key(|&cell| std::cmp::Reverse(parts(self.shared.cells[cell].load(Ordering::Relaxed)).2));
            cells.into_iter().find_map(|cell| self.shared.take(cell))
        };
        self.poll();
        popped
    }

    fn poll(&mut self) {
        for cell in 0..self.answered.len() {
            let number = self.shared.requests[cell].load(Ordering::Acquire);
            if number == self.answered[cell] {
                continue;
            }
            self.answered[cell] = number;
            let word = if self.back > self.front {
                self.front += 1;
                answer(number, GRANTED, self.front - 1)
            } else {
                answer(number, NOTHING, 0)
            };
            self.shared.cells[cell].store(word, Ordering::Release);
        }
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> Thief<M> {
    fn collect(&mut self) -> Option<Task> {
        let shared = Arc::clone(&self.shared);
        let (number, kind, _) = parts(shared.cells[self.index].load(Ordering::Acquire));
        if !self.is_outstanding || number != self.number {
            return None;
        }
        let taken = if kind == GRANTED { shared.take(self.index) } else { None };
        let is_settled = taken.is_some() || kind == NOTHING || kind == TAKEN;
        self.is_outstanding = !is_settled && shared.mistake != Mistake::EndedWhileCopying;
        taken
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let mut taken = self.collect();
        if taken.is_none() {
            let others = (0..self.shared.cells.len()).filter(|&cell| cell != self.index);
            taken = others.filter_map(|cell| self.shared.take(cell)).next();
        }
        if !self.is_outstanding {
            self.number += 1;
            self.is_outstanding = true;
            self.shared.requests[self.index].store(self.number, Ordering::Release);
        }
        taken.map_or(Steal::Pending, Steal::Task)
    }

    fn quiesce(&mut self) -> Option<Task> {
        self.collect()
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |name, mistake, capacity, owner, thieves: &[usize], shows| {
        let client = Client::new(capacity, 1, owner, thieves);
        mistaken::<Adws>(name, mistake, client, buffer(0), Harm::Lost, shows)
    };
    vec![
        row(
            "cells-ignored",
            Mistake::CellsIgnored,
            1,
            ".+",
            &[2],
            "a push overwrites a task that was granted and not taken",
        ),
        row("copying-ignored", Mistake::CopyingIgnored, 1, ".+", &[2], "a push overwrites a task that is being copied"),
        row(
            "no-copying",
            Mistake::NoCopying,
            1,
            ".+",
            &[2],
            "a push overwrites a task that counts as taken and has not been copied",
        ),
        row(
            "ended-while-copying",
            Mistake::EndedWhileCopying,
            2,
            ".+.",
            &[2, 2],
            "the end of the copy overwrites the answer to the next request",
        ),
    ]
}
