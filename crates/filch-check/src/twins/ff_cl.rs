//! FF-CL, compact, with mistakes to choose from. See `filch_queue::ff_cl` for the algorithm.
//!
//! What must always hold: without a mistake, and with δ at least half the entries of a store buffer (and of the place beyond it
//! where stores merge), rounded up, it is correct on bounded TSO. It does not grow.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::fence_free::{fence_free, head_first, merged, small_delta};
use super::mutant::{Harm, Mutant, buffer, merging};
use super::twin::{Ring, promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it, but for δ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// Pop makes no store between its store of T and the next one's.
    NoPad,
    /// A push sees a full array one task too late.
    OverfullByOne,
    /// Pop loads H before it stores T.
    HeadFirst,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct FfCl;

struct Shared<M: Memory> {
    head: M::AtomicI64,
    tail: M::AtomicI64,
    pad: M::AtomicI64,
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
unsafe impl<M: Memory> Queue<M> for FfCl {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    /// The mistake, and δ.
    type Params = (Mistake, i64);

    const PROMISES: Promises = promises("ff-cl");

    fn make(capacity: usize, thieves: usize, &(mistake, delta): &(Mistake, i64)) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            head: Atomic::new(0),
            tail: Atomic::new(0),
            pad: Atomic::new(0),
            slots: Ring::new(capacity),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), delta }).collect();
        (Owner { shared, mistake, tail: 0 }, thieves)
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let shared = &*self.shared;
        let more = i64::from(self.mistake == Mistake::OverfullByOne);
        if self.tail - shared.head.load(Ordering::Acquire) >= shared.slots.len() as i64 + more {
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
            shared.tail.store(h, Ordering::Release);
            self.tail = h;
            return None;
        }
        if t == h {
            shared.tail.store(h + 1, Ordering::Release);
            self.tail = h + 1;
            if shared.head.compare_exchange(h, h + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                return None;
            }
        } else {
            self.tail = t;
        }
        if mistake != Mistake::NoPad {
            shared.pad.store(t, Ordering::Relaxed);
        }
        Some(task(shared.slots[t].load(Ordering::Relaxed)))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let h = shared.head.load(Ordering::Acquire);
        let t = shared.tail.load(Ordering::Acquire);
        if h >= t {
            return Steal::Empty;
        }
        if t - self.delta <= h {
            return Steal::Aborted;
        }
        let stolen = shared.slots[h].load(Ordering::Relaxed);
        match shared.head.compare_exchange(h, h + 1, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task(stolen)),
            Err(_) => Steal::Retry,
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = fence_free::<FfCl, _>;
    let machines = [(merging(1), 1), (merging(1), 2), (merging(2), 2), (merging(3), 2)];
    let mut all: Vec<Mutant> = small_delta::<FfCl, Mistake>(1).collect();
    all.extend(merged::<FfCl, _>("no-pad", Mistake::NoPad, 1, &machines));
    all.extend(head_first::<FfCl, _>(Mistake::HeadFirst, 1));
    let client = Client::new(1, 0, "++", &[]);
    let shows = "a push overwrites the oldest task";
    all.push(row("overfull-by-one", Mistake::OverfullByOne, [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}
