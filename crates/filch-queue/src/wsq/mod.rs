//! WSQ: a queue in which every operation is one compare-and-swap, and each slot is handed over separately.
//!
//! **Paper.** None: the job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>, in the version of the
//! commit 3380d0f, which printed the table and the sizes in its README.
//!
//! **Idea.** The whole state of the indices is one word, so owner and thieves alike reserve with a compare-and-swap:
//! indices to fill, the newest task, or several of the oldest at once. The word does not cover the slots. Each slot is
//! handed over separately: a push waits until its slot is empty, a thief until its slot is full. The owner remembers
//! how many slots are empty from bottom on, so that it seldom has to look, and can fill many after one swap.
//!
//! **Two forms.** [`Wsq`] has the source's costs: its index word is (top, bottom, count, former count), 16 bits each; a
//! push stores to a slot that it knows to be empty, and exchanges others until they are; it looks for more empty slots
//! only when it pushes several tasks, or is about to steal several. A thief exchanges until it has a task, and takes at
//! most 64 tasks at a time. [`WsqPacked`] is ours: the word is (top, count), 32 bits each. A push looks at its slot,
//! waits with loads and then stores. A thief, too, loads before it writes, so that waiting writes nothing; it takes as
//! many tasks as it is asked for.
//!
//! **Fields.** The shared ones each on its own line.
//! * `index`: written by all. The tasks are at [top, top + count), folded into the ring, and top + count is bottom.
//! * `ring`: the slots' address and number, never written. The owner fills the slots; the side that takes a task
//!   empties its slot.
//! * `empty`: the owner's own; always 0 in `WsqPacked`.
//!
//! **Invariants.** An operation *claims* an index when it takes it out of [top, bottom).
//! * I1: each index, that is each push, is claimed once.
//! * I2: only the owner fills a slot, and only when it has seen the slot empty since it last filled it, if it did; so a
//!   slot holds at most one task. In the source's form the owner may look by taking the slot's task, and puts back a
//!   task that it finds.
//! * I3: a slot has as many unsettled claims as it has tasks of claimed indices that nobody has taken yet, in the slot
//!   or about to be. A claimant takes the task that is there. Two thieves that wait at one slot for its tasks of two
//!   laps may swap the tasks, and then the loot of one steal is not in order.
//! * I4: when the owner claims, no thief has a claim on that slot, and the task is there: the slot was empty when the
//!   owner filled it, so all earlier claims had been settled (I3), and the only later claim is the owner's.
//! * I5: `empty` slots from bottom on are empty, and count + `empty` is at most the count at which the queue is full. A
//!   push spends one, whatever it finds; a pop empties the slot before them; a steal only lowers count.
//!
//! **Edges.**
//! * E1: the store of a slot in `fill` (release) → the exchange or compare-and-swap in `take` (acquire): a task's
//!   contents are written before the task is handed over. An exchange that takes a task to look, and the one that puts
//!   it back, continue the release sequence of that store.
//! * The index word publishes nothing.
//!
//! **Memory model.** Rust's.
//!
//! **Progress.** Reserving is lock-free. A push waits for a thief that claimed its slot a lap ago and sleeps; a thief
//! waits for an owner that sleeps between reserving and filling: blocking. Waits are long only if a thread is stopped.
//! **Capacity.** A ring, full when [`Params::spare`] slots are left, but not below the capacity asked for.
//!
//! **Departures.** Of both forms: the slots' orderings, all relaxed in the source, are not, so that the queue is right
//! in Rust's model; the word's are relaxed, where the source's are sequentially consistent. A thief whose swap of the
//! word fails reports that; in the source it reports nothing found. A thread that has exchanged in vain waits with
//! loads until the slot has changed, whereas the source goes on to exchange; otherwise the executions that checkers
//! explore would have no end. The caller decides what to do with the loot. Everything that only `WsqPacked` has is
//! ours. The source has 2¹⁶ slots, 64 of them spare; [`Wsq`] can have fewer. Tests: `queues/battery.rs`,
//! `queues/many.rs`.
//!
//! **Names.** As in the source; its `idx` is `index`, its `push_avail` is `empty`, `multi_push_avail` is `empty_slots`,
//! and `multi_push` is [`push_many`](crate::Owner::push_many).
//!
//! **Scenarios.** `wsq`, `wsq_packed`, and both with no spare slots (`tight_wsq`, `tight_wsq_packed`) in the battery,
//! the property and the many-at-once tests; `wsq` and `wsq-packed` in the checker.

mod form;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;

