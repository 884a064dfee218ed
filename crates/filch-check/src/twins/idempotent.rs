//! The idempotent pools, compact, with mistakes to choose from. See `filch_queue::idempotent` for the algorithms. Each
//! grows once, from a small array to a large one.
//!
//! What must always hold: without a mistake they are correct on every machine.

use std::marker::PhantomData;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::{Capacity, Delivery, Full, Order, Promises, Queue, Steal, StealOrder, Task};

use super::mutant::{Harm, Mutant, buffer, mistaken};
use super::twin::{promises, task, word};
use crate::scenarios::queues::Client;
use crate::tso::Tso;

/// What can be wrong with one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    #[default]
    None,
    /// A put leaves the tag as it is.
    NoTag,
    /// A put announces the task before it fills the slot.
    AnchorBeforeSlot,
    /// The large array is published before the tasks are copied into it.
    ArrayBeforeCopy,
    /// A put sees a full array one task too late.
    OverfullByOne,
    /// Head is kept modulo the size of the array.
    ReducedHead,
}

/// What is said in the anchor, or in head and tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Index {
    head: u16,
    size: u16,
    tag: u32,
}

impl Index {
    fn pack(self) -> u64 {
        u64::from(self.head) << 48 | u64::from(self.size) << 32 | u64::from(self.tag)
    }

    fn unpack(word: u64) -> Self {
        Self { head: (word >> 48) as u16, size: (word >> 32) as u16, tag: word as u32 }
    }

    fn without_oldest(self) -> Self {
        Self { head: self.head + 1, size: self.size - 1, ..self }
    }

    fn without_newest(self) -> Self {
        Self { size: self.size - 1, ..self }
    }
}

/// Which of the three it is.
pub trait Kind: Send + Sync + 'static {
    /// As the queue's.
    const PROMISES: Promises;
    /// Whether thieves take the newest task.
    const THIEVES_TAKE_NEWEST: bool = false;
    /// Whether the owner takes the oldest task; then head and size are apart, and there is no tag.
    const OWNER_TAKES_OLDEST: bool = false;
}

const fn idempotent(name: &'static str, order: Order, steals: StealOrder) -> Promises {
    Promises { order, steals, delivery: Delivery::AtLeastOnce, capacity: Capacity::Ring, ..promises(name) }
}

/// IDEM-LIFO.
#[derive(Clone, Copy, Debug)]
pub struct Lifo;

impl Kind for Lifo {
    const PROMISES: Promises = idempotent("idem-lifo", Order::Lifo, StealOrder::NewestFirst);
    const THIEVES_TAKE_NEWEST: bool = true;
}

/// IDEM-FIFO.
#[derive(Clone, Copy, Debug)]
pub struct Fifo;

impl Kind for Fifo {
    const PROMISES: Promises = idempotent("idem-fifo", Order::Fifo, StealOrder::OldestFirst);
    const OWNER_TAKES_OLDEST: bool = true;
}

/// IDEM-DE.
#[derive(Clone, Copy, Debug)]
pub struct Deque;

impl Kind for Deque {
    const PROMISES: Promises = idempotent("idem-de", Order::Lifo, StealOrder::OldestFirst);
}

/// The twin's name as a type.
#[derive(Clone, Copy, Debug)]
pub struct Idempotent<K>(PhantomData<fn() -> K>);

struct Shared<M: Memory> {
    /// For LIFO and deque: head, size and tag. For FIFO: head.
    anchor: M::AtomicU64,
    /// For FIFO.
    tail: M::AtomicU64,
    /// Which of the two is in use.
    array: M::AtomicUsize,
    small: Vec<M::AtomicUsize>,
    large: Vec<M::AtomicUsize>,
}

impl<M: Memory> Shared<M> {
    fn slots(&self, array: usize) -> &[M::AtomicUsize] {
        if array == 0 { &self.small } else { &self.large }
    }

    fn slot(&self, array: usize, index: u16) -> &M::AtomicUsize {
        let slots = self.slots(array);
        &slots[usize::from(index) % slots.len()]
    }
}

/// The owner's side.
pub struct Owner<M: Memory, K> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    array: usize,
    /// For FIFO.
    tail: u16,
    kind: PhantomData<fn() -> K>,
}

/// A thief's side.
pub struct Thief<M: Memory, K> {
    shared: Arc<Shared<M>>,
    mistake: Mistake,
    kind: PhantomData<fn() -> K>,
}

// SAFETY: only checkers use it, whose tasks are numbers.
unsafe impl<M: Memory, K: Kind> Queue<M> for Idempotent<K> {
    type Owner = Owner<M, K>;
    type Thief = Thief<M, K>;
    type Params = Mistake;

    const PROMISES: Promises = K::PROMISES;

    fn make(capacity: usize, thieves: usize, &mistake: &Mistake) -> (Owner<M, K>, Vec<Thief<M, K>>) {
        let shared = Arc::new(Shared {
            anchor: Atomic::new(0),
            tail: Atomic::new(0),
            array: Atomic::new(0),
            small: (0..capacity).map(|_| Atomic::new(0)).collect(),
            large: (0..2 * capacity).map(|_| Atomic::new(0)).collect(),
        });
        let kind = PhantomData;
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), mistake, kind }).collect();
        (Owner { shared, mistake, array: 0, tail: 0, kind }, thieves)
    }
}

impl<M: Memory, K: Kind> Owner<M, K> {
    fn index(&self) -> Index {
        let word = self.shared.anchor.load(Ordering::Relaxed);
        if K::OWNER_TAKES_OLDEST {
            Index { head: word as u16, size: self.tail - word as u16, tag: 0 }
        } else {
            Index::unpack(word)
        }
    }

