//! Blocks: the shared parts of the block-based queues, and a last-in, first-out queue of blocks without its policy.
//!
//! [`BwosL`](crate::BwosL) adds little to this; [`PadWs`](crate::PadWs) also hands out entries of the owner's block.
//! See `BwosL`'s file for paper and idea.
//!
//! A queue is an endless sequence of blocks of NE entries. A ring keeps NB of them: block B is the ring's block B mod
//! NB in its round B div NB. The owner works alone in one block, T. Of the entries of T, [0, front) have been handed
//! out, [front, back) are the owner's, and the rest is free. When the owner goes up, it opens its old block to thieves,
//! full except for the entries handed out. When it goes down, it takes over the newest open block.
//!
//! **Fields.** Each on its own line.
//! * `spos` of a block: (round, index). An index below NE is the next entry to steal, NE means that all are handed out,
//!   and CLOSED that the block is the owner's or above T. Raised by thieves, otherwise written by the owner.
//! * `done` of a block: the number of entries handed out that have been copied. Raised by the copying thread, reset to
//!   zero by the owner.
//! * `sblk`: the oldest block that thieves look at. Raised by thieves, never lowered.
//! * `busy`: whether there may be tasks, for the hint. Raised by a push, lowered by a pop or a poll that finds none.
//! * `entries`: one ring of NB · NE slots, written by the owner.
//! * private to the owner: T, front, back, and for each block of the ring its number and its front when the owner left
//!   it.
//!
//! **Invariants.**
//! * I1: an entry is in one of three parts: handed out, to the thread that raised the index past it or was granted it;
//!   open, at or above the index of an open block; or the owner's.
//! * I2: done ≤ number handed out since done was last zero; when the two are equal, no thread reads the block's entries
//!   any more. Only then does the owner write the entries again.
//! * I3: once `sblk` has passed a block, that block is never opened or taken over again in its round; so `sblk` ≤ T.
//! * I4: a block above T is closed or has not begun its round; thieves take nothing there.
//!
//! **Edges.**
//! * E1: the opening store of `spos` (release) → the compare-and-swap in `steal` (acquire): entries and task contents.
//!   The word may have returned to the value loaded before; what the swap reads decides whose entries are there.
//! * E2: the addition to `done` after a copy (release) → its load in `is_settled` (acquire): the copy is made before
//!   the entry is used again.
//! * E3: a store of `spos` (release) → its load in `oldest_open` (acquire) → the raising of `sblk` (release) → its load
//!   there (acquire). Delegation may exhaust a block above an open one, and the owner may come back to that block:
//!   its `spos` can be at NE twice in one round. A thief that comes to a block has seen its changes from before the
//!   last opening of the block below, so it does not mistake the first end for the second, and does not skip tasks.

use alloc::boxed::Box;

use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};

use crate::block_size::{BlockSize, Shape};
use crate::slots::Ring;
use crate::{Full, Padded, Steal, Task};

/// A round or lap, and an index, in one word, so that a thief's compare-and-swap fails once the block has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) round: u32,
    pub(crate) index: u32,
}

impl Mark {
    #[inline]
    pub(crate) const fn word(self) -> u64 {
        (self.round as u64) << 32 | self.index as u64
    }

    #[inline]
    pub(crate) const fn from_word(word: u64) -> Self {
        Self { round: (word >> 32) as u32, index: word as u32 }
    }

    /// Returns whether this belongs to a later round than `round`.
    #[inline]
    pub(crate) fn is_after(self, round: u32) -> bool {
        (self.round.wrapping_sub(round) as i32) > 0
    }
}

/// The index of a block that is not for thieves.
const CLOSED: u32 = u32::MAX;

struct Block<M: Memory> {
    spos: Padded<M::AtomicU64>,
    done: Padded<M::AtomicU32>,
}

/// The state that owner and thieves share.
pub(crate) struct Blocks<M: Memory = Native> {
    shape: Shape,
    blocks: Box<[Block<M>]>,
    entries: Ring<M>,
    sblk: Padded<M::AtomicU64>,
    busy: Padded<M::AtomicBool>,
}

/// The state of a block of the ring when the owner last left it.
#[derive(Clone, Copy, Debug)]
struct Left {
    block: u64,
    /// The number of its entries that had been handed out.
    front: u32,
}

/// The owner's private state.
pub(crate) struct OwnerBlocks {
    /// T.
    block: u64,
    /// The slot of its entry 0.
    base: usize,
    front: u32,
    back: u32,
    /// NE, or `back` if the next push has to do more than write its entry.
    limit: u32,
    is_known_empty: bool,
    left: Box<[Left]>,
}