use filch_memory::{Atomic, Memory, Native, Ordering};

#[doc(hidden)]
pub use self::form::Form;
use self::form::Index;
pub use self::form::{Packed, Source};
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany, StealOrder,
    Stealable, Task,
};

/// The compare-and-swap queue as in the version of its source that printed the table: see the [module](self).
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
pub type Wsq = Of<Source>;

/// The compare-and-swap queue with fewer costs: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::wsq::Params;
/// use filch_queue::{Owner, Queue, Steal, StealMany, Task, WsqPacked};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <WsqPacked as Queue>::make(64, 1, &Params::default());
/// for n in 1..=60 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal_many(usize::MAX, &mut Vec::new()), Steal::Task(31)); // the source would take at most 64
/// ```
pub type WsqPacked = Of<Packed>;

/// The compare-and-swap queue in one of its forms, [`Source`] or [`Packed`].
#[derive(Clone, Copy, Debug)]
pub struct Of<F>(PhantomData<F>);

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
    /// The most slots that a full queue leaves free, so that a push need not wait for thieves that have claimed a task
    /// and not yet taken it: in the source, the number of threads that steal. The free slots come from rounding the
    /// capacity up to a power of two; the ring never grows for them. Without free slots, a push only waits more often.
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

/// The owner's side of a queue.
pub struct Owner<M: Memory = Native, F = Source> {
    shared: Arc<Shared<M>>,
    /// The count at which a push is refused.
    full: u32,
    /// How many slots from bottom on are known to be empty (I5).
    empty: u32,
    form: PhantomData<F>,
}

/// A thief's side of a queue.
pub struct Thief<M: Memory = Native, F = Source> {
    shared: Arc<Shared<M>>,
    form: PhantomData<F>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory, F: Form> Queue<M> for Of<F> {
    type Owner = Owner<M, F>;
    type Thief = Thief<M, F>;
    type Params = Params;

    const PROMISES: Promises = Promises {
        name: F::NAME,
        paper: F::PAPER,
        follows: F::FOLLOWS,
        departures: F::DEPARTURES,
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

    const MAX_CAPACITY: usize = F::MAX_CAPACITY;

    fn make(capacity: usize, thieves: usize, params: &Params) -> (Owner<M, F>, Vec<Thief<M, F>>) {
        assert!(capacity <= F::MAX_CAPACITY, "the capacity is out of range");
        let ring = Ring::new(capacity);
        // The ring may be longer than the word can count.
        let full = ring.capacity().saturating_sub(params.spare).max(capacity).clamp(1, F::MAX_CAPACITY) as u32;
        let shared = Arc::new(Shared { index: Padded(Atomic::new(0)), ring: Padded(ring) });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), form: PhantomData }).collect();
        let empty = if F::REMEMBERS { full } else { 0 };
        (Owner { shared, full, empty, form: PhantomData }, thieves)
    }
}

impl<M: Memory, F: Form> Owner<M, F> {
    /// Moves bottom, unless `may` rejects the count; returns the former index.
    #[inline]
    fn reserve(&self, may: impl Fn(u32) -> bool, to: impl Fn(Index) -> Index) -> Option<Index> {
        let index = &self.shared.index;
        // Relaxed, all: the word publishes nothing. Only the owner raises count, so an old value is too high: a count
        // of 0 is exact, and a push is refused needlessly only while thieves are at work.
        let mut word = index.load(Ordering::Relaxed);
        loop {
            let old = F::unpack(word);
            if !may(old.count) {
                return None;
            }
            let new = F::pack(to(old), old.count);
            match index.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(old),
                Err(found) => word = found,
            }
        }
    }

    /// Moves bottom up by `by`, unless the count is above `most`; returns the former bottom.
    #[inline]
    fn reserve_above(&self, by: u32, most: u32) -> Option<u32> {
        let up = |old: Index| Index { bottom: old.bottom.wrapping_add(by), count: old.count + by, ..old };
        self.reserve(|count| count <= most, up).map(|old| old.bottom)
    }

    /// Fills the slot of a reserved index, which is empty.
    #[inline]
    fn fill(&self, index: u32, task: Task) {
        // E1: pairs with the exchange or compare-and-swap in `take`.
        self.shared.ring.slot(index as usize).store(task.word(), Ordering::Release);
    }

    /// Returns how many slots from bottom on are known to be empty, at most `max`. Looks if it knows of too few.
    #[inline]
    fn empty_slots(&mut self, max: u32) -> u32 {
        if max > self.empty {
            self.look_for_empty();
        }
        max.min(self.empty)
    }

    /// Counts the empty slots from bottom on, up to as many as the queue has room for.
    #[cold]
    fn look_for_empty(&mut self) {
        let Shared { index, ring } = &*self.shared;
        // Relaxed: bottom is this thread's own, and the count may only be too high.
        let Index { bottom, count, .. } = F::unpack(index.load(Ordering::Relaxed));
        // Relaxed: I2 needs only the order of this slot's own modifications.
        let is_empty = |at: &u32| ring.slot(bottom.wrapping_add(*at) as usize).load(Ordering::Relaxed).is_null();
        self.empty = (0..self.full - count).take_while(is_empty).count() as u32;
    }
}

