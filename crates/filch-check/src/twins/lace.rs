//! The split deque of words, compact, with mistakes to choose from. See `filch_queue::lace` for the algorithm.
//!
//! It shares all private tasks when it is asked, where the shipped one shares half.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};
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
    /// A push looks at the number of tasks, and not whether the slot has been emptied.
    NoEmptyTest,
    /// Split is lowered by a load and a store.
    ShrinkByStore,
    /// What is left of the shared part is decided by the tail that was read before split was lowered.
    StaleTail,
    /// A thief reads its slot before it has won the index.
    CopyBeforeSwap,
    /// Split is raised by a load and a store.
    GrowByStore,
    /// Split stays where it is if thieves have passed it when it was lowered.
    NoSecondAdjustment,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Lace;

struct Shared<M: Memory> {
    /// (tail, split).
    split_tail: M::AtomicU64,
    all_stolen: M::AtomicBool,
    split_request: M::AtomicBool,
    slots: Ring<M>,
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    head: u32,
    split: u32,
    all_stolen: bool,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for Lace {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("lace");

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            split_tail: Atomic::new(pack(0, 0)),
            all_stolen: Atomic::new(true),
            split_request: Atomic::new(false),
            slots: Ring::new(capacity),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake }).collect();
        (Owner { shared, mistake, head: 0, split: 0, all_stolen: true }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    fn is_full(&self) -> bool {
        if self.mistake == Mistake::NoEmptyTest {
            let (tail, _) = unpack(self.shared.split_tail.load(Ordering::Acquire));
            return (self.head - tail) as usize >= self.shared.slots.len();
        }
        self.shared.slots[self.head].load(Ordering::Relaxed) != 0
    }

    /// Shares everything, if asked.
    fn answer(&mut self) {
        let shared = &*self.shared;
        if self.all_stolen || !shared.split_request.load(Ordering::Relaxed) {
            return;
        }
        if self.mistake == Mistake::GrowByStore {
            let (tail, _) = unpack(shared.split_tail.load(Ordering::Relaxed));
            shared.split_tail.store(pack(tail, self.head), Ordering::Release);
        } else {
            shared.split_tail.fetch_add(pack(0, self.head - self.split), Ordering::Release);
        }
        self.split = self.head;
        shared.split_request.store(false, Ordering::Relaxed);
    }

    /// Takes back half of what is shared; `false` if all of it is stolen.
    fn shrink(&mut self) -> bool {
        let (shared, mistake) = (&*self.shared, self.mistake);
        let (mut tail, split) = unpack(shared.split_tail.load(Ordering::Relaxed));
        if tail != split {
            let mut lower = (tail + split) / 2;
            if mistake == Mistake::ShrinkByStore {
                shared.split_tail.store(pack(tail, lower), Ordering::Release);
            } else {
                let old = shared.split_tail.fetch_sub(pack(0, split - lower), Ordering::AcqRel);
                if mistake != Mistake::StaleTail {
                    (tail, _) = unpack(old);
                }
            }
            if tail != split {
                if tail > lower && mistake != Mistake::NoSecondAdjustment {
                    let better = (tail + split) / 2;
                    shared.split_tail.fetch_add(pack(0, better - lower), Ordering::Release);
                    lower = better;
                }
                self.split = lower;
                return true;
            }
        }
        shared.all_stolen.store(true, Ordering::Release);
        self.all_stolen = true;
        false
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.is_full() {
            return Err(Full(task));
        }
        self.shared.slots[self.head].store(word(task), Ordering::Relaxed);
        self.head += 1;
        if self.all_stolen {
            self.shared.split_tail.store(pack(self.head - 1, self.head), Ordering::Release);
            self.shared.all_stolen.store(false, Ordering::Release);
            self.shared.split_request.store(false, Ordering::Relaxed);
            (self.split, self.all_stolen) = (self.head, false);
        } else {
            self.answer();
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        if self.all_stolen || (self.split == self.head && !self.shrink()) {
            return None;
        }
        self.head -= 1;
        let popped = self.shared.slots.take(self.head);
        self.answer();
        Some(popped)
    }

    fn poll(&mut self) {
        self.answer();
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        if shared.all_stolen.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        let seen = shared.split_tail.load(Ordering::Acquire);
        let (tail, split) = unpack(seen);
        if tail >= split {
            shared.split_request.store(true, Ordering::Relaxed);
            return Steal::Empty;
        }
        let early = (self.mistake == Mistake::CopyBeforeSwap).then(|| shared.slots[tail].load(Ordering::Relaxed));
        let taken = pack(tail + 1, split);
        if shared.split_tail.compare_exchange(seen, taken, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Steal::Retry;
        }
        let now = shared.slots.take(tail);
        Steal::Task(early.map_or(now, task))
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = mistaken::<Lace>;
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
            "shrink-by-store",
            Mistake::ShrinkByStore,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::NoTask,
            "a steal between the owner's load and its store of the index word is undone",
        ),
        row(
            "stale-tail",
            Mistake::StaleTail,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::NoTask,
            "the owner takes a task that was stolen between its look at tail and its lowering of split",
        ),
        row(
            "copy-before-swap",
            Mistake::CopyBeforeSwap,
            Client::new(1, 1, "--+", &[1]),
            buffer(0),
            Harm::Twice,
            "the index word comes back to its old value with another task in the slot",
        ),
        row(
            "grow-by-store",
            Mistake::GrowByStore,
            Client::new(3, 1, "-++--", &[3]),
            buffer(0),
            Harm::NoTask,
            "a steal between the owner's load and its store of the index word is undone",
        ),
        row(
            "no-second-adjustment",
            Mistake::NoSecondAdjustment,
            Client::new(4, 4, ".--", &[4]),
            buffer(0),
            Harm::NoTask,
            "split is lowered below tail, and the owner takes stolen tasks for private ones",
        ),
    ]
}
