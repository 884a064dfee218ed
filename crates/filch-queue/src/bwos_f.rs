//! BWoS, first in, first out: a queue in blocks, one of which the owner alone reads.
//!
//! **Paper.** Jiawei Wang, Bohdan Trach, Ming Fu, Diogo Behrens, Jonathan Schwender, Yutao Liu, Jitang Lei, Viktor
//! Vafeiadis, Hermann Härtig and Haibo Chen, *BWoS: Formally Verified Block-based Work Stealing for Parallel
//! Processing*, OSDI 2023, <https://www.usenix.org/conference/osdi23/presentation/wang-jiawei> (USENIX gives no DOI),
//! section 3.
//!
//! **Idea.** The queue is a ring of blocks. The owner writes to the newest block and reads from the oldest, the
//! consumer's block, which is the owner's alone. Thieves take from the blocks in between and from the written part of
//! the newest, with one compare-and-swap each. When the owner has read its block, it takes over the next one: one swap
//! stops the thieves there and shows where they stopped.
//!
//! **Fields.** Block B is the ring's block B mod NB in its lap B div NB. Each on its own line.
//! * `committed` of a block: (lap, entries written). Written by the owner, read by thieves.
//! * `reserved` of a block: (lap, next entry to steal), NE if there is none. Raised by thieves, otherwise written by
//!   the owner.
//! * `stolen` of a block: (lap, entries that thieves have copied or will never copy). Raised by thieves and by the
//!   owner's takeover, reset by the owner.
//! * `spos`: the oldest block that thieves look at. Raised by thieves, never lowered.
//! * `busy`: whether there may be tasks, for the hint. Raised by a push, lowered by a pop that finds nothing.
//! * private to the owner: the blocks that it writes (`pblk`) and reads (`cblk`), and its position in each.
//!
//! **Invariants.**
//! * I1: an entry of a lap is taken by the thief that raises `reserved` past it, or by the owner if the takeover finds
//!   `reserved` at or below it; never by both.
//! * I2: `stolen` = (lap, NE) only when every thief of that lap has copied what it reserved, and the owner has taken
//!   over the block.
//! * I3: a block begins a lap only when the owner has read the block's previous lap and `stolen` = (previous lap, NE).
//!
//! **Edges.**
//! * E1: the store of `committed` in `push` (release) → its load in `steal` (acquire): the entry and the task's
//!   contents. The lap in the word shows that the load saw this lap's entries.
//! * E2: the addition to `stolen` after a copy (release) → its load in `begin_block` (acquire): the copy is made before
//!   the entry is written again.
//!
//! **Memory model.** Rust's; no fence anywhere. Without E1 a thief may read an old word on Arm.
//!
//! **Progress.** Owner wait-free, steal lock-free. A thief that stops while it copies keeps one block from being used
//! again. **Capacity.** As an array: blocks are used again in turn, so a block that thieves have emptied waits until
//! the owner passes it.
//!
//! **Departures.** Only the owner knows what it has consumed. A thief checks the lap in `committed`, so `reserved` need
//! not publish `committed`. A thief compares laps by order, not for equality: nothing moves `spos` while no thread
//! steals, so it may be laps behind. A push that finds the next block in use is refused; the authors' programs spin. A
//! flag shows whether there may be tasks, which costs a store when the queue becomes empty or non-empty. There is one
//! block more than the capacity needs, rounded up to a power of two. No steal takes several tasks, as in the authors'
//! program, and no thief prefers long queues, as the paper's do. Tests: `queues/battery.rs` (overflow, wrap-around,
//! stress), `queues/stalled.rs`.
//!
//! **Names.** As in the paper, except that its version is called the lap; `pblk` and `cblk` are the producer's and the
//! consumer's block.
//!
//! **Scenarios.** `bwos_f` and `short_bwos_f` in the battery, the property and the stalled-thief tests; `bwos-f` in the
//! checker.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};

use crate::block_size::Shape;
use crate::blocks::Mark;
use crate::slots::Ring;
use crate::{
    BlockSize, Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder,
    Stealable, Task,
};

