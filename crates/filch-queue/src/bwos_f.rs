//! BWoS, first in, first out: a queue in blocks, of which the owner reads one to itself.
//!
//! **Paper.** Jiawei Wang, Bohdan Trach, Ming Fu, Diogo Behrens, Jonathan Schwender, Yutao Liu, Jitang Lei, Viktor
//! Vafeiadis, Hermann Härtig and Haibo Chen, *BWoS: Formally Verified Block-based Work Stealing for Parallel
//! Processing*, OSDI 2023, <https://www.usenix.org/conference/osdi23/presentation/wang-jiawei> (USENIX gives no DOI),
//! section 3.
//!
//! **Idea.** The queue is a ring of blocks. The owner writes at the newest block and reads at the oldest, the
//! consumer's, which it has to itself; thieves take from the blocks in between and from what is written of the newest,
//! one compare-and-swap each. When the owner has read its block it takes the next one over: one swap stops the thieves
//! there and says where they stopped.
//!
//! **Fields.** Block B is the ring's block B mod NB in its lap B div NB. Each on its own line.
//! * `committed` of a block: (lap, entries written). Written by the owner, read by thieves.
//! * `reserved` of a block: (lap, next entry to steal), NE where there is none. Raised by thieves, otherwise written by
//!   the owner.
//! * `stolen` of a block: (lap, entries that thieves have copied or will never copy). Raised by thieves and by the
//!   owner's takeover, started by the owner.
//! * `spos`: the oldest block that thieves look at. Raised by thieves, never lowered.
//! * `busy`: whether there may be tasks, for the hint: raised by a push, lowered by a pop that finds nothing.
//! * the owner's own: the blocks that it writes (`pblk`) and reads (`cblk`), and how far it is in them.
//!
//! **Invariants.**
//! * I1: an entry of a lap is taken by the thief that raised `reserved` past it, or by the owner if the takeover found
//!   `reserved` at or below it; never by both.
//! * I2: `stolen` = (lap, NE) only when every thief of that lap has copied what it reserved, and the owner has taken
//!   the block over.
//! * I3: a block begins a lap only when its last one is read and I2 holds of it.
//!
//! **Edges.**
//! * E1: the store of `committed` in `push` (release) → its load in `steal` (acquire): the entry and the task's
//!   contents. The lap in the word says that the load saw this lap's entries.
//! * E2: the addition to `stolen` after a copy (release) → its load in `begin_block` (acquire): the copy is made before
//!   the entry is written again.
//!
//! **Memory model.** Rust's; no fence anywhere. Without E1 a thief may find an old word on Arm.
//!
//! **Progress.** Owner wait-free, steal lock-free. A thief that stops while it copies keeps one block from being used
//! again.
//! **Capacity.** As an array: blocks are used again in turn, so one that thieves have emptied waits for the owner to
//! come past.
//!
//! **Departures.** What the owner has consumed is known to it alone. `committed` carries its lap into the thief's
//! decision, so that `reserved` need not publish it. A thief compares laps by order and not for equality: nothing moves
//! `spos` while nobody steals, so it may be laps behind. A push that finds the next block in use is refused where the
//! authors' programs spin. A flag says whether there may be tasks, which costs a store when the queue turns empty or
//! ceases to be. There is one block more than the capacity needs, rounded up to a power of two. No steal takes several
//! tasks, as one does in the authors' program, and nobody prefers long queues, as the paper's thieves do. Tests:
//! `queues/battery.rs` (overflow, wrap-around, stress), `queues/stalled.rs`.
//!
//! **Names.** As in the paper, whose version is the lap here; `pblk` and `cblk` are its producer's and consumer's
//! blocks.
//!
//! **Scenarios.** `bwos_f` and `short_bwos_f` in the battery, the property and the stalled-thief tests; `bwos-f` in the
//! checker.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};

use crate::blocks::{Mark, Shape};
use crate::slots::Ring;
use crate::{
    BlockSize, Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder,
    Stealable, Task,
};

/// BWoS with a first-in, first-out owner, by name: see the [module](self).
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
    /// NE, or `written` if the next push has more to do than to write its entry.
    limit: u32,
    cblk: u64,
    consumed: u32,
    is_known_empty: bool,
}

/// A thief's side of a [`BwosF`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: the invariants and edges of the file's head.
unsafe impl<M: Memory> Queue<M> for BwosF {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = BlockSize;

    const PROMISES: Promises = Promises {
        name: "bwos-f",
        paper: "Wang et al., BWoS: Formally Verified Block-based Work Stealing for Parallel Processing, OSDI 2023",
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
        // All used up in lap 0, except the first, which is the consumer's, of lap 1.
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
    /// Finds a place for the next task; `false` if there is none.
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

    /// Begins the next block to write; `false` if its last lap is not over.
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
        // Relaxed, all: a thief takes nothing before it has seen a `committed` of this lap that is not the first.
        block.committed.store(start, Ordering::Relaxed);
        block.stolen.store(start, Ordering::Relaxed);
        block.reserved.store(start, Ordering::Relaxed);
        (self.pblk, self.written) = (next, 0);
        true
    }

    /// Takes the next block over for reading; `false` if there is none.
    #[cold]
    fn take_over(&mut self) -> bool {
        if self.cblk == self.pblk {
            return false;
        }
        let (shape, next) = (self.shared.shape, self.cblk + 1);
        let block = self.shared.block(next);
        let entries = shape.entries();
        let end = Mark { round: shape.round(next), index: entries }.word();
        // Relaxed: the owner reads only what it wrote. The swap, and not a load and a store, because thieves may take
        // entries until it happens.
        let reached = Mark::from_word(block.reserved.swap(end, Ordering::Relaxed)).index;
        // Relaxed: for the owner's own eyes; as a read–modify–write it continues the release sequences of E2.
        block.stolen.fetch_add(u64::from(entries - reached), Ordering::Relaxed);
        (self.cblk, self.consumed) = (next, reached);
        true
    }

    #[cold]
    fn found_empty(&mut self) {
        self.is_known_empty = true;
        // Relaxed: see `has_work_hint`.
        self.shared.busy.store(false, Ordering::Relaxed);
        // Sends the next push to `make_room`.
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
        // Relaxed: only says where to look.
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
                // Relaxed, both: E1 and E2 do the rest; the lap excludes an old word.
                if block.reserved.compare_exchange(reserved, next, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                    return Steal::Retry;
                }
                let task = shared.entries.read(shape.slot(oldest, mark.index));
                // E2: pairs with the load in `begin_block`.
                // kept over Relaxed: load buffering would let the read of the slot return its next task.
                block.stolen.fetch_add(1, Ordering::Release);
                return Steal::Task(task.expect("an entry that is committed holds a task"));
            }
            let has_begun = |block| {
                // Relaxed: only says where to look.
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

    /// Counts the tasks in the consumer's block. Stays true until a pop finds the queue empty.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: raised by the push itself and lowered only when no task is left, so whatever orders a push before
        // this call makes this recent enough.
        self.shared.busy.load(Ordering::Relaxed)
    }
}