    fn expand(&mut self, index: Index) {
        let shared = &*self.shared;
        if self.mistake == Mistake::ArrayBeforeCopy {
            shared.array.store(1, Ordering::Release);
        }
        for position in index.head..index.head + index.size {
            let copied = shared.slot(0, position).load(Ordering::Relaxed);
            shared.slot(1, position).store(copied, Ordering::Relaxed);
        }
        if self.mistake != Mistake::ArrayBeforeCopy {
            shared.array.store(1, Ordering::Release);
        }
        self.array = 1;
    }

    fn announce(&mut self, index: Index) {
        if K::OWNER_TAKES_OLDEST {
            self.tail += 1;
            self.shared.tail.store(u64::from(self.tail), Ordering::Release);
        } else {
            let tag = index.tag + u32::from(self.mistake != Mistake::NoTag);
            let index = Index { size: index.size + 1, tag, ..index };
            self.shared.anchor.store(index.pack(), Ordering::Release);
        }
    }
}

impl<M: Memory, K: Kind> filch_queue::Owner<Task> for Owner<M, K> {
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let index = self.index();
        let more = usize::from(self.mistake == Mistake::OverfullByOne);
        if usize::from(index.size) >= self.shared.slots(self.array).len() + more {
            if self.array == 1 {
                return Err(Full(task));
            }
            self.expand(index);
        }
        if self.mistake == Mistake::AnchorBeforeSlot {
            self.announce(index);
        }
        self.shared.slot(self.array, index.head + index.size).store(word(task), Ordering::Release);
        if self.mistake != Mistake::AnchorBeforeSlot {
            self.announce(index);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Task> {
        let (shared, index) = (&*self.shared, self.index());
        if index.size == 0 {
            return None;
        }
        let newest = index.without_newest();
        let (position, word) = if K::OWNER_TAKES_OLDEST {
            (index.head, u64::from(index.head + 1))
        } else {
            (newest.head + newest.size, newest.pack())
        };
        let taken = shared.slot(self.array, position).load(Ordering::Relaxed);
        shared.anchor.store(word, Ordering::Release);
        Some(task(taken))
    }

    fn len_hint(&self) -> usize {
        0
    }
}

impl<M: Memory, K: Kind> filch_queue::Thief<Task> for Thief<M, K> {
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        let seen = shared.anchor.load(Ordering::Acquire);
        let index = if K::OWNER_TAKES_OLDEST {
            let tail = shared.tail.load(Ordering::Acquire) as u16;
            Index { head: seen as u16, size: tail.saturating_sub(seen as u16), tag: 0 }
        } else {
            Index::unpack(seen)
        };
        if index.size == 0 {
            return Steal::Empty;
        }
        let array = shared.array.load(Ordering::Acquire);
        let (position, mut rest) = if K::THIEVES_TAKE_NEWEST {
            (index.head + index.size - 1, index.without_newest())
        } else {
            (index.head, index.without_oldest())
        };
        if self.mistake == Mistake::ReducedHead {
            rest.head %= shared.slots(array).len() as u16;
        }
        let new = if K::OWNER_TAKES_OLDEST { u64::from(rest.head) } else { rest.pack() };
        let taken = shared.slot(array, position).load(Ordering::Acquire);
        match shared.anchor.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task(taken)),
            Err(_) => Steal::Retry,
        }
    }

    fn has_work_hint(&self) -> bool {
        true
    }
}

const NO_TAG: &str =
    "a thief sleeps while the slot is emptied and filled again, and takes the old task for the new one";
const ANCHOR_BEFORE_SLOT: &str = "a thief takes a task that is not there yet";
const ARRAY_BEFORE_COPY: &str = "a thief reads the new array before its task has been copied";
const OVERFULL: &str = "a put overwrites the oldest task";
const REDUCED_HEAD: &str = "a thief with the old array wraps head, and the next one looks there in the new array";

fn row<K: Kind>(name: &str, mistake: Mistake, client: Client, harm: Harm, shows: &'static str) -> Mutant
where
    Idempotent<K>: Queue<Tso, Params = Mistake>,
{
    mistaken::<Idempotent<K>>(name, mistake, client, buffer(0), harm, shows)
}

fn mutants_of<K: Kind>() -> Vec<Mutant> {
    let mut all = vec![
        row::<K>(
            "anchor-before-slot",
            Mistake::AnchorBeforeSlot,
            Client::new(1, 0, "+", &[1]),
            Harm::NoTask,
            ANCHOR_BEFORE_SLOT,
        ),
        row::<K>(
            "array-before-copy",
            Mistake::ArrayBeforeCopy,
            Client::new(1, 1, "+", &[1]),
            Harm::NoTask,
            ARRAY_BEFORE_COPY,
        ),
    ];
    if K::OWNER_TAKES_OLDEST {
        let client = Client::new(1, 0, "++", &[]);
        all.push(row::<K>("overfull-by-one", Mistake::OverfullByOne, client, Harm::Lost, OVERFULL));
    } else {
        all.push(row::<K>("no-tag", Mistake::NoTag, Client::new(1, 1, "-+", &[1]), Harm::Lost, NO_TAG));
    }
    all
}

pub(super) fn mutants() -> Vec<Mutant> {
    let mut all = mutants_of::<Lifo>();
    all.extend(mutants_of::<Fifo>());
    all.extend(mutants_of::<Deque>());
    let client = Client::new(2, 2, "++", &[2, 1]);
    all.push(row::<Deque>("reduced-head", Mistake::ReducedHead, client, Harm::NoTask, REDUCED_HEAD));
    all
}
