//! Chase–Lev, compact, with mistakes to choose from. See `filch_queue::chase_lev` for the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine. It grows once, from a small array to a large one.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{promises, task, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// Pop takes the last task without swapping top.
    NoSwapForLast,
    /// A push sees a full array one task too late.
    OverfullByOne,
    /// Pop loads top before it stores bottom.
    TopFirst,
    /// A thief loads bottom before top.
    BottomFirst,
    /// The large array is published before the tasks are copied into it.
    PublishedBeforeCopy,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct ChaseLev;

struct Shared<M: Memory> {
    top: M::AtomicI64,
    bottom: M::AtomicI64,
    /// Which of the two is in use.
    array: M::AtomicUsize,
    small: Vec<M::AtomicUsize>,
    large: Vec<M::AtomicUsize>,
}

impl<M: Memory> Shared<M> {
    fn slot(&self, array: usize, index: i64) -> &M::AtomicUsize {
        let slots = if array == 0 { &self.small } else { &self.large };
        &slots[index as usize % slots.len()]
    }
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    bottom: i64,
    array: usize,
}

/// A thief's side.
pub struct Thief<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for ChaseLev {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = promises("chase-lev");

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            top: Atomic::new(0),
            bottom: Atomic::new(0),
            array: Atomic::new(0),
            small: (0..capacity).map(|_| Atomic::new(0)).collect(),
            large: (0..2 * capacity).map(|_| Atomic::new(0)).collect(),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake }).collect();
        (Owner { shared, mistake, bottom: 0, array: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    fn grow(&mut self, top: i64) {
        let shared = &*self.shared;
        if self.mistake == Mistake::PublishedBeforeCopy {
            shared.array.store(1, Ordering::Release);
        }
        for index in top..self.bottom {
            let copied = shared.slot(0, index).load(Ordering::Relaxed);
            shared.slot(1, index).store(copied, Ordering::Relaxed);
        }
        if self.mistake != Mistake::PublishedBeforeCopy {
            shared.array.store(1, Ordering::Release);
        }
        self.array = 1;
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let top = self.shared.top.load(Ordering::Acquire);
        let more = i64::from(self.mistake == Mistake::OverfullByOne);
        let holds = |slots: &Vec<_>| slots.len() as i64 + more;
        if self.array == 0 && self.bottom - top >= holds(&self.shared.small) {
            self.grow(top);
        }
        if self.array == 1 && self.bottom - top >= holds(&self.shared.large) {
            return Err(Full(task));
        }
        self.shared.slot(self.array, self.bottom).store(word(task), Ordering::Relaxed);
        self.bottom += 1;
        self.shared.bottom.store(self.bottom, Ordering::Release);
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let (shared, mistake) = (&*self.shared, self.mistake);
        let early = (mistake == Mistake::TopFirst).then(|| shared.top.load(Ordering::Relaxed));
        let b = self.bottom - 1;
        shared.bottom.store(b, Ordering::Release);
        M::fence(Ordering::SeqCst);
        let t = early.unwrap_or_else(|| shared.top.load(Ordering::Relaxed));
        if t > b {
            shared.bottom.store(b + 1, Ordering::Relaxed);
            return None;
        }
        let popped = shared.slot(self.array, b).load(Ordering::Relaxed);
        if t == b && mistake != Mistake::NoSwapForLast {
            let won = shared.top.compare_exchange(t, t + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
            shared.bottom.store(b + 1, Ordering::Relaxed);
            return won.then(|| task(popped));
        }
        self.bottom = b;
        Some(task(popped))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let early = (self.mistake == Mistake::BottomFirst).then(|| shared.bottom.load(Ordering::Acquire));
        let t = shared.top.load(Ordering::Acquire);
        M::fence(Ordering::SeqCst);
        let b = early.unwrap_or_else(|| shared.bottom.load(Ordering::Acquire));
        if t >= b {
            return Steal::Empty;
        }
        let array = shared.array.load(Ordering::Acquire);
        let stolen = shared.slot(array, t).load(Ordering::Relaxed);
        match shared.top.compare_exchange(t, t + 1, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task(stolen)),
            Err(_) => Steal::Retry,
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = mistaken::<ChaseLev>;
    vec![
        row(
            "no-swap-for-last",
            Mistake::NoSwapForLast,
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::Twice,
            "a thief that has seen the last task swaps top after the owner has taken it",
        ),
        row(
            "overfull-by-one",
            Mistake::OverfullByOne,
            Client::new(1, 0, "++", &[]),
            buffer(0),
            Harm::Lost,
            "a push overwrites the oldest task",
        ),
        row(
            "top-first",
            Mistake::TopFirst,
            Client::new(2, 2, "-", &[2]),
            buffer(0),
            Harm::Twice,
            "pop goes by a top that thieves have left behind, and takes the last task without a swap",
        ),
        row(
            "bottom-first",
            Mistake::BottomFirst,
            Client::new(2, 2, "--", &[1]),
            buffer(0),
            Harm::Twice,
            "a thief goes by a bottom that the owner has left behind",
        ),
        row(
            "published-before-copy",
            Mistake::PublishedBeforeCopy,
            Client::new(1, 1, "+", &[1]),
            buffer(0),
            Harm::NoTask,
            "a thief reads the new array before its task has been copied",
        ),
    ]
}