impl<M: Memory> Blocks<M> {
    /// Makes a queue whose blocks are all used up, except the first of round 1, which is the owner's.
    pub(crate) fn new(capacity: usize, size: BlockSize) -> (Self, OwnerBlocks) {
        let shape = Shape::new(capacity, size);
        let (count, entries) = (shape.blocks(), shape.entries());
        let blocks = (0..count).map(|place| {
            let mark = if place == 0 { Mark { round: 1, index: CLOSED } } else { Mark { round: 0, index: entries } };
            let done = if place == 0 { 0 } else { entries };
            Block { spos: Padded(Atomic::new(mark.word())), done: Padded(Atomic::new(done)) }
        });
        let left = (0..count).map(|place| match place {
            0 => Left { block: count, front: 0 },
            _ => Left { block: place, front: entries },
        });
        let owner = OwnerBlocks {
            block: count,
            base: 0,
            front: 0,
            back: 0,
            limit: 0,
            is_known_empty: true,
            left: left.collect(),
        };
        let shared = Self {
            shape,
            blocks: blocks.collect(),
            entries: Ring::new(shape.slots()),
            sblk: Padded(Atomic::new(count)),
            busy: Padded(Atomic::new(false)),
        };
        (shared, owner)
    }

    #[inline]
    fn block(&self, block: u64) -> &Block<M> {
        &self.blocks[self.shape.place(block)]
    }

    /// Tries to take the oldest task of the oldest open block.
    pub(crate) fn steal(&self) -> Steal<Task> {
        let Some((block, mark)) = self.oldest_open() else { return Steal::Empty };
        let next = Mark { index: mark.index + 1, ..mark };
        let Block { spos, done } = self.block(block);
        // E1: pairs with the store in `leave_open`.
        if spos.compare_exchange(mark.word(), next.word(), Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Steal::Retry;
        }
        let task = self.entries.read(self.shape.slot(block, mark.index));
        // E2: pairs with the load in `is_settled`.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        done.fetch_add(1, Ordering::Release);
        Steal::Task(task.expect("an entry of an open block holds a task"))
    }

    /// Returns whether a block is open to thieves.
    pub(crate) fn has_open(&self) -> bool {
        self.oldest_open().is_some()
    }

    /// Returns the oldest open block and its next entry to steal. Raises `sblk` past exhausted blocks.
    #[inline]
    fn oldest_open(&self) -> Option<(u64, Mark)> {
        let entries = self.shape.entries();
        // E3: pairs with the compare-and-swap below.
        // kept over Relaxed: a block can end twice in a round only if delegation exhausts a block above an open one. To
        // mistake the first end for the second takes two thieves and four blocks, more than loom explores.
        let mut oldest = self.sblk.load(Ordering::Acquire);
        loop {
            let round = self.shape.round(oldest);
            // E3: pairs with the stores of an index that is not CLOSED, and of a later round.
            // kept over Relaxed: loom does not explore that much, as above.
            let mark = Mark::from_word(self.block(oldest).spos.load(Ordering::Acquire));
            if mark.round == round && mark.index < entries {
                return Some((oldest, mark));
            }
            let is_behind = mark.is_after(round);
            if !(is_behind || mark.round == round && mark.index == entries && self.has_left(oldest + 1)) {
                return None;
            }
            // E3: pairs with the load above, and on failure with itself.
            // kept over Relaxed and Relaxed on failure: loom does not explore that much, as above.
            oldest = match self.sblk.compare_exchange(oldest, oldest + 1, Ordering::Release, Ordering::Acquire) {
                Ok(_) => oldest + 1,
                Err(now) => now,
            };
        }
    }

    /// Returns whether the owner has entered a block and has left it upwards.
    fn has_left(&self, block: u64) -> bool {
        // Relaxed: if the owner takes the block back meanwhile, thieves wait at it, since the one below is exhausted
        // for good (I3).
        let mark = Mark::from_word(self.block(block).spos.load(Ordering::Relaxed));
        mark.round == self.shape.round(block) && mark.index != CLOSED
    }

    /// Returns the task in a slot handed out to the calling thief, and frees the slot.
    #[inline]
    pub(crate) fn copy(&self, slot: usize) -> Task {
        let task = self.entries.read(slot);
        // E2: pairs with the load in `is_settled`.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        self.blocks[self.shape.place_of_slot(slot)].done.fetch_add(1, Ordering::Release);
        task.expect("an entry handed out holds a task")
    }

