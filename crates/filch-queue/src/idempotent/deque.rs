//! IDEM-DE: an idempotent deque.
//!
//! **Paper.** Michael, Vechev and Saraswat, *Idempotent Work Stealing*, PPoPP 2009,
//! <https://doi.org/10.1145/1504176.1504186>, figure 3.
//!
//! **Idea.** The indices [head, head + size) of an endless array, folded into a ring, hold the tasks; the owner puts
//! and takes at the end, thieves take at head. The anchor, one word, holds head, size and a tag. The owner stores it,
//! thieves swap it. The tag changes with every put, so that no swap succeeds after its slot has been filled again. See
//! [`idempotent`](super) for what the owner's stores undo.
//!
//! **Fields.** Each on its own line.
//! * `anchor`: (head, size, tag). Stored by the owner, swapped by thieves.
//! * `tasks`: the current ring and the former ones: see `growing.rs`.
//! * private to the owner: `ring` (the newest, which only the owner changes).
//!
//! **Invariants.**
//! * I1: head runs freely modulo 2²⁰, which every ring size divides, and is reduced to an index of the ring only to
//!   access a slot; so it means the same in an old ring and in a new one.
//! * I2: the slots of [head, head + size) are filled, and change only in a put, which also changes the tag.
//! * I3: while the tag stays, the end, head + size, only falls, and while the end stays, head only rises. So no anchor
//!   comes back, unless 2²⁴ puts happened meanwhile, and a swap that succeeds has read the task at head.
//! * I4: a task leaves [head, head + size) only when it is taken. A store of the owner may bring it back.
//!
//! **Edges.**
//! * E1: the stores of `anchor` in `push` and `pop` (release) → its load in `steal` (acquire): slots, task contents and
//!   ring are written before the anchor. The store that lowers the end releases too: a relaxed store would not continue
//!   the release of an earlier put.
//! * E2: the store of a slot in `push` (release) → its load in `steal` (acquire). Nothing else orders this store after
//!   the earlier take's store of the anchor. A thief that holds the anchor from before that take and finds the new task
//!   in the slot also sees, by E2, the later anchor, and its compare-and-swap fails.
//! * G of `growing.rs`: a thief that finds a new ring finds the tasks in it.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** Owner wait-free (except for growing, which allocates),
//! steal lock-free. **Capacity.** Grows, to 2²⁰ − 1 tasks; beyond that a push is refused.
//!
//! **Departures.** The widths of the fields are ours: 20 bits for head, 20 for size, 24 for the tag. Suppose that a
//! thief is stopped between its two reads of the anchor, that the owner makes exactly a multiple of 2²⁴ puts meanwhile,
//! in some 100 ms, and that head and size are the same again when the thief wakes up. The thief then returns an old
//! task instead of a new one, and the new one is lost. The paper reduces head modulo the size of the array; then a
//! thief with the old array could wrap head where the new array does not wrap. Tests: `queues/battery.rs` (growth,
//! wrap-around), and the checker's known mistake `idem-de-reduced-head`.
//!
//! **Names.** `anchor`, `head`, `size`, `tag`, `tasks` as in the paper; put and take are `push` and `pop`.
//!
//! **Scenarios.** `idem_de` in the battery, the property and the stalled-thief tests; `idem-de` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::growing::GrowingRing;
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The idempotent deque: see the [module](self).
///
/// A task can be lost if a thief is stopped in the middle of a steal while the owner pushes a multiple of 2²⁴ times,
/// which takes some 100 ms, and head and size have then returned to their old values. Choose
/// [`IdempotentFifo`](super::IdempotentFifo) or [`IdempotentLifo`](super::IdempotentLifo) if that must not happen.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{IdempotentDeque, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <IdempotentDeque as Queue>::make(2, 1, &());
/// (1..=3).for_each(|n| owner.push(task(n)).unwrap());
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.pop(), Some(task(3)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IdempotentDeque;

struct Shared<M: Memory> {
    anchor: Padded<M::AtomicU64>,
    tasks: GrowingRing<M>,
}

const SIZE_BITS: u32 = 20;
const TAG_BITS: u32 = 24;
/// Not a power of two: the ring of the largest capacity is never quite full.
const MAX_SIZE: u64 = (1 << SIZE_BITS) - 1;

/// The content of an anchor. Head and tag may have overflowed; packing reduces them.
#[derive(Clone, Copy)]
struct Anchor {
    head: u64,
    size: u64,
    tag: u64,
}

impl Anchor {
    fn pack(self) -> u64 {
        let tag = self.tag & ((1 << TAG_BITS) - 1);
        // The bits of head beyond 20 are shifted out.
        self.head << (SIZE_BITS + TAG_BITS) | self.size << TAG_BITS | tag
    }

    fn unpack(word: u64) -> Self {
        Self {
            head: word >> (SIZE_BITS + TAG_BITS),
            size: (word >> TAG_BITS) & MAX_SIZE,
            tag: word & ((1 << TAG_BITS) - 1),
        }
    }

    /// Returns one past the newest task, as an index of a ring.
    fn end(self) -> usize {
        (self.head + self.size) as usize
    }
}

/// The owner's side of an [`IdempotentDeque`] pool.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    /// The newest ring of `shared.tasks`, hence valid as long as `shared`.
    ring: NonNull<Ring<M>>,
}

