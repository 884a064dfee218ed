//! FF-THE, compact, with mistakes to choose from. See `filch_queue::ff_the` for the algorithm.
//!
//! What must always hold: without a mistake, and with δ at least half the entries of a store buffer (and of the place beyond it
//! where stores merge), rounded up, it is correct on bounded TSO.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::fence_free::{client, delta_for, fence_free, head_first, merged, small_delta};
use super::mutant::{Harm, Mutant, buffer, merging};
use super::twin::{Ring, lock, promises, task, unlock, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it, but for δ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// Pop makes no store between its store of T and the next one's.
    NoPad,
    /// A push fills the last of the W slots, which a claim that is given back may need.
    NoSpareSlot,
    /// Pop loads H before it stores T.
    HeadFirst,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct FfThe;

struct Shared<M: Memory> {
    head: M::AtomicI64,
    tail: M::AtomicI64,
    pad: M::AtomicI64,
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
    delta: i64,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for FfThe {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    /// The mistake, and δ.
    type Params = (Mistake, i64);

    const PROMISES: Promises = promises("ff-the");

    fn make(capacity: usize, thieves: usize, &(mistake, delta): &(Mistake, i64)) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            head: Atomic::new(0),
            tail: Atomic::new(0),
            pad: Atomic::new(0),
            lock: Atomic::new(false),
            slots: Ring::new(capacity + 1),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), delta }).collect();
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
        M::compiler_fence();
        let h = early.unwrap_or_else(|| shared.head.load(Ordering::Relaxed));
        if t < h {
            lock::<M>(&shared.lock);
            let is_lost = shared.head.load(Ordering::Relaxed) > t;
            if is_lost {
                shared.tail.store(t + 1, Ordering::Release);
            }
            unlock::<M>(&shared.lock);
            if is_lost {
                return None;
            }
        } else if mistake != Mistake::NoPad {
            shared.pad.store(t, Ordering::Relaxed);
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
        let shared = &*self.shared;
        lock::<M>(&shared.lock);
        let h = shared.head.load(Ordering::Relaxed);
        shared.head.store(h + 1, Ordering::Release);
        M::fence(Ordering::SeqCst);
        let steal = if shared.tail.load(Ordering::Acquire) - self.delta > h {
            Steal::Task(task(shared.slots[h].load(Ordering::Relaxed)))
        } else {
            shared.head.store(h, Ordering::Release);
            Steal::Aborted
        };
        unlock::<M>(&shared.lock);
        steal
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = fence_free::<FfThe, _>;
    let machines = [(merging(1), 1), (merging(1), 2), (merging(1), 3), (merging(2), 3), (merging(3), 3)];
    let mut all: Vec<Mutant> = small_delta::<FfThe, Mistake>(0).collect();
    all.extend(merged::<FfThe, _>("no-pad", Mistake::NoPad, 0, &machines));
    let shows = "every entry of the store buffer can hold a store of T, and not every second one";
    for (processor, delta) in [(buffer(2), 1), (buffer(4), 3)] {
        let (client, deltas) = (client(delta as usize + 1, 0), [delta, delta_for(processor)]);
        all.push(row("no-pad", Mistake::NoPad, deltas, client, processor, Harm::Twice, shows));
    }
    all.extend(head_first::<FfThe, _>(Mistake::HeadFirst, 0));
    let shows = "a push goes by a claim that is given back, and overwrites the oldest task";
    let client = Client::new(1, 0, "+++", &[1]);
    all.push(row("no-spare-slot", Mistake::NoSpareSlot, [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}
