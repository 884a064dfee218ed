//! The length of blocks, and the places of blocks and entries.
//!
//! Invariant: numbers of blocks and of their entries are powers of two.

use core::num::NonZeroUsize;

/// The length of the blocks of a block-based queue.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{BlockSize, BwosL, Owner, Queue, Thief};
///
/// let (mut owner, mut thieves) = <BwosL as Queue>::make(64, 1, &BlockSize::Entries(NonZeroUsize::MIN));
/// let task = filch_queue::Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// assert!(thieves[0].steal().is_empty()); // the owner's block is private
/// owner.push(task).unwrap();
/// assert!(thieves[0].steal().is_task()); // a block of one task is full
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockSize {
    /// About the square root of the capacity, as PadWS's authors recommend: 64 entries for 8192.
    #[default]
    SquareRoot,
    /// This many entries, rounded up to a power of two.
    Entries(NonZeroUsize),
}

/// The number of blocks and of their entries, both powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Logarithm of NE.
    entries: u32,
    /// Logarithm of NB.
    blocks: u32,
}

impl Shape {
    /// Makes one block more than `capacity` tasks need, since a thief may be using the oldest when all others are full.
    pub(crate) fn new(capacity: usize, size: BlockSize) -> Self {
        const MOST: usize = 1 << 30;
        let capacity = capacity.max(1);
        let entries = match size {
            BlockSize::SquareRoot => capacity.ilog2() / 2,
            BlockSize::Entries(entries) => {
                assert!(entries.get() <= MOST, "the length of a block is out of range");
                entries.get().next_power_of_two().ilog2()
            }
        };
        let blocks = capacity.div_ceil(1 << entries).saturating_add(1).checked_next_power_of_two();
        let blocks = blocks.expect("the capacity is out of range").ilog2();
        assert!(entries + blocks <= MOST.ilog2(), "the capacity is out of range");
        Self { entries, blocks }
    }

    /// NE.
    #[inline]
    pub(crate) fn entries(self) -> u32 {
        1 << self.entries
    }

    /// NB.
    #[inline]
    pub(crate) fn blocks(self) -> u64 {
        1 << self.blocks
    }

    /// The number of slots.
    pub(crate) fn slots(self) -> usize {
        1 << (self.entries + self.blocks)
    }

    /// Returns the place of a block in the ring.
    #[inline]
    pub(crate) fn place(self, block: u64) -> usize {
        (block & (self.blocks() - 1)) as usize
    }

    /// Returns the round of a block. Wraps after 2³² rounds, longer than any thief sleeps.
    #[inline]
    pub(crate) fn round(self, block: u64) -> u32 {
        (block >> self.blocks) as u32
    }

    /// Returns the slot of an entry. Only the block's place in the ring matters.
    #[inline]
    pub(crate) fn slot(self, block: u64, entry: u32) -> usize {
        (self.place(block) << self.entries) + entry as usize
    }

    /// Returns the ring's block that contains a slot.
    #[inline]
    pub(crate) fn place_of_slot(self, slot: usize) -> usize {
        slot >> self.entries
    }
}