    #[inline]
    pub(crate) fn has_work_hint(&self) -> bool {
        // Relaxed: the push itself raises the flag, and the owner lowers it only when no task is left, so whatever
        // orders a push before this call makes this load recent enough.
        self.busy.load(Ordering::Relaxed)
    }
}

impl OwnerBlocks {
    /// Adds a task to the owner's block.
    #[inline]
    pub(crate) fn push<M: Memory>(&mut self, shared: &Blocks<M>, task: Task) -> Result<(), Full<Task>> {
        if self.back == self.limit && !self.make_room(shared) {
            return Err(Full(task));
        }
        shared.entries.write(self.base + self.back as usize, task);
        self.back += 1;
        Ok(())
    }

    /// Takes the newest task of the owner's block.
    #[inline]
    pub(crate) fn pop<M: Memory>(&mut self, shared: &Blocks<M>) -> Option<Task> {
        if self.back == self.front {
            return None;
        }
        self.back -= 1;
        shared.entries.read(self.base + self.back as usize)
    }

    /// Returns whether a pop has found nothing since the last push.
    #[inline]
    pub(crate) fn is_known_empty(&self) -> bool {
        self.is_known_empty
    }

    /// Returns the number of tasks in the owner's block.
    #[inline]
    pub(crate) fn own(&self) -> u32 {
        self.back - self.front
    }

    /// Hands out the oldest task of the owner's block, which must not be empty, and returns the task's slot.
    #[inline]
    pub(crate) fn grant(&mut self) -> usize {
        self.front += 1;
        self.base + self.front as usize - 1
    }

    /// Returns about how many tasks have not been handed out.
    pub(crate) fn len_hint<M: Memory>(&self, shared: &Blocks<M>) -> usize {
        if self.is_known_empty {
            return 0;
        }
        let (shape, entries) = (shared.shape, shared.shape.entries());
        // Relaxed, both: a hint.
        let below = self.block.saturating_sub(shared.sblk.load(Ordering::Relaxed)).min(shape.blocks());
        let oldest = self.block - below;
        let mark = Mark::from_word(shared.block(oldest).spos.load(Ordering::Relaxed));
        // The oldest block may be exhausted though no thief has passed it; the others were opened whole, or nearly.
        let gone = match shape.round(oldest) {
            _ if below == 0 => 0,
            round if mark.is_after(round) => entries,
            _ => mark.index.min(entries),
        };
        (self.own() + below as u32 * entries - gone) as usize
    }

    /// Finds a slot for the next task. Returns `false` if there is none.
    #[cold]
    fn make_room<M: Memory>(&mut self, shared: &Blocks<M>) -> bool {
        if self.is_known_empty {
            self.is_known_empty = false;
            // Relaxed: see `has_work_hint`.
            shared.busy.store(true, Ordering::Relaxed);
        }
        self.limit = shared.shape.entries();
        // A block to which the owner returns may be used up.
        while self.back == self.limit {
            if !self.go_up(shared) {
                return false;
            }
        }
        true
    }

    /// Returns whether all `front` entries handed out of a block have been copied, and if so resets `done`.
    fn is_settled<M: Memory>(shared: &Blocks<M>, block: u64, front: u32) -> bool {
        let done = &shared.block(block).done;
        // E2: pairs with the addition in `steal` and `copy`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let is_settled = done.load(Ordering::Acquire) == front;
        if is_settled {
            // Relaxed: the next addition comes from a thread to which the owner hands out an entry later.
            done.store(0, Ordering::Relaxed);
        }
        is_settled
    }

    fn enter<M: Memory>(&mut self, shared: &Blocks<M>, block: u64, front: u32, back: u32) {
        self.block = block;
        self.base = shared.shape.slot(block, 0);
        (self.front, self.back, self.limit) = (front, back, shared.shape.entries());
    }

    /// Leaves a full block for the next one, or uses it again. Returns `false` if neither is possible.
    fn go_up<M: Memory>(&mut self, shared: &Blocks<M>) -> bool {
        let (shape, entries) = (shared.shape, shared.shape.entries());
        if self.front == entries && Self::is_settled(shared, self.block, entries) {
            (self.front, self.back) = (0, 0);
            return true;
        }
        let next = self.block + 1;
        let left = self.left[shape.place(next)];
        let front = if left.block == next {
            // The owner left it downwards, and thieves may still be copying its entries below `front`.
            if Self::is_settled(shared, next, left.front) { 0 } else { left.front }
        } else {
            let block = shared.block(next);
            let exhausted = Mark { round: shape.round(left.block), index: entries }.word();
            // Relaxed: the owner wrote everything but the index, and only tests whether the index is at its end.
            if block.spos.load(Ordering::Relaxed) != exhausted || !Self::is_settled(shared, next, entries) {
                return false;
            }
            // E3: pairs with the load in `oldest_open`.
            // kept over Relaxed: loom does not explore that much, as in `oldest_open`.
            block.spos.store(Mark { round: shape.round(next), index: CLOSED }.word(), Ordering::Release);
            self.left[shape.place(next)] = Left { block: next, front: 0 };
            0
        };
        self.leave_open(shared);
        self.enter(shared, next, front, front);
        true
    }