/// BWoS with a first-in, first-out owner: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{BlockSize, BwosF, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let blocks_of_two = BlockSize::Entries(NonZeroUsize::new(2).unwrap());
/// let (mut owner, mut thieves) = <BwosF as Queue>::make(8, 1, &blocks_of_two);
/// for n in 1..=5 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal(), Steal::Task(task(3))); // the first block is the consumer's
/// assert_eq!(owner.pop(), Some(task(1)));
/// assert_eq!(owner.pop(), Some(task(2)));
/// assert_eq!(owner.pop(), Some(task(4)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BwosF;

struct Block<M: Memory> {
    committed: Padded<M::AtomicU64>,
    reserved: Padded<M::AtomicU64>,
    stolen: Padded<M::AtomicU64>,
}

struct Shared<M: Memory> {
    shape: Shape,
    blocks: Box<[Block<M>]>,
    entries: Ring<M>,
    spos: Padded<M::AtomicU64>,
    busy: Padded<M::AtomicBool>,
}

impl<M: Memory> Shared<M> {
    #[inline]
    fn block(&self, block: u64) -> &Block<M> {
        &self.blocks[self.shape.place(block)]
    }
}

/// The owner's side of a [`BwosF`] queue.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    pblk: u64,
    written: u32,
    /// NE, or `written` if the next push has to do more than write its entry.
    limit: u32,
    cblk: u64,
    consumed: u32,
    is_known_empty: bool,
}

