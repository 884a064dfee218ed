//! BWoS, last in, first out: a queue in blocks, one of which is the owner's alone.
//!
//! **Paper.** Jiawei Wang, Bohdan Trach, Ming Fu, Diogo Behrens, Jonathan Schwender, Yutao Liu, Jitang Lei, Viktor
//! Vafeiadis, Hermann Härtig and Haibo Chen, *BWoS: Formally Verified Block-based Work Stealing for Parallel
//! Processing*, OSDI 2023, <https://www.usenix.org/conference/osdi23/presentation/wang-jiawei> (USENIX gives no DOI),
//! section 3.
//!
//! **Idea.** The queue is cut into blocks, each with its own words for synchronisation. The owner pushes and pops in
//! one block, alone, with plain loads and stores; thieves take from the others, the oldest first, with one
//! compare-and-swap each. Owner and thieves meet only where the owner changes blocks: a store opens a full block to
//! thieves, and a swap takes back the newest open block. A block is used again when every thief in it has finished
//! copying.
//!
//! **Fields, invariants, edges.** As in [`blocks`](crate::blocks), which has the protocol.
//!
//! **Memory model.** Rust's; no fence anywhere. Without E1 of `blocks` a thief may read an old word on Arm.
//!
//! **Progress.** Owner wait-free, steal lock-free. A thief that stops while it copies keeps one block from being used
//! again. **Capacity.** A ring; a push is refused while the block that it needs is in use.
//!
//! **Departures.** Blocks carry rounds, so that a thief can tell that it is a lap late. A push into a block that is
//! still being copied is refused; the authors' programs spin. A failed pop whose block is handed out and copied starts
//! that block again, so that the empty queue has room for the requested capacity. A flag shows whether there may be
//! tasks, which costs a store when the queue becomes empty or non-empty. The takeover is relaxed, because the owner
//! takes back only what it wrote. There is one block more than the capacity needs, rounded up to a power of two. No
//! steal takes several tasks, and no thief prefers long queues, as the paper's do. Tests: `queues/battery.rs`
//! (overflow, wrap-around, stress), `queues/stalled.rs`.
//!
//! **Names.** Grant, takeover and reclaim of the paper are `leave_open`, `take_over` and `is_settled`; `spos` is its
//! thieves' front position, `done` its number of finished steals.
//!
//! **Scenarios.** `bwos_l` and `short_bwos_l` in the battery, the property and the stalled-thief tests; `bwos-l` in the
//! checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Memory, Native};

use crate::block_size::Shape;
use crate::blocks::{Blocks, OwnerBlocks};
use crate::{
    BlockSize, Capacity, Delivery, Full, MemoryModel, Order, Progress, Promises, Queue, Steal, StealOrder, Stealable,
    Task,
};

/// BWoS with a last-in, first-out owner: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{BlockSize, BwosL, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let blocks_of_two = BlockSize::Entries(NonZeroUsize::new(2).unwrap());
/// let (mut owner, mut thieves) = <BwosL as Queue>::make(8, 1, &blocks_of_two);
/// for n in 1..=4 {
///     owner.push(task(n)).unwrap(); // the third leaves behind a block of two
/// }
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(thieves[0].steal(), Steal::Task(task(2)));
/// assert_eq!(thieves[0].steal(), Steal::Empty); // the rest is in the owner's block
/// assert_eq!(owner.pop(), Some(task(4)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BwosL;

/// The owner's side of a [`BwosL`] queue.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Blocks<M>>,
    blocks: OwnerBlocks,
}

/// A thief's side of a [`BwosL`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Blocks<M>>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for BwosL {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = BlockSize;

    const PROMISES: Promises = Promises {
        name: "bwos-l",
        paper: "Wang et al., BWoS: Formally Verified Block-based Work Stealing for Parallel Processing, OSDI 2023",
        follows: "section 3",
        departures: &[
            "Blocks carry rounds, so that a thief that is a lap late can tell.",
            "A push into a block that is still being copied is refused; the authors' programs spin.",
            "A pop that finds nothing starts a used-up block again, so that there is room for the whole capacity.",
            "A flag says whether there may be tasks.",
            "No steal takes several tasks, and no thief prefers long queues.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::OtherBlocks,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn kept_back(capacity: usize, &size: &BlockSize) -> usize {
        Shape::new(capacity, size).entries() as usize
    }

    fn make(capacity: usize, thieves: usize, &size: &BlockSize) -> (Owner<M>, Vec<Thief<M>>) {
        let (shared, blocks) = Blocks::new(capacity, size);
        let shared = Arc::new(shared);
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, blocks }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    /// Pops when the owner's block is empty.
    #[cold]
    fn pop_below(&mut self) -> Option<Task> {
        if self.blocks.is_known_empty() {
            return None;
        }
        while let Some(block) = self.blocks.open_below(&self.shared) {
            if self.blocks.take_over(&self.shared, block) {
                return self.blocks.pop(&self.shared);
            }
        }
        self.blocks.found_empty(&self.shared);
        None
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.blocks.push(&self.shared, task)
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        self.blocks.pop(&self.shared).or_else(|| self.pop_below())
    }

    /// Answers no requests, but finds out whether the queue is empty, so that thieves need not check.
    #[inline]
    fn poll(&mut self) {
        if self.blocks.may_be_found_empty(&self.shared) {
            self.blocks.found_empty(&self.shared);
        }
    }

    fn len_hint(&self) -> usize {
        self.blocks.len_hint(&self.shared)
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.shared.steal()
    }

    /// Returns `true` for tasks in the owner's block, too, and until a pop or a poll finds the queue empty.
    #[inline]
    fn has_work_hint(&self) -> bool {
        self.shared.has_work_hint()
    }
}
