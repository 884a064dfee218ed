//! WSQ: a queue in which every operation is one compare-and-swap, and each slot is handed over separately.
//!
//! **Paper.** None: the job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>.
//!
//! **Idea.** The whole state of the indices is one word, so owner and thieves alike reserve with a compare-and-swap: an
//! index to fill, the newest task, or several of the oldest at once. The word does not cover the slots. Each slot is
//! handed over separately: a push waits until its slot is empty, a thief until its slot is full.
//!
//! **Fields.** Each on its own line.
//! * `index`: (top: low 32 bits, count: high 32 bits), written by all. The tasks are at [top, top + count), folded into
//!   the ring, and top + count is bottom.
//! * `ring`: the slots' address and number, never written. The owner fills the slots; the side that takes a task
//!   empties its slot.
//!
//! **Invariants.** An operation *claims* an index when it takes it out of [top, bottom).
//! * I1: each index, that is each push, is claimed once.
//! * I2: only the owner fills a slot, and only when it has seen it empty; so a slot holds one task or none.
//! * I3: there are as many unsettled claims on one slot as untaken tasks that have been put into it, or are about to
//!   be. A claimant takes what is there: if two thieves wait at one slot, for its tasks of two laps, they may swap
//!   them, and then the loot of one steal is not in order.
//! * I4: when the owner claims, no thief has a claim on that slot, and the task is there: the slot was empty when the
//!   owner filled it, so all earlier claims had been settled (I3), and the only later one is the owner's.
//!
//! **Edges.**
//! * E1: the store of a slot in `push` (release) → the compare-and-swap in `take_awaited` (acquire): a task's contents
//!   are written before the task is handed over.
//! * The index word publishes nothing.
//!
//! **Memory model.** Rust's.
//!
//! **Progress.** Reserving is lock-free. A push waits for a thief that has claimed its slot a lap ago and sleeps; a
//! thief waits for an owner that sleeps between reserving and filling: blocking. Waits are long only if a thread is
//! stopped. **Capacity.** A ring, full when [`Params::spare`] slots are left, but not below the capacity asked for.
//!
//! **Departures.** The source's word has 16 bits each for top, bottom, count and a trace of the last operation. Here
//! bottom is computed and the trace left out, so that top and count have 32 bits. A push waits with loads and then
//! stores, where the source swaps until it finds the slot empty: only the owner fills. A thief, too, loads before it
//! swaps, so that waiting writes nothing. All orderings of the word are relaxed. A thief whose swap of the word fails
//! reports that and does not try again. The caller decides what to do with loot. Tests: `queues/battery.rs`,
//! `queues/many.rs`.
//!
//! **Names.** As in the source; its `idx` is `index`.
//!
//! **Scenarios.** `wsq` and `tight_wsq` in the battery, the property and the many-at-once tests; `wsq` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::slots::Ring;
use crate::spin_lock::Waiting;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany, StealOrder,
    Stealable, Task,
};

/// The compare-and-swap queue: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::wsq::Params;
/// use filch_queue::{Owner, Queue, Steal, StealMany, Task, Thief, Wsq};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <Wsq as Queue>::make(8, 1, &Params::default());
/// for n in 1..=6 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(3)); // 5 / 2 + 1
/// assert_eq!(loot, [task(2), task(3), task(4)]);
/// assert_eq!(owner.pop(), Some(task(6)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wsq;

/// The tuning parameters.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::wsq::Params;
/// use filch_queue::{Owner, Queue, Task, Wsq};
///
/// let room = |capacity, spare| {
///     let (mut owner, _) = <Wsq as Queue>::make(capacity, 0, &Params { spare });
///     (0..).take_while(|_| owner.push(Task::from_id(NonZeroUsize::MIN)).is_ok()).count()
/// };
/// assert_eq!(room(1000, 0), 1024); // all slots of the ring
/// assert_eq!(room(1000, 10), 1014); // all but ten
/// assert_eq!(room(1000, 64), 1000); // all but those beyond the capacity
/// assert_eq!(room(1024, 64), 1024);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// The most slots that a full queue leaves free, so that a push need not wait for thieves that have claimed and not
    /// yet taken: in the source, the number of threads that steal. They come from rounding the capacity up to a power
    /// of two; the ring never grows for them. With none, a push only waits more often.
    pub spare: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self { spare: 64 }
    }
}

struct Shared<M: Memory> {
    index: Padded<M::AtomicU64>,
    ring: Padded<Ring<M>>,
}

/// The owner's side of a [`Wsq`] queue.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    /// The count at which a push is refused.
    full: u32,
}