// SAFETY: `ring` points into `shared`, which is Send and Sync, and a ring consists of atomics.
unsafe impl<M: Memory> Send for Owner<M> {}
// SAFETY: a shared owner only reads; every method that writes takes `&mut self`.
unsafe impl<M: Memory> Sync for Owner<M> {}

/// A thief's side of an [`IdempotentDeque`] pool.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for IdempotentDeque {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "idem-de",
        paper: "Michael, Vechev and Saraswat, Idempotent Work Stealing, PPoPP 2009",
        follows: "figure 3",
        departures: &[
            "The word has 20 bits for head, 20 for size and 24 for the tag.",
            "Head is not reduced modulo the size of the array.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
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
        assert!(capacity as u64 <= MAX_SIZE, "the capacity is out of range");
        let (tasks, ring) = GrowingRing::new(capacity);
        let shared = Arc::new(Shared { anchor: Padded(Atomic::new(0)), tasks });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, ring }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn ring(&self) -> &Ring<M> {
        // SAFETY: valid as long as `shared`, and never borrowed mutably.
        unsafe { self.ring.as_ref() }
    }

    #[inline]
    fn anchor(&self) -> Anchor {
        // Relaxed: an old anchor brings back taken tasks, and even a recent one may be old when it is used.
        Anchor::unpack(self.shared.anchor.load(Ordering::Relaxed))
    }

    #[cold]
    fn expand(&mut self, anchor: Anchor) -> bool {
        let may = anchor.size < MAX_SIZE;
        if may && anchor.size as usize == self.ring().capacity() {
            // SAFETY: there is one owner, and `&mut self` makes this its only call.
            self.ring = unsafe { self.shared.tasks.grow(self.ring(), anchor.head as i64..anchor.end() as i64) };
        }
        may
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let Anchor { head, size, tag } = self.anchor();
        let is_full = size as usize == self.ring().capacity() || size == MAX_SIZE;
        if is_full && !self.expand(Anchor { head, size, tag }) {
            return Err(Full(task));
        }
        // E2: pairs with the load in `steal`.
        // kept over Relaxed: in C11 a thief may see a slot filled before it sees the owner's earlier take, and its swap
        // may succeed on the anchor from before that take; loom's updates see the newest value.
        self.ring().publish((head + size) as usize, task);
        let anchor = Anchor { head, size: size + 1, tag: tag + 1 };
        // E1: pairs with the load in `steal`.
        self.shared.anchor.store(anchor.pack(), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let Anchor { head, size, tag } = self.anchor();
        let anchor = Anchor { head, size: size.checked_sub(1)?, tag };
        let task = self.ring().read(anchor.end());
        // E1: pairs with the load in `steal`.
        // kept over Relaxed: a relaxed store would end the release of the earlier puts; loom raises false alarms on the
        // clients that would show it.
        self.shared.anchor.store(anchor.pack(), Ordering::Release);
        task
    }

    fn len_hint(&self) -> usize {
        self.anchor().size as usize
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // E1: pairs with the stores in `push` and `pop`.
        let word = shared.anchor.load(Ordering::Acquire);
        let Anchor { head, size, tag } = Anchor::unpack(word);
        let Some(size) = size.checked_sub(1) else { return Steal::Empty };
        // E2: pairs with the store in `push`. Discarded unless the swap succeeds.
        // kept over Relaxed: as for the store in `push`.
        let task = shared.tasks.current().read_published(head as usize);
        let rest = Anchor { head: head + 1, size, tag };
        // Relaxed: the task taken was acquired before, and no thread waits for this thief's read; by E2, it read the
        // slot's content from before the owner's next put there.
        match shared.anchor.compare_exchange(word, rest.pack(), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [head, head + size) holds a task")),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes it recent enough.
        Anchor::unpack(self.shared.anchor.load(Ordering::Relaxed)).size != 0
    }
}
