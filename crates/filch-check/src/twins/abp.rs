//! ABP, compact, with mistakes to choose from. See `filch_queue::abp` for the algorithm.
//!
//! What must always hold: without a mistake it is correct on every machine.

use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Capacity, Full, Promises, Queue, Steal, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{pack, promises, task, unpack, word};
use crate::scenarios::queues::Client;

/// What can be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A reset leaves the tag as it is.
    NoTag,
    /// A reset lowers bot after it has lowered top.
    BotAfterAge,
    /// A push raises bot before it fills the slot.
    BotBeforeSlot,
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Abp;

struct Shared<M: Memory> {
    /// (top, tag).
    age: M::AtomicU64,
    bot: M::AtomicU32,
    deq: Vec<M::AtomicUsize>,
}

/// The owner's side.
pub struct Owner<M: Memory> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    bot: u32,
}

/// A thief's side.
pub struct Thief<M: Memory>(Arc<Shared<M>>);

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory> Queue<M> for Abp {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Mistake;

    const PROMISES: Promises = Promises { capacity: Capacity::Array, ..promises("abp") };

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            age: Atomic::new(0),
            bot: Atomic::new(0),
            deq: (0..capacity).map(|_| Atomic::new(0)).collect(),
        });
        let thieves = (0..thieves).map(|_| Thief(Arc::clone(&shared))).collect();
        (Owner { shared, mistake, bot: 0 }, thieves)
    }
}

impl<M: Memory> filch_queue::Owner<Task> for Owner<M> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let shared = &*self.shared;
        let Some(slot) = shared.deq.get(self.bot as usize) else { return Err(Full(task)) };
        self.bot += 1;
        if self.mistake == Mistake::BotBeforeSlot {
            shared.bot.store(self.bot, Ordering::Release);
        }
        slot.store(word(task), Ordering::Relaxed);
        if self.mistake != Mistake::BotBeforeSlot {
            shared.bot.store(self.bot, Ordering::Release);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let (shared, mistake) = (&*self.shared, self.mistake);
        self.bot = self.bot.checked_sub(1)?;
        let b = self.bot;
        shared.bot.store(b, Ordering::Release);
        M::fence(Ordering::SeqCst);
        let popped = shared.deq[b as usize].load(Ordering::Relaxed);
        let old = shared.age.load(Ordering::Relaxed);
        let (top, tag) = unpack(old);
        if b > top {
            return Some(task(popped));
        }
        let new = pack(0, tag + u32::from(mistake != Mistake::NoTag));
        self.bot = 0;
        if mistake != Mistake::BotAfterAge {
            shared.bot.store(0, Ordering::Relaxed);
        }
        let won = b == top && shared.age.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if !won {
            shared.age.store(new, Ordering::Release);
        }
        if mistake == Mistake::BotAfterAge {
            shared.bot.store(0, Ordering::Relaxed);
        }
        won.then(|| task(popped))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory> filch_queue::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.0;
        let old = shared.age.load(Ordering::Acquire);
        M::fence(Ordering::SeqCst);
        let bot = shared.bot.load(Ordering::Acquire);
        let (top, tag) = unpack(old);
        if bot <= top {
            return Steal::Empty;
        }
        let stolen = shared.deq[top as usize].load(Ordering::Relaxed);
        match shared.age.compare_exchange(old, pack(top + 1, tag), Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task(stolen)),
            Err(_) => Steal::Retry,
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

pub(super) fn mutants() -> Vec<Mutant> {
    let row = mistaken::<Abp>;
    vec![
        row(
            "no-tag",
            Mistake::NoTag,
            Client::new(1, 1, "-+", &[1]),
            buffer(0),
            Harm::Twice,
            "a thief sleeps while the deque is emptied and filled again, and takes the old task at the new top",
        ),
        row(
            "bot-after-age",
            Mistake::BotAfterAge,
            Client::new(2, 2, "-", &[2]),
            buffer(0),
            Harm::Twice,
            "between the two stores of a reset, a thief finds tasks that have all been taken",
        ),
        row(
            "bot-before-slot",
            Mistake::BotBeforeSlot,
            Client::new(1, 0, "+", &[1]),
            buffer(0),
            Harm::NoTask,
            "a thief takes a task that is not there yet",
        ),
    ]
}