impl<M: Memory, F: Form> crate::Owner<Task> for Owner<M, F> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let Some(bottom) = self.reserve_above(1, self.full - 1) else {
            return Err(Full(task));
        };
        if F::REMEMBERS && self.empty > 0 {
            self.empty -= 1;
        } else {
            F::await_empty::<M>(self.shared.ring.slot(bottom as usize));
        }
        self.fill(bottom, task);
        Ok(())
    }

    /// Reserves with one swap as many slots as it knows to be empty. Otherwise it pushes one task and looks again.
    fn push_many(&mut self, tasks: &[Task]) -> usize {
        let mut left = tasks;
        while let [next, others @ ..] = left {
            let known = if F::REMEMBERS { self.empty_slots(clamped(left.len())) } else { 0 };
            // By I5 there is room.
            if known > 0
                && let Some(bottom) = self.reserve_above(known, self.full - known)
            {
                self.empty -= known;
                let (batch, others) = left.split_at(known as usize);
                (0..).zip(batch).for_each(|(n, &task)| self.fill(bottom.wrapping_add(n), task));
                left = others;
            } else if self.push(*next).is_ok() {
                left = others;
            } else {
                break;
            }
        }
        tasks.len() - left.len()
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let down = |old: Index| Index { bottom: old.bottom.wrapping_sub(1), count: old.count - 1, ..old };
        let Index { bottom, .. } = self.reserve(|count| count > 0, down)?;
        let slot = self.shared.ring.slot(bottom.wrapping_sub(1) as usize);
        // Relaxed: the owner wrote it itself.
        let task = Task::from_word(slot.swap(Task::NO_WORD, Ordering::Relaxed));
        debug_assert!(task.is_some(), "no thief has a claim on the owner's slot: I4");
        task
    }

    fn room_for_loot(&mut self, max: usize) -> usize {
        if F::REMEMBERS { self.empty_slots(clamped(max).min(F::MAX_LOOT - 1)) as usize } else { max }
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        F::unpack(self.shared.index.load(Ordering::Relaxed)).count as usize
    }
}

impl<M: Memory, F: Form> Thief<M, F> {
    /// Claims the `of(n)` oldest of the n tasks, unless n is 0; returns the first index and the number claimed.
    #[inline]
    fn claim(&self, of: impl FnOnce(u32) -> u32) -> Steal<(u32, u32)> {
        let index = &self.shared.index;
        // Relaxed, all: the word publishes nothing.
        let word = index.load(Ordering::Relaxed);
        let old = F::unpack(word);
        if old.count == 0 {
            return Steal::Empty;
        }
        let taken = of(old.count);
        let new = Index { top: old.top.wrapping_add(taken), count: old.count - taken, ..old };
        match index.compare_exchange(word, F::pack(new, old.count), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Steal::Task((old.top, taken)),
            Err(_) => Steal::Retry,
        }
    }

    /// Takes the task at a claimed index, once it is there.
    #[inline]
    fn take_awaited(&self, index: u32) -> Task {
        F::take::<M>(self.shared.ring.slot(index as usize))
    }
}

impl<M: Memory, F: Form> crate::Thief<Task> for Thief<M, F> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.claim(|_| 1).map(|(index, _)| self.take_awaited(index))
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes the load recent enough.
        F::unpack(self.shared.index.load(Ordering::Relaxed)).count != 0
    }
}

impl<M: Memory, F: Form> StealMany<Task> for Thief<M, F> {
    /// Takes more than half of the tasks: n / 2 + 1 of n.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        let max = clamped(max).min(F::MAX_LOOT);
        self.claim(|count| max.min(count / 2 + 1)).map(|(first, count)| {
            loot.extend((0..count).map(|n| self.take_awaited(first.wrapping_add(n))));
            count as usize
        })
    }
}

fn clamped(max: usize) -> u32 {
    u32::try_from(max).unwrap_or(u32::MAX)
}
