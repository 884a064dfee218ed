//! The split queue with a lock, compact, with mistakes to choose from. See `filch_queue::dsq` for the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine, in both forms.

use std::sync::Arc;

use filch_memory::{Atomic, AtomicInt, Memory, Ordering};
use filch_queue::dsq::Copying;
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mutant};
use super::twin::{Ring, lock, promises, task, unlock, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A thief that copies under the lock raises tail first.
    TailBeforeCopy,
    /// An owner that waits for deferred copies reads tail before it reads how many have been made.
    TailReadFirst,
    /// An owner goes by tail although copies are deferred.
    OnlyTail,
    /// Tasks are taken back without the lock.
    ReacquireUnlocked,
    /// Tasks are taken back, and split stays.
    SplitStays,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Dsq;

struct Shared<M: Memory> {
    lock: M::AtomicBool,
    tail: M::AtomicI64,
    copied: M::AtomicI64,
    split: M::AtomicI64,
    slots: Ring<M>,
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    copying: Copying,
    mistake: Mistake,
    head: i64,
    split: i64,
    /// The index below which there is room.
    limit: i64,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    copying: Copying,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for Dsq {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = (Copying, Mistake);

    const PROMISES: Promises = promises("dsq");

    fn make(capacity: usize, thieves: usize, &(copying, mistake): &Self::Params) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            lock: Atomic::new(false),
            tail: Atomic::new(0),
            copied: Atomic::new(0),
            split: Atomic::new(0),
            slots: Ring::new(capacity),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), copying, mistake }).collect();
        (Owner { shared, copying, mistake, head: 0, split: 0, limit: capacity as i64 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    fn is_full(&mut self) -> bool {
        if self.head < self.limit {
            return false;
        }
        let shared = &*self.shared;
        let load = |word: &M::AtomicI64| word.load(Ordering::Acquire);
        let (tail, copied) = if self.copying == Copying::Locked || self.mistake == Mistake::OnlyTail {
            let tail = load(&shared.tail);
            (tail, tail)
        } else if self.mistake == Mistake::TailReadFirst {
            (load(&shared.tail), load(&shared.copied))
        } else {
            let copied = load(&shared.copied);
            (load(&shared.tail), copied)
        };
        if tail == copied {
            self.limit = tail + shared.slots.len() as i64;
        }
        self.head == self.limit
    }

    /// Takes half of what is shared back; `false` if nothing is.
    fn reacquire(&mut self) -> bool {
        let shared = &*self.shared;
        let locked = self.mistake != Mistake::ReacquireUnlocked;
        if locked {
            lock::<M>(&shared.lock);
        }
        let count = (self.split - shared.tail.load(Ordering::Acquire) + 1) / 2;
        self.split -= count;
        if self.mistake != Mistake::SplitStays {
            shared.split.store(self.split, Ordering::Release);
        }
        if locked {
            unlock::<M>(&shared.lock);
        }
        count > 0
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.is_full() {
            return Err(Full(task));
        }
        self.shared.slots[self.head].store(word(task), Ordering::Relaxed);
        self.head += 1;
        if self.shared.tail.load(Ordering::Acquire) == self.split {
            self.split += (self.head - self.split + 1) / 2;
            self.shared.split.store(self.split, Ordering::Release);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        if self.head == self.split && !self.reacquire() {
            return None;
        }
        self.head -= 1;
        Some(task(self.shared.slots[self.head].load(Ordering::Relaxed)))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        lock::<M>(&shared.lock);
        let tail = shared.tail.load(Ordering::Relaxed);
        if tail >= shared.split.load(Ordering::Acquire) {
            unlock::<M>(&shared.lock);
            return Steal::Empty;
        }
        let copy = || shared.slots[tail].load(Ordering::Relaxed);
        let stolen;
        if self.copying == Copying::Deferred {
            shared.tail.store(tail + 1, Ordering::Release);
            unlock::<M>(&shared.lock);
            stolen = copy();
            shared.copied.fetch_add(1, Ordering::Release);
        } else {
            if self.mistake == Mistake::TailBeforeCopy {
                shared.tail.store(tail + 1, Ordering::Release);
                stolen = copy();
            } else {
                stolen = copy();
                shared.tail.store(tail + 1, Ordering::Release);
            }
            unlock::<M>(&shared.lock);
        }
        Steal::Task(task(stolen))
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = |mistake, copying, bad, client, harm, shows| {
        let params = [(copying, bad), (copying, Mistake::None)];
        mutant::<Dsq>(mistake, params, client, buffer(0), harm, shows)
    };
    vec![
        row(
            "tail-before-copy",
            Copying::Locked,
            Mistake::TailBeforeCopy,
            Client::new(1, 1, "+", &[1]),
            Harm::Lost,
            "a push overwrites a task that is still being copied",
        ),
        row(
            "tail-read-first",
            Copying::Deferred,
            Mistake::TailReadFirst,
            Client::new(3, 2, "++", &[1, 1]),
            Harm::Lost,
            "the copy of a later claim stands in for an earlier one that is still being made",
        ),
        row(
            "only-tail",
            Copying::Deferred,
            Mistake::OnlyTail,
            Client::new(1, 1, "+", &[1]),
            Harm::Lost,
            "a push overwrites a task that is still being copied",
        ),
        row(
            "reacquire-unlocked",
            Copying::Locked,
            Mistake::ReacquireUnlocked,
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief goes by a split that the owner lowers meanwhile",
        ),
        row(
            "split-stays",
            Copying::Locked,
            Mistake::SplitStays,
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief takes what the owner has taken back",
        ),
    ]
}
