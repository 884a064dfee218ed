//! PadWS: BWoS whose owner, on request, also serves thieves from its own block.
//!
//! **Paper.** Jiawei Wang, Yutao Liu, Ming Fu, Hermann Härtig and Haibo Chen, *Work Stealing through Partial
//! Asynchronous Delegation*, SPAA 2024 (brief announcement), <https://doi.org/10.1145/3626183.3660261>.
//!
//! **Idea.** In a queue of blocks, thieves cannot reach the owner's block, so they get nothing if there are few tasks,
//! or while the first block fills slowly. Here a thief that sees no open block asks the owner and moves on. The owner,
//! at its next operation, grants the oldest task of its block by naming the entry, and the thief's next attempt copies
//! the task. The thief asks again only if it still sees no open block. Only the owner touches its own block's bounds,
//! so owner and thieves never race for a task there, and no fence is needed.
//!
//! **Fields, invariants, edges.** Those of [`blocks`](crate::blocks) and of [`delegation`](crate::delegation), and
//! * P1: a granted entry is handed out in the sense of `blocks`: the taker adds to `done`.
//! * P2: when the owner goes down past a block, no granted task of that block is untaken, unless revocation is off.
//!
//! **Memory model.** Rust's; no fence anywhere.
//!
//! **Progress.** Owner wait-free. A steal from an open block is lock-free; one from the owner's block depends on the
//! owner's next operation, and says so instead of waiting. **Capacity.** As an array: a granted entry is used again
//! only with its whole block.
//!
//! **Departures.** The announcement fixes blocks, delegation in the owner's block alone, positions as answers, and a
//! steal that collects before it asks again. Ours are the encoding, granting the oldest task, taking other thieves'
//! grants, and revocation. An owner whose block is empty takes back its grants there before it goes down to a lower
//! block, not only when there is no lower block. So a pop returns the newest task that no thread has taken, as
//! fork–join requires. Delegation may use up a whole block above others that are open; a pop skips such blocks. A steal
//! whose request was answered with nothing reports an empty queue and asks again. In filch's pools, as in the paper's,
//! a thief that has asked goes on and collects when it next visits the queue, so it may have asked several owners; a
//! grant that it does not collect is revoked, or another thief takes it. With [`Answers::Polled`] it stays for a while.
//! See also [`bwos_l`](crate::bwos_l). Tests: `queues/battery.rs` (all).
//!
//! **Names.** See `blocks` and `delegation`.
//!
//! **Scenarios.** `pad_ws`, `eager_pad_ws` and `reserved_pad_ws` in the battery and the property tests; `padws` in the
//! checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Memory, Native, Ordering};

use crate::blocks::{Blocks, OwnerBlocks};
use crate::delegation::{Desk, Kind, OwnerDesk, POSITIONS, ThiefDesk};
use crate::{
    Answers, BlockSize, Capacity, Counts, Delegation, Delivery, Full, MemoryModel, Order, Prefetch, Progress, Promises,
    Queue, Revocation, Steal, StealOrder, Stealable, Task,
};

/// PadWS: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, PadWs, Queue, Steal, Task, Thief, pad_ws::Params};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <PadWs as Queue>::make(64, 1, &Params::default());
/// owner.push(task(1)).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Pending); // it has asked
/// owner.push(task(2)).unwrap(); // the owner answers too
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1))); // it collects and, as no block is open, asks again
/// assert_eq!(owner.pop(), Some(task(2)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PadWs;

/// The tuning parameters of [`PadWs`].
///
/// ```
/// use filch_queue::{BlockSize, pad_ws::Params};
///
/// assert_eq!(Params::default().block_size, BlockSize::SquareRoot);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// The length of the blocks.
    pub block_size: BlockSize,
    /// How thieves ask for tasks in the owner's block.
    pub delegation: Delegation,
}

struct Shared<M: Memory> {
    blocks: Blocks<M>,
    desk: Desk<M>,
    delegation: Delegation,
}

/// The owner's side of a [`PadWs`] queue.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    blocks: OwnerBlocks,
    desk: OwnerDesk,
}

/// A thief's side of a [`PadWs`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    desk: ThiefDesk,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for PadWs {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = Promises {
        name: "padws",
        paper: "Wang et al., Work Stealing through Partial Asynchronous Delegation, SPAA 2024",
        follows: "section 2, which has no listing",
        departures: &[
            "The section says only that there are blocks, that the owner grants positions in its own, and that a steal \
             collects before it asks; all else is ours.",
            "An idle thief may take what was granted to another, unless cross=off.",
            "An owner that runs out of tasks takes grants back, unless revocation=off.",
            "Those of bwos-l.",
        ],
        order: Order::Lifo,
        steals: StealOrder::Unordered,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Array,
        may_abort: false,
        steal_progress: Progress::OwnerDependent,
        stealable: Stealable::Shared,
        memory_model: MemoryModel::Rust,
        owner_must_poll: true,
        answers_by_clock: false,
    };

    fn polls(thief: &Thief<M>) -> bool {
        thief.shared.delegation.answers == Answers::Polled
    }

    fn kept_back(_: usize, params: &Params) -> usize {
        params.delegation.keep as usize
    }

    fn make(capacity: usize, thieves: usize, params: &Params) -> (Owner<M>, Vec<Thief<M>>) {
        // There are at most as many slots as positions.
        let (shared_blocks, blocks) = Blocks::new(capacity, params.block_size);
        let (shared_desk, desk) = Desk::new(thieves, &params.delegation);
        let shared = Arc::new(Shared { blocks: shared_blocks, desk: shared_desk, delegation: params.delegation });
        let thieves = (0..thieves).map(|index| Thief { shared: Arc::clone(&shared), desk: ThiefDesk::new(index) });
        let thieves = thieves.collect();
        (Owner { shared, blocks, desk }, thieves)
    }
}

