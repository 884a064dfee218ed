//! WSQ: a queue in which every operation is one compare-and-swap, and each slot is handed over separately.
//!
//! **Paper.** None: the job system of the project injinj/WSQ, <https://github.com/injinj/WSQ>.
//!
//! **Idea.** The whole state of the indices is one word, so owner and thieves alike reserve with a compare-and-swap: an
//! index to fill, the newest task, or several of the oldest at once. The word does not cover the slots. Each slot is
//! handed over separately: a push waits until its slot is empty, a thief until its slot is full.
//!
//! **Two forms.** [`Wsq`] has the source's costs: its index word is (top, bottom, count, former count), 16 bits each; a
//! push exchanges to see that its slot is empty, and exchanges the task in; a thief exchanges until it has a task, and
//! takes at most 16 tasks at a time. [`WsqPacked`] is ours, and cheaper: the word is (top, count), 32 bits each. Only
//! the owner fills slots, so a push waits with loads and then stores. A thief, too, loads before it writes, so that
//! waiting writes nothing; it takes as many tasks as it is asked for.
//!
//! **Fields.** Each on its own line.
//! * `index`: written by all. The tasks are at [top, top + count), folded into the ring, and top + count is bottom.
//! * `ring`: the slots' address and number, never written. The owner fills the slots; the side that takes a task
//!   empties its slot.
//!
//! **Invariants.** An operation *claims* an index when it takes it out of [top, bottom).
//! * I1: each index, that is each push, is claimed once.
//! * I2: only the owner fills a slot, and only when it has seen the slot empty; so a slot holds at most one task. In
//!   the source's form the owner looks by taking the slot's task, and puts back a task that it finds.
//! * I3: a slot has as many unsettled claims as it has tasks of claimed indices that nobody has taken yet, in the slot
//!   or about to be. A claimant takes the task that is there. Two thieves that wait at one slot for its tasks of two
//!   laps may swap the tasks, and then the loot of one steal is not in order.
//! * I4: when the owner claims, no thief has a claim on that slot, and the task is there: the slot was empty when the
//!   owner filled it, so all earlier claims had been settled (I3), and the only later claim is the owner's.
//!
//! **Edges.**
//! * E1: the exchange or store of a slot in `put` (release) → the exchange or compare-and-swap in `take` (acquire): a
//!   task's contents are written before the task is handed over. An exchange that puts a task back continues the
//!   release sequence of the exchange that put it there first.
//! * The index word publishes nothing.
//!
//! **Memory model.** Rust's.
//!
//! **Progress.** Reserving is lock-free. A push waits for a thief that claimed its slot a lap ago and sleeps; a thief
//! waits for an owner that sleeps between reserving and filling: blocking. Waits are long only if a thread is stopped.
//! **Capacity.** A ring, full when [`Params::spare`] slots are left, but not below the capacity asked for.
//!
//! **Departures.** Of both forms: the word's orderings are relaxed, as are all orderings in the source, but the slots'
//! orderings are not, so that the queue is right in Rust's model. A thief whose swap of the word fails reports that; in
//! the source it reports nothing found. A thread that has exchanged in vain waits with loads until the slot has
//! changed, whereas the source goes on to exchange; otherwise the executions that checkers explore would have no end.
//! The caller decides what to do with the loot. Everything that only `WsqPacked` has is ours. The source has 2¹⁶ slots,
//! 64 of them spare; [`Wsq`] can have fewer. Tests: `queues/battery.rs`, `queues/many.rs`.
//!
//! **Names.** As in the source; its `idx` is `index`.
//!
//! **Scenarios.** `wsq`, `wsq_packed`, and both with no spare slots (`tight_wsq`, `tight_wsq_packed`) in the battery,
//! the property and the many-at-once tests; `wsq` and `wsq-packed` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::slots::Ring;
use crate::spin_lock::Waiting;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany, StealOrder,
    Stealable, Task,
};

/// The compare-and-swap queue as in its source: see the [module](self).
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
/// assert_eq!(thieves[0].steal_many(usize::MAX, &mut Vec::new()), Steal::Task(31)); // the source would take 16
/// ```
pub type WsqPacked = Of<Packed>;

/// The compare-and-swap queue in one of its forms, [`Source`] or [`Packed`].
#[derive(Clone, Copy, Debug)]
pub struct Of<F>(PhantomData<F>);

/// The contents of the word.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Index {
    top: u32,
    bottom: u32,
    count: u32,
}

/// The differences between the forms. Sealed: the forms are [`Source`] and [`Packed`].
#[doc(hidden)]
pub trait Form: Copy + Send + Sync + Sized + 'static {
    const NAME: &'static str;
    const PAPER: &'static str;
    const FOLLOWS: &'static str;
    const DEPARTURES: &'static [&'static str];
    /// The most tasks that a queue may count.
    const MAX_CAPACITY: usize;
    /// The most tasks that a thief takes at once.
    const MAX_LOOT: u32;

    /// `former` is the previous count.
    fn pack(index: Index, former: u32) -> u64;

    fn unpack(word: u64) -> Index;

    /// Fills a slot that the owner has reserved, once it is empty.
    fn put<M: Memory>(slot: &M::AtomicPtr<()>, task: Task);

    /// Empties a slot that a thief has claimed, once it is full.
    fn take<M: Memory>(slot: &M::AtomicPtr<()>) -> Task;
}

/// The form of the source.
#[derive(Clone, Copy, Debug)]
pub struct Source;