/// A thief's side of a [`Wsq`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

/// Indices are 32-bit numbers, and those in use must differ.
const MAX_SLOTS: usize = 1 << 31;

const fn pack(top: u32, count: u32) -> u64 {
    top as u64 | (count as u64) << 32
}

const fn unpack(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for Wsq {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = Promises {
        name: "wsq",
        paper: "none: the job system injinj/WSQ",
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: false,
        steal_progress: Progress::Blocking,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, params: &Params) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= MAX_SLOTS, "the capacity is out of range");
        let ring = Ring::new(capacity);
        let full = ring.capacity().saturating_sub(params.spare).max(capacity).max(1) as u32;
        let shared = Arc::new(Shared { index: Padded(Atomic::new(pack(0, 0))), ring: Padded(ring) });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, full }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    /// Moves bottom, unless `may` rejects the count; returns the former top and count.
    #[inline]
    fn reserve(&self, may: impl Fn(u32) -> bool, to: impl Fn(u32) -> u32) -> Option<(u32, u32)> {
        let index = &self.shared.index;
        // Relaxed, all: the word publishes nothing. Only the owner raises count, so an old one is too high: a count of
        // 0 is exact, and a push is refused needlessly only while thieves are at work.
        let mut word = index.load(Ordering::Relaxed);
        loop {
            let (top, count) = unpack(word);
            if !may(count) {
                return None;
            }
            let new = pack(top, to(count));
            match index.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((top, count)),
                Err(found) => word = found,
            }
        }
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let Some((top, count)) = self.reserve(|count| count < self.full, |count| count + 1) else {
            return Err(Full(task));
        };
        let slot = self.shared.ring.slot(top.wrapping_add(count) as usize);
        let mut waiting = Waiting::default();
        // Relaxed: I2 needs only the order of this slot's own modifications.
        while !slot.load(Ordering::Relaxed).is_null() {
            waiting.pause::<M>();
        }
        // E1: pairs with the compare-and-swap in `take_awaited`.
        slot.store(task.word(), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let (top, count) = self.reserve(|count| count > 0, |count| count - 1)?;
        let slot = self.shared.ring.slot(top.wrapping_add(count - 1) as usize);
        // Relaxed: the owner wrote it itself.
        let task = Task::from_word(slot.swap(Task::NO_WORD, Ordering::Relaxed));
        debug_assert!(task.is_some(), "no thief has a claim on the owner's slot: I4");
        task
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        unpack(self.shared.index.load(Ordering::Relaxed)).1 as usize
    }
}

impl<M: Memory> Thief<M> {
    /// Claims the oldest tasks, as many as `of` returns for their number, which is not 0; returns the first and how
    /// many.
    #[inline]
    fn claim(&self, of: impl FnOnce(u32) -> u32) -> Steal<(u32, u32)> {
        let index = &self.shared.index;
        // Relaxed, all: the word publishes nothing.
        let word = index.load(Ordering::Relaxed);
        let (top, count) = unpack(word);
        if count == 0 {
            return Steal::Empty;
        }
        let taken = of(count);
        let new = pack(top.wrapping_add(taken), count - taken);
        match index.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Steal::Task((top, taken)),
            Err(_) => Steal::Retry,
        }
    }

    /// Takes the task at a claimed index, once it is there.
    #[inline]
    fn take_awaited(&self, index: u32) -> Task {
        let slot = self.shared.ring.slot(index as usize);
        let mut waiting = Waiting::default();
        loop {
            // Relaxed: the swap decides, and acquires.
            let word = slot.load(Ordering::Relaxed);
            if !word.is_null()
                // E1: pairs with the store in `push`. Relaxed on failure: nothing is used. The loaded word may dangle.
                && let Ok(word) = slot.compare_exchange(word, Task::NO_WORD, Ordering::Acquire, Ordering::Relaxed)
            {
                return Task::from_word(word).expect("not null");
            }
            waiting.pause::<M>();
        }
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.claim(|_| 1).map(|(index, _)| self.take_awaited(index))
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes the load recent enough.
        unpack(self.shared.index.load(Ordering::Relaxed)).1 != 0
    }
}

impl<M: Memory> StealMany<Task> for Thief<M> {
    /// Takes more than half of the tasks: n / 2 + 1 of n.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        self.claim(|count| max.min(count / 2 + 1)).map(|(first, count)| {
            loot.extend((0..count).map(|n| self.take_awaited(first.wrapping_add(n))));
            count as usize
        })
    }
}
