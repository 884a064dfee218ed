//! THEP, compact, with mistakes to choose from. See `filch_queue::thep` for the algorithm.
//!
//! A thief that is not sure looks at the echo once, and is refused if it does not find its number there: the explorer tries
//! that look at every moment, so a thief that looked again would see nothing new.
//!
//! What must always hold: without a mistake, and with δ at least half the entries of a store buffer (and of the place beyond it
//! where stores merge), rounded up, it is correct on bounded TSO.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::fence_free::{fence_free, head_first, merged, small_delta};
use super::mutant::{Harm, Mutant, buffer, merging};
use super::twin::{Ring, lock, promises, task, unlock, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it, but for δ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// Pop stores no echo, and so nothing between its store of T and the next one's.
    NoEcho,
    /// A thief that is not sure takes what it sees, without the echo.
    NoWait,
    /// A claim that is given back leaves its number to the next one.
    NumberUsedAgain,
    /// Pop loads H before it stores T.
    HeadFirst,
    /// A push fills the last of the W slots, which a claim that is given back may need.
    NoSpareSlot,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Thep;

struct Shared<M: Memory> {
    /// (s, H).
    s_head: M::AtomicU64,
    tail: M::AtomicI64,
    echo: M::AtomicU64,
    lock: M::AtomicBool,
    slots: Ring<M>,
}

const NO_ECHO: u64 = 999;

fn pack(s: u64, head: i64) -> u64 {
    s << 32 | head as u64
}

fn unpack(word: u64) -> (u64, i64) {
    (word >> 32, i64::from(word as u32))
}

impl<M: Memory> Shared<M> {
    fn head(&self) -> (u64, i64) {
        unpack(self.s_head.load(Ordering::Acquire))
    }
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
    delta: i64,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for Thep {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    /// The mistake, and δ.
    type Params = (Mistake, i64);

    const PROMISES: Promises = promises("thep");

    fn make(capacity: usize, thieves: usize, &(mistake, delta): &(Mistake, i64)) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            s_head: Atomic::new(pack(0, 0)),
            tail: Atomic::new(0),
            echo: Atomic::new(NO_ECHO),
            lock: Atomic::new(false),
            slots: Ring::new(capacity + 1),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake, delta }).collect();
        (Owner { shared, mistake, tail: 0 }, thieves)
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let shared = &*self.shared;
        let spare = i64::from(self.mistake != Mistake::NoSpareSlot);
        if self.tail - shared.head().1 >= shared.slots.len() as i64 - spare {
            return Err(Full(task));
        }
        shared.slots[self.tail].store(word(task), Ordering::Relaxed);
        self.tail += 1;
        shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let (shared, mistake) = (&*self.shared, self.mistake);
        let early = (mistake == Mistake::HeadFirst).then(|| shared.head());
        let t = self.tail - 1;
        shared.tail.store(t, Ordering::Release);
        M::compiler_fence();
        let (s, h) = early.unwrap_or_else(|| shared.head());
        if t < h {
            lock::<M>(&shared.lock);
            shared.echo.store(NO_ECHO, Ordering::Relaxed);
            let is_lost = shared.head().1 > t;
            if is_lost {
                shared.tail.store(t + 1, Ordering::Release);
            }
            unlock::<M>(&shared.lock);
            if is_lost {
                return None;
            }
        } else if mistake != Mistake::NoEcho {
            shared.echo.store(s, Ordering::Release);
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
        let (s, h) = shared.head();
        let claim = s + 1;
        shared.s_head.store(pack(claim, h + 1), Ordering::Release);
        M::fence(Ordering::SeqCst);
        let above = || shared.tail.load(Ordering::Acquire) - h;
        let is_known = || mistake == Mistake::NoWait || shared.echo.load(Ordering::Acquire) == claim;
        let steal = if above() > self.delta || is_known() && above() > 0 {
            Steal::Task(task(shared.slots[h].load(Ordering::Relaxed)))
        } else {
            let number = if mistake == Mistake::NumberUsedAgain { s } else { claim };
            shared.s_head.store(pack(number, h), Ordering::Release);
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
    let row = fence_free::<Thep, _>;
    let machines = [(merging(1), 1), (merging(1), 2), (merging(1), 3), (merging(2), 3), (merging(3), 3)];
    let mut all: Vec<Mutant> = small_delta::<Thep, Mistake>(0).collect();
    all.extend(merged::<Thep, _>("no-echo", Mistake::NoEcho, 0, &machines));
    all.extend(head_first::<Thep, _>(Mistake::HeadFirst, 0));
    let shows = "a thief that is not sure takes a task that the owner has taken";
    let client = Client::new(1, 1, "-", &[1]);
    all.push(row("no-wait", Mistake::NoWait, [1; 2], client, buffer(1), Harm::Twice, shows));
    let shows = "the echo of a claim that was given back is taken for that of the next one";
    let client = Client::new(2, 2, "--", &[2]);
    all.push(row("number-used-again", Mistake::NumberUsedAgain, [1; 2], client, buffer(1), Harm::Twice, shows));
    let shows = "a push goes by a claim that is given back, and overwrites the oldest task";
    let client = Client::new(1, 0, "+++", &[1]);
    all.push(row("no-spare-slot", Mistake::NoSpareSlot, [1; 2], client, buffer(1), Harm::Lost, shows));
    all
}