impl Form for Source {
    const NAME: &'static str = "wsq";
    const PAPER: &'static str = "none: the job system injinj/WSQ";
    const FOLLOWS: &'static str = "its program";
    const DEPARTURES: &'static [&'static str] = &[
        "Slots are released and acquired; all orderings of the source are relaxed.",
        "A thief whose swap of the word fails has lost a race; the source reports nothing found.",
        "A thread that has exchanged in vain waits with loads until the slot changes; the source goes on to exchange.",
        "The newest of several stolen jobs is run first; with first=oldest the first one stolen, as in the source.",
    ];
    const MAX_CAPACITY: usize = (1 << 16) - 64;
    const MAX_LOOT: u32 = 16;

    #[inline(always)]
    fn pack(Index { top, bottom, count }: Index, former: u32) -> u64 {
        let fields = [top, bottom, count, former].map(|field| u64::from(field as u16));
        fields[0] << 48 | fields[1] << 32 | fields[2] << 16 | fields[3]
    }

    #[inline(always)]
    fn unpack(word: u64) -> Index {
        let field = |shift: u32| u32::from((word >> shift) as u16);
        Index { top: field(48), bottom: field(32), count: field(16) }
    }

    #[inline(always)]
    fn put<M: Memory>(slot: &M::AtomicPtr<()>, task: Task) {
        let mut waiting = Waiting::default();
        loop {
            // Relaxed, all: if a thief is late, the owner itself wrote the task that is there, and by E1 the task stays
            // published.
            let late = slot.swap(Task::NO_WORD, Ordering::Relaxed);
            if late.is_null() {
                break;
            }
            slot.swap(late, Ordering::Relaxed);
            while slot.load(Ordering::Relaxed) == late {
                waiting.pause::<M>();
            }
        }
        // E1: pairs with the exchange in `take`.
        slot.swap(task.word(), Ordering::Release);
    }

    #[inline(always)]
    fn take<M: Memory>(slot: &M::AtomicPtr<()>) -> Task {
        let mut waiting = Waiting::default();
        loop {
            // E1: pairs with the exchange in `put`.
            if let Some(task) = Task::from_word(slot.swap(Task::NO_WORD, Ordering::Acquire)) {
                return task;
            }
            // Relaxed: the exchange decides.
            while slot.load(Ordering::Relaxed).is_null() {
                waiting.pause::<M>();
            }
        }
    }
}

/// The cheaper form.
#[derive(Clone, Copy, Debug)]
pub struct Packed;

impl Form for Packed {
    const NAME: &'static str = "wsq-packed";
    const PAPER: &'static str = Source::PAPER;
    const FOLLOWS: &'static str = Source::FOLLOWS;
    const DEPARTURES: &'static [&'static str] = &[
        "Those of wsq.",
        "The word has two fields instead of four.",
        "A push waits with loads for an empty slot, and stores; a thief exchanges only when it has seen a task.",
        "A thief may take any number of tasks; in the source 16.",
    ];
    /// Indices are 32-bit numbers, and the indices in use must differ.
    const MAX_CAPACITY: usize = 1 << 31;
    const MAX_LOOT: u32 = u32::MAX;

    #[inline(always)]
    fn pack(Index { top, count, .. }: Index, _: u32) -> u64 {
        u64::from(top) | u64::from(count) << 32
    }

    #[inline(always)]
    fn unpack(word: u64) -> Index {
        let (top, count) = (word as u32, (word >> 32) as u32);
        Index { top, bottom: top.wrapping_add(count), count }
    }

    #[inline(always)]
    fn put<M: Memory>(slot: &M::AtomicPtr<()>, task: Task) {
        let mut waiting = Waiting::default();
        // Relaxed: I2 needs only the order of this slot's own modifications.
        while !slot.load(Ordering::Relaxed).is_null() {
            waiting.pause::<M>();
        }
        // E1: pairs with the compare-and-swap in `take`.
        slot.store(task.word(), Ordering::Release);
    }

    #[inline(always)]
    fn take<M: Memory>(slot: &M::AtomicPtr<()>) -> Task {
        let mut waiting = Waiting::default();
        loop {
            // Relaxed: the swap decides, and acquires.
            let word = slot.load(Ordering::Relaxed);
            if !word.is_null()
                // E1: pairs with the store in `put`. Relaxed on failure: nothing is used. The loaded word may dangle.
                && let Ok(word) = slot.compare_exchange(word, Task::NO_WORD, Ordering::Acquire, Ordering::Relaxed)
            {
                return Task::from_word(word).expect("not null");
            }
            waiting.pause::<M>();
        }
    }
}

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
        (Owner { shared, full, form: PhantomData }, thieves)
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
}

impl<M: Memory, F: Form> crate::Owner<Task> for Owner<M, F> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let up = |old: Index| Index { bottom: old.bottom.wrapping_add(1), count: old.count + 1, ..old };
        let Some(Index { bottom, .. }) = self.reserve(|count| count < self.full, up) else {
            return Err(Full(task));
        };
        F::put::<M>(self.shared.ring.slot(bottom as usize), task);
        Ok(())
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
        let max = u32::try_from(max).unwrap_or(u32::MAX).min(F::MAX_LOOT);
        self.claim(|count| max.min(count / 2 + 1)).map(|(first, count)| {
            loot.extend((0..count).map(|n| self.take_awaited(first.wrapping_add(n))));
            count as usize
        })
    }
}
