//! The steal-half deque, compact, with mistakes to choose from. See `filch_queue::hendler_shavit` for the algorithm.
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
    /// A push does not look whether its slot has been emptied.
    NoEmptyTest,
    /// The range is widened by a load and a store.
    WidenByStore,
    /// A thief reads its slot before it has won it.
    CopyBeforeSwap,
    /// A pop that loses its swap takes all tasks for stolen.
    SingleTry,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct HendlerShavit;

struct Shared<M: Memory> {
    /// (top, length).
    range: M::AtomicU64,
    slots: Ring<M>,
}

impl<M: Memory> Shared<M> {
    /// Changes the range, unless somebody else was faster.
    fn change(&self, from: u64, to: u64, by_store: bool) -> bool {
        if by_store {
            self.range.store(to, Ordering::Release);
            return true;
        }
        self.range.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    bottom: u32,
    end: u32,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for HendlerShavit {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("hendler-shavit");

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared { range: Atomic::new(0), slots: Ring::new(capacity) });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake }).collect();
        (Owner { shared, mistake, bottom: 0, end: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    fn is_full(&self) -> bool {
        if self.mistake == Mistake::NoEmptyTest {
            let (top, _) = unpack(self.shared.range.load(Ordering::Acquire));
            return (self.bottom - top) as usize >= self.shared.slots.len();
        }
        self.shared.slots[self.bottom].load(Ordering::Relaxed) != 0
    }

    /// Makes half of the private tasks public, at least one.
    fn publish(&mut self) {
        let count = ((self.bottom - self.end) / 2).max(1);
        self.shared.range.store(pack(self.end, count), Ordering::Release);
        self.end += count;
    }

    /// Takes half of the range back; `false` if there is nothing.
    fn halve(&mut self) -> bool {
        loop {
            let seen = self.shared.range.load(Ordering::Acquire);
            let (top, length) = unpack(seen);
            if length == 0 {
                return false;
            }
            if self.shared.change(seen, pack(top, length / 2), false) {
                self.end = top + length / 2;
                return true;
            }
            if self.mistake == Mistake::SingleTry {
                return false;
            }
        }
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.is_full() {
            return Err(Full(task));
        }
        self.shared.slots[self.bottom].store(word(task), Ordering::Relaxed);
        self.bottom += 1;
        let seen = self.shared.range.load(Ordering::Acquire);
        let (top, length) = unpack(seen);
        let (all, half) = (self.bottom - top, (self.bottom - top) / 2);
        if length == 0 {
            self.publish();
        } else if all.is_power_of_two()
            && half > length
            && self.shared.change(seen, pack(top, half), self.mistake == Mistake::WidenByStore)
        {
            self.end = top + half;
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        if self.bottom == self.end && !self.halve() {
            return None;
        }
        self.bottom -= 1;
        let popped = self.shared.slots.take(self.bottom);
        if self.bottom > self.end && unpack(self.shared.range.load(Ordering::Acquire)).1 == 0 {
            self.publish();
        }
        Some(popped)
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let seen = shared.range.load(Ordering::Acquire);
        let (top, length) = unpack(seen);
        if length == 0 {
            return Steal::Empty;
        }
        let early = (self.mistake == Mistake::CopyBeforeSwap).then(|| shared.slots[top].load(Ordering::Relaxed));
        if !shared.change(seen, pack(top + 1, length - 1), false) {
            return Steal::Retry;
        }
        let now = shared.slots.take(top);
        Steal::Task(early.map_or(now, task))
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = mistaken::<HendlerShavit>;
    vec![
        row(
            "no-empty-test",
            Mistake::NoEmptyTest,
            Client::new(1, 1, "+-", &[1]),
            buffer(0),
            Harm::NoTask,
            "a push overwrites a slot that its thief has won and not read",
        ),
        row(
            "widen-by-store",
            Mistake::WidenByStore,
            Client::new(4, 3, "+----", &[1]),
            buffer(0),
            Harm::NoTask,
            "a steal between the owner's load and its store of the range is undone",
        ),
        row(
            "copy-before-swap",
            Mistake::CopyBeforeSwap,
            Client::new(1, 1, "-+", &[1]),
            buffer(0),
            Harm::Twice,
            "the range comes back to its old value with another task in the slot",
        ),
        row(
            "single-try",
            Mistake::SingleTry,
            Client::new(4, 4, "---", &[1]),
            buffer(0),
            Harm::NotEmpty,
            "a pop that loses its swap says that nothing is there, though the thief took one of two",
        ),
    ]
}
