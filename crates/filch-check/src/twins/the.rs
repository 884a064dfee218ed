//! THE, compact, with mistakes to choose from. See `filch_queue::the` for the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{Ring, lock, promises, task, unlock, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A push fills the last of the W slots, which a claim that is given back may need.
    NoSpareSlot,
    /// A thief reads its slot after it has released the lock.
    SlotAfterUnlock,
    /// Pop sees a conflict one task too late.
    ConflictOffByOne,
    /// Pop loads H before it stores T.
    HeadFirst,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct The;

struct Shared<M: Memory> {
    head: M::AtomicI64,
    tail: M::AtomicI64,
    lock: M::AtomicBool,
    slots: Ring<M>,
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    tail: i64,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for The {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("the");

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            head: Atomic::new(0),
            tail: Atomic::new(0),
            lock: Atomic::new(false),
            slots: Ring::new(capacity + 1),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake }).collect();
        (Owner { shared, mistake, tail: 0 }, thieves)
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let shared = &*self.shared;
        let spare = i64::from(self.mistake != Mistake::NoSpareSlot);
        if self.tail - shared.head.load(Ordering::Acquire) >= shared.slots.len() as i64 - spare {
            return Err(Full(task));
        }
        shared.slots[self.tail].store(word(task), Ordering::Relaxed);
        self.tail += 1;
        shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let (shared, mistake) = (&*self.shared, self.mistake);
        let early = (mistake == Mistake::HeadFirst).then(|| shared.head.load(Ordering::Relaxed));
        let t = self.tail - 1;
        shared.tail.store(t, Ordering::Release);
        M::fence(Ordering::SeqCst);
        let h = early.unwrap_or_else(|| shared.head.load(Ordering::Relaxed));
        if t + i64::from(mistake == Mistake::ConflictOffByOne) < h {
            lock::<M>(&shared.lock);
            let is_lost = shared.head.load(Ordering::Relaxed) > t;
            if is_lost {
                shared.tail.store(t + 1, Ordering::Release);
            }
            unlock::<M>(&shared.lock);
            if is_lost {
                return None;
            }
        }
        self.tail = t;
        Some(task(shared.slots[t].load(Ordering::Relaxed)))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let (shared, mistake) = (&*self.shared, self.mistake);
        lock::<M>(&shared.lock);
        let h = shared.head.load(Ordering::Relaxed);
        shared.head.store(h + 1, Ordering::Release);
        M::fence(Ordering::SeqCst);
        let mut stolen = None;
        let has_won = h < shared.tail.load(Ordering::Acquire);
        if !has_won {
            shared.head.store(h, Ordering::Release);
        } else if mistake != Mistake::SlotAfterUnlock {
            stolen = Some(shared.slots[h].load(Ordering::Relaxed));
        }
        unlock::<M>(&shared.lock);
        if has_won {
            Steal::Task(task(stolen.unwrap_or_else(|| shared.slots[h].load(Ordering::Relaxed))))
        } else {
            Steal::Empty
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = mistaken::<The>;
    vec![
        row(
            "no-spare-slot",
            Mistake::NoSpareSlot,
            Client::new(1, 0, "+++", &[1]),
            buffer(0),
            Harm::Lost,
            "a push goes by a claim that is given back, and overwrites the oldest task",
        ),
        row(
            "slot-after-unlock",
            Mistake::SlotAfterUnlock,
            Client::new(1, 1, "++", &[1, 1]),
            buffer(0),
            Harm::Lost,
            "the slot is used again before the thief has read it",
        ),
        row(
            "conflict-off-by-one",
            Mistake::ConflictOffByOne,
            Client::new(1, 0, "-", &[]),
            buffer(0),
            Harm::NoTask,
            "the test for a thief's claim on the last task is also the test for an empty deque",
        ),
        row(
            "head-first",
            Mistake::HeadFirst,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::Twice,
            "the owner looks for claims before it raises its flag",
        ),
    ]
}