/// A thief's side of a [`BwosF`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for BwosF {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = BlockSize;

    const PROMISES: Promises = Promises {
        name: "bwos-f",
        paper: "Wang et al., BWoS: Formally Verified Block-based Work Stealing for Parallel Processing, OSDI 2023",
        follows: "section 3",
        departures: &[
            "The owner keeps what it has consumed to itself.",
            "A thief compares laps by order, since nothing moves its position while nobody steals.",
            "A push that finds the next block in use is refused; the authors' programs spin.",
            "A flag says whether there may be tasks.",
            "No steal takes several tasks, and no thief prefers long queues.",
        ],
        order: Order::Fifo,
        steals: StealOrder::OldestShared,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Array,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::OtherBlocks,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, &size: &BlockSize) -> (Owner<M>, Vec<Thief<M>>) {
        let shape = Shape::new(capacity, size);
        let (count, entries) = (shape.blocks(), shape.entries());
        // All blocks are used up in lap 0, except the first, which is the consumer's in lap 1.
        let blocks = (0..count).map(|place| {
            let used = Mark { round: u32::from(place == 0), index: entries };
            let committed = Mark { index: if place == 0 { 0 } else { entries }, ..used };
            Block {
                committed: Padded(Atomic::new(committed.word())),
                reserved: Padded(Atomic::new(used.word())),
                stolen: Padded(Atomic::new(used.word())),
            }
        });
        let shared = Arc::new(Shared {
            shape,
            blocks: blocks.collect(),
            entries: Ring::new(shape.slots()),
            spos: Padded(Atomic::new(count)),
            busy: Padded(Atomic::new(false)),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, pblk: count, written: 0, limit: 0, cblk: count, consumed: 0, is_known_empty: true }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    /// Finds a slot for the next task. Returns `false` if there is none.
    #[cold]
    fn make_room(&mut self) -> bool {
        if self.is_known_empty {
            self.is_known_empty = false;
            // Relaxed: see `has_work_hint`.
            self.shared.busy.store(true, Ordering::Relaxed);
        }
        self.limit = self.shared.shape.entries();
        self.written < self.limit || self.begin_block()
    }

    /// Begins the next block to write. Returns `false` if its last lap is not over.
    fn begin_block(&mut self) -> bool {
        let (shape, next) = (self.shared.shape, self.pblk + 1);
        let (last, entries) = (next - shape.blocks(), shape.entries());
        let is_read = self.cblk > last || (self.cblk == last && self.consumed == entries);
        let over = Mark { round: shape.round(last), index: entries }.word();
        let block = self.shared.block(next);
        // E2: pairs with the addition in `steal`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        if !is_read || block.stolen.load(Ordering::Acquire) != over {
            return false;
        }
        let start = Mark { round: shape.round(next), index: 0 }.word();
        // Relaxed, all: a thief takes nothing before it has seen `committed` in this lap and above its initial value.
        block.committed.store(start, Ordering::Relaxed);
        block.stolen.store(start, Ordering::Relaxed);
        block.reserved.store(start, Ordering::Relaxed);
        (self.pblk, self.written) = (next, 0);
        true
    }

    /// Takes over the next block for reading. Returns `false` if there is none.
    #[cold]
    fn take_over(&mut self) -> bool {
        if self.cblk == self.pblk {
            return false;
        }
        let (shape, next) = (self.shared.shape, self.cblk + 1);
        let block = self.shared.block(next);
        let entries = shape.entries();
        let end = Mark { round: shape.round(next), index: entries }.word();
        // Relaxed: the owner reads only what it wrote. A swap, not a load and a store, because thieves may take entries
        // until then.
        let reached = Mark::from_word(block.reserved.swap(end, Ordering::Relaxed)).index;
        // Relaxed: only the owner uses it; as a read–modify–write it continues the release sequences of E2.
        block.stolen.fetch_add(u64::from(entries - reached), Ordering::Relaxed);
        (self.cblk, self.consumed) = (next, reached);
        true
    }

    #[cold]
    fn found_empty(&mut self) {
        self.is_known_empty = true;
        // Relaxed: see `has_work_hint`.
        self.shared.busy.store(false, Ordering::Relaxed);
        // Makes the next push call `make_room`.
        self.limit = self.written;
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.written == self.limit && !self.make_room() {
            return Err(Full(task));
        }
        let shape = self.shared.shape;
        self.shared.entries.write(shape.slot(self.pblk, self.written), task);
        self.written += 1;
        let committed = Mark { round: shape.round(self.pblk), index: self.written }.word();
        // E1: pairs with the load in `steal`.
        self.shared.block(self.pblk).committed.store(committed, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        loop {
            let written = if self.cblk == self.pblk { self.written } else { self.shared.shape.entries() };
            if self.consumed < written {
                let slot = self.shared.shape.slot(self.cblk, self.consumed);
                self.consumed += 1;
                return self.shared.entries.read(slot);
            }
            if self.is_known_empty || !self.take_over() {
                if !self.is_known_empty {
                    self.found_empty();
                }
                return None;
            }
        }
    }

    fn len_hint(&self) -> usize {
        if self.is_known_empty {
            return 0;
        }
        let written = (self.pblk - self.cblk) as usize * self.shared.shape.entries() as usize + self.written as usize;
        written - self.consumed as usize
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let (shared, shape) = (&*self.shared, self.shared.shape);
        // Relaxed: only selects where to look.
        let mut oldest = shared.spos.load(Ordering::Relaxed);
        loop {
            let (block, lap) = (shared.block(oldest), shape.round(oldest));
            // Relaxed: the compare-and-swap validates it.
            let reserved = block.reserved.load(Ordering::Relaxed);
            let mark = Mark::from_word(reserved);
            if mark.round == lap && mark.index < shape.entries() {
                // E1: pairs with the store in `push`.
                let committed = Mark::from_word(block.committed.load(Ordering::Acquire));
                if committed.round != lap || committed.index <= mark.index {
                    return Steal::Empty;
                }
                let next = Mark { index: mark.index + 1, ..mark }.word();
                // Relaxed, both: E1 and E2 publish, and the lap excludes an old word.
                if block.reserved.compare_exchange(reserved, next, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                    return Steal::Retry;
                }
                let task = shared.entries.read(shape.slot(oldest, mark.index));
                // E2: pairs with the load in `begin_block`.
                // kept over Relaxed: load buffering would let the read of the slot return its next task.
                block.stolen.fetch_add(1, Ordering::Release);
                return Steal::Task(task.expect("a committed entry holds a task"));
            }
            let has_begun = |block| {
                // Relaxed: only selects where to look.
                let mark = Mark::from_word(shared.block(block).reserved.load(Ordering::Relaxed));
                mark.round == shape.round(block) || mark.is_after(shape.round(block))
            };
            if !(mark.is_after(lap) || mark.round == lap && has_begun(oldest + 1)) {
                return Steal::Empty;
            }
            // Relaxed, both: publishes nothing.
            oldest = match shared.spos.compare_exchange(oldest, oldest + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => oldest + 1,
                Err(now) => now,
            };
        }
    }

    /// Returns `true` for tasks in the consumer's block, too, and until a pop finds the queue empty.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: the push itself raises the flag, and the owner lowers it only when no task is left, so whatever
        // orders a push before this call makes this load recent enough.
        self.shared.busy.load(Ordering::Relaxed)
    }
}