/// Grants the oldest task of the owner's block, if thieves may have it.
#[inline]
fn grant(blocks: &mut OwnerBlocks, keep: u32) -> Option<u32> {
    (blocks.own() > keep).then(|| {
        let slot = blocks.grant();
        debug_assert!(slot < POSITIONS as usize, "a slot has a position");
        slot as u32
    })
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn poll_in_turn(&mut self) {
        let Self { shared, blocks, desk } = self;
        desk.poll_in_turn(&shared.desk, || grant(blocks, shared.delegation.keep));
    }

    /// Pops when the owner's block is empty.
    #[cold]
    fn pop_elsewhere(&mut self) -> Option<Task> {
        if self.blocks.is_known_empty() {
            return None;
        }
        let Self { shared, blocks, desk } = self;
        loop {
            let below = blocks.open_below(&shared.blocks);
            if shared.delegation.revocation == Revocation::WhenNeeded {
                let block_of = |position: u32| blocks.block_of(&shared.blocks, position as usize);
                // The slots of one block are in the order of their tasks.
                let age = |position: u32| block_of(position) << 32 | u64::from(position);
                let is_too_old = |position| below.is_some_and(|below| block_of(position) <= below);
                if let Some(position) = desk.revoke(&shared.desk, age, is_too_old) {
                    return blocks.take_handed_out(&shared.blocks, position as usize);
                }
            }
            match below {
                Some(block) if blocks.take_over(&shared.blocks, block) => return blocks.pop(&shared.blocks),
                Some(_) => {}
                None => break,
            }
        }
        // With revocation no grant is left here.
        if !desk.looks_for_granted(&shared.desk) {
            blocks.found_empty(&shared.blocks);
        }
        None
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let pushed = self.blocks.push(&self.shared.blocks, task);
        self.poll_in_turn();
        pushed
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let popped = self.blocks.pop(&self.shared.blocks).or_else(|| self.pop_elsewhere());
        // After the owner has secured its own task.
        self.poll_in_turn();
        popped
    }

    /// Also finds out whether the queue is empty, so that thieves need not check.
    #[inline]
    fn poll(&mut self) {
        let Self { shared, blocks, desk } = self;
        desk.poll(&shared.desk, || grant(blocks, shared.delegation.keep));
        if blocks.may_be_found_empty(&shared.blocks) && !desk.looks_for_granted(&shared.desk) {
            blocks.found_empty(&shared.blocks);
        }
    }

    fn len_hint(&self) -> usize {
        let granted = !self.blocks.is_known_empty() && self.desk.has_granted();
        self.blocks.len_hint(&self.shared.blocks) + usize::from(granted)
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.desk.count_in(counts);
    }
}

impl<M: Memory> Thief<M> {
    /// Takes the task that a cell grants, if it grants one.
    fn take(&self, cell: usize) -> Option<Task> {
        let Shared { blocks, desk, .. } = &*self.shared;
        // Relaxed: the compare-and-swap validates it.
        let answer = desk.answer(cell, Ordering::Relaxed);
        let is_mine = answer.kind == Kind::Granted && desk.take(cell, answer, Kind::Taken);
        is_mine.then(|| blocks.copy(answer.position as usize))
    }

    /// Collects the answer to the outstanding request: a task, or `Empty` if there was none; otherwise returns
    /// `Pending`.
    fn collect(&mut self) -> Steal<Task> {
        // Relaxed: the compare-and-swap validates a grant, and nothing of the other answers is used.
        match self.desk.answer(&self.shared.desk, Ordering::Relaxed).map(|answer| answer.kind) {
            None => Steal::Pending,
            Some(Kind::Granted) => {
                let task = self.take(self.desk.index());
                // Taken, by this thief or another: D1.
                self.desk.settle();
                task.map_or(Steal::Pending, Steal::Task)
            }
            Some(kind) => {
                self.desk.settle();
                if kind == Kind::Nothing { Steal::Empty } else { Steal::Pending }
            }
        }
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let Delegation { cross_taking, prefetch, .. } = self.shared.delegation;
        let mut outcome = self.collect();
        let mut crossed = false;
        let saw_open = if outcome.is_task() {
            // The owner serves its own block only: as long as another is open, the next task is there.
            prefetch == Prefetch::WhenNothingIsOpen && self.shared.blocks.has_open()
        } else {
            let direct = self.shared.blocks.steal();
            let saw_open = !direct.is_empty();
            if saw_open {
                outcome = direct;
            } else {
                let others = self.desk.others(self.shared.desk.thieves(), cross_taking);
                outcome = { others }.find_map(|cell| self.take(cell)).map_or(outcome, Steal::Task);
                crossed = outcome.is_task();
            }
            saw_open
        };
        if !saw_open || prefetch == Prefetch::Always {
            self.desk.ask(&self.shared.desk);
        }
        self.desk.tried(outcome, crossed)
    }

    fn quiesce(&mut self) -> Option<Task> {
        self.collect().task()
    }

    /// Counts the tasks in the owner's block, and those granted. Stays true until a pop or a poll finds the queue
    /// empty.
    #[inline]
    fn has_work_hint(&self) -> bool {
        self.shared.blocks.has_work_hint()
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.desk.count_in(counts);
    }
}