    /// Opens the owner's block from `front` on. The owner then enters the next one.
    fn leave_open<M: Memory>(&mut self, shared: &Blocks<M>) {
        let shape = shared.shape;
        self.left[shape.place(self.block)].front = self.front;
        let open = Mark { round: shape.round(self.block), index: self.front }.word();
        // E1 and E3: pairs with the compare-and-swap in `steal` and the load in `oldest_open`.
        shared.block(self.block).spos.store(open, Ordering::Release);
    }

    /// Returns the newest block below the owner's that has tasks, or had a moment ago.
    pub(crate) fn open_below<M: Memory>(&self, shared: &Blocks<M>) -> Option<u64> {
        let shape = shared.shape;
        // Relaxed: never lowered, and nothing below it is open (I3); an old value costs only time.
        let oldest = shared.sblk.load(Ordering::Relaxed).max(self.block + 1 - shape.blocks());
        (oldest..self.block).rev().find(|&block| {
            // Relaxed: the owner opened it, so this is at least that new; the swap decides.
            let mark = Mark::from_word(shared.block(block).spos.load(Ordering::Relaxed));
            mark.round == shape.round(block) && mark.index < shape.entries()
        })
    }

    /// Takes back the rest of an open block, which becomes the owner's block. The owner's current block must be empty,
    /// and the blocks in between exhausted. Returns `false` if nothing is left.
    pub(crate) fn take_over<M: Memory>(&mut self, shared: &Blocks<M>, block: u64) -> bool {
        let (shape, entries) = (shared.shape, shared.shape.entries());
        let (spos, round) = (&shared.block(block).spos, shape.round(block));
        // Relaxed: the owner takes only what it wrote. A swap, not a load and a store, because thieves may take entries
        // until then.
        let mark = Mark::from_word(spos.swap(Mark { round, index: CLOSED }.word(), Ordering::Relaxed));
        if mark.index == entries {
            // E3: pairs with the load in `oldest_open`.
            // kept over Relaxed: loom does not explore that much, as in `oldest_open`.
            spos.store(mark.word(), Ordering::Release);
            return false;
        }
        // No thief is past `block`, so none sees the blocks in between as open.
        for between in block + 1..self.block {
            let closed = Mark { round: shape.round(between), index: CLOSED }.word();
            // Relaxed: the next opening of `block` publishes it, by E3.
            shared.block(between).spos.store(closed, Ordering::Relaxed);
            self.left[shape.place(between)].front = entries;
        }
        self.left[shape.place(self.block)].front = self.front;
        self.enter(shared, block, mark.index, entries);
        true
    }

    /// Returns whether only tasks handed out remain, and this is not yet known.
    #[inline]
    pub(crate) fn may_be_found_empty<M: Memory>(&self, shared: &Blocks<M>) -> bool {
        self.front == self.back && !self.is_known_empty && self.open_below(shared).is_none()
    }

    /// Records that there is no task in any block.
    pub(crate) fn found_empty<M: Memory>(&mut self, shared: &Blocks<M>) {
        self.is_known_empty = true;
        // Relaxed: see `has_work_hint`.
        shared.busy.store(false, Ordering::Relaxed);
        if self.front > 0 && Self::is_settled(shared, self.block, self.front) {
            (self.front, self.back) = (0, 0);
        }
        // Makes the next push call `make_room`.
        self.limit = self.back;
    }

    /// Returns the block of a slot that was handed out and has not been copied. No such slot is above T.
    pub(crate) fn block_of<M: Memory>(&self, shared: &Blocks<M>, slot: usize) -> u64 {
        let place = shared.shape.place_of_slot(slot) as u64;
        self.block - (self.block.wrapping_sub(place) & (shared.shape.blocks() - 1))
    }

    /// Returns the task in a slot that was handed out and taken back.
    pub(crate) fn take_handed_out<M: Memory>(&mut self, shared: &Blocks<M>, slot: usize) -> Option<Task> {
        // Relaxed: E2 would inform the owner, which is this thread.
        shared.blocks[shared.shape.place_of_slot(slot)].done.fetch_add(1, Ordering::Relaxed);
        shared.entries.read(slot)
    }
}
