//! IDEM-LIFO: an idempotent stack.
//!
//! **Paper.** Michael, Vechev and Saraswat, *Idempotent Work Stealing*, PPoPP 2009,
//! <https://doi.org/10.1145/1504176.1504186>, figure 1.
//!
//! **Idea.** The indices [0, tail) of an array hold the tasks; owner and thieves all take the newest. The anchor, one
//! word, holds tail and a tag. The owner stores it, thieves swap it. The tag changes with every put, so that no swap
//! succeeds after its slot has been filled again. See [`idempotent`](super) for what the owner's stores undo.
//!
//! **Fields.** Each on its own line.
//! * `anchor`: (tail, tag). Stored by the owner, swapped by thieves.
//! * `tasks`: the current array and the former ones: see `growing.rs`.
//! * private to the owner: `array` and `tag` (copies of values that only the owner changes).
//!
//! **Invariants.**
//! * I1: a slot below the owner's tail is filled, and changes only in a put, which also changes the tag.
//! * I2: a compare-and-swap that succeeds has read the task that the last put at its tail left there, unless 2³² puts
//!   happened meanwhile.
//! * I3: a task leaves [0, tail) only when it is taken. A store of the owner may bring it back.
//!
//! **Edges.**
//! * E1: the stores of `anchor` in `push` and `pop` (release) → its load in `steal` (acquire): slots, task contents and
//!   array are written before the anchor. The store that lowers tail releases too: a relaxed store would not continue
//!   the release of an earlier put.
//! * E2: the store of a slot in `push` (release) → its load in `steal` (acquire). Nothing else orders this store after
//!   the earlier take's store of the anchor. A thief that holds the anchor from before that take and finds the new task
//!   in the slot also sees, by E2, the later anchor, and its compare-and-swap fails.
//! * G of `growing.rs`: a thief that finds a new array finds the tasks in it.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** Owner wait-free (except for growing, which allocates),
//! steal lock-free. **Capacity.** Grows, to 2³¹ tasks; beyond that a push is refused.
//!
//! **Departures.** The array never shrinks and is kept until the end. Tests: `queues/battery.rs` (growth), and the
//! checker's known mistake `idem-lifo-no-tag`.
//!
//! **Names.** `anchor`, `tail`, `tag`, `tasks` as in the paper; put and take are `push` and `pop`.
//!
//! **Scenarios.** `idem_lifo` in the battery, the property and the stalled-thief tests; `idem-lifo` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::growing::GrowingRing;
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The idempotent stack: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{IdempotentLifo, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <IdempotentLifo as Queue>::make(2, 1, &());
/// (1..=3).for_each(|n| owner.push(task(n)).unwrap());
/// assert_eq!(thieves[0].steal(), Steal::Task(task(3)));
/// assert_eq!(owner.pop(), Some(task(2)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IdempotentLifo;

struct Shared<M: Memory> {
    anchor: Padded<M::AtomicU64>,
    tasks: GrowingRing<M>,
}

fn pack(tail: u32, tag: u32) -> u64 {
    u64::from(tail) << 32 | u64::from(tag)
}

fn unpack(anchor: u64) -> (u32, u32) {
    ((anchor >> 32) as u32, anchor as u32)
}

/// The owner's side of an [`IdempotentLifo`] pool.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    /// The newest array of `shared.tasks`, hence valid as long as `shared`.
    array: NonNull<Ring<M>>,
    tag: u32,
}

// SAFETY: `array` points into `shared`, which is Send and Sync, and an array consists of atomics.
unsafe impl<M: Memory> Send for Owner<M> {}
// SAFETY: a shared owner only reads; every method that writes takes `&mut self`.
unsafe impl<M: Memory> Sync for Owner<M> {}

/// A thief's side of an [`IdempotentLifo`] pool.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

/// A power of two; tail reaches it.
const MAX_CAPACITY: usize = 1 << 31;

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for IdempotentLifo {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "idem-lifo",
        paper: "Michael, Vechev and Saraswat, Idempotent Work Stealing, PPoPP 2009",
        follows: "figure 1",
        departures: &["The array never shrinks and is kept until the end."],
        order: Order::Lifo,
        steals: StealOrder::NewestFirst,
        delivery: Delivery::AtLeastOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= MAX_CAPACITY, "the capacity is out of range");
        let (tasks, array) = GrowingRing::new(capacity);
        let shared = Arc::new(Shared { anchor: Padded(Atomic::new(pack(0, 0))), tasks });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, array, tag: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn array(&self) -> &Ring<M> {
        // SAFETY: valid as long as `shared`, and never borrowed mutably.
        unsafe { self.array.as_ref() }
    }

    #[inline]
    fn tail(&self) -> u32 {
        // Relaxed: an old tail brings back taken tasks, and even a recent one may be old when it is used.
        unpack(self.shared.anchor.load(Ordering::Relaxed)).0
    }

    #[cold]
    fn expand(&mut self, tail: u32) -> bool {
        let may = (tail as usize) < MAX_CAPACITY;
        if may {
            // SAFETY: there is one owner, and `&mut self` makes this its only call.
            self.array = unsafe { self.shared.tasks.grow(self.array(), 0..i64::from(tail)) };
        }
        may
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let tail = self.tail();
        if tail as usize == self.array().capacity() && !self.expand(tail) {
            return Err(Full(task));
        }
        // E2: pairs with the load in `steal`.
        // kept over Relaxed: in C11 a thief may see a slot filled before it sees the owner's earlier take, and its swap
        // may succeed on the anchor from before that take; loom's updates see the newest value.
        self.array().publish(tail as usize, task);
        self.tag = self.tag.wrapping_add(1);
        // E1: pairs with the load in `steal`.
        self.shared.anchor.store(pack(tail + 1, self.tag), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let tail = self.tail().checked_sub(1)?;
        let task = self.array().read(tail as usize);
        // E1: pairs with the load in `steal`.
        // kept over Relaxed: a relaxed store would end the release of the earlier puts; loom raises false alarms on the
        // clients that would show it.
        self.shared.anchor.store(pack(tail, self.tag), Ordering::Release);
        task
    }

    fn len_hint(&self) -> usize {
        self.tail() as usize
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // E1: pairs with the stores in `push` and `pop`.
        let anchor = shared.anchor.load(Ordering::Acquire);
        let (tail, tag) = unpack(anchor);
        let Some(tail) = tail.checked_sub(1) else { return Steal::Empty };
        // E2: pairs with the store in `push`. Discarded unless the swap succeeds.
        // kept over Relaxed: as for the store in `push`.
        let task = shared.tasks.current().read_published(tail as usize);
        // Relaxed: the task taken was acquired before, and no thread waits for this thief's read; by E2, it read the
        // slot's content from before the owner's next put there.
        match shared.anchor.compare_exchange(anchor, pack(tail, tag), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot below tail holds a task")),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes it recent enough.
        unpack(self.shared.anchor.load(Ordering::Relaxed)).0 != 0
    }
}
