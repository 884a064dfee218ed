//! Storage for tasks: ring buffers of one-word slots.
//!
//! [`Ring`] is only storage: relaxed reads and writes, made safe by the index protocol of its user. A thief may read a
//! slot that it turns out not to own. The slots are atomic, so that read is defined, and the thief discards the word.
//!
//! [`HandshakeRing`] is for protocols in which a thief first wins an index and then reads the slot. The slot itself
//! shows when it may be used again:
//!
//! * H1: only the owner fills a slot, and only one that it has seen empty.
//! * H2: the thread entitled to an index, the owner or the one thief that won it, empties its slot after reading it.
//!
//! Hence a thief's read comes before the owner's next write in the slot's modification order, however long the thief
//! sleeps in between. It does not matter if the word of the index protocol returns to an old value: the winner of an
//! index takes what the slot holds at that time. A thief that never wakes up costs the ring one slot.

use alloc::boxed::Box;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::{Full, Task};

/// A ring of slots, indexed modulo its capacity.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Task, slots::Ring};
///
/// let ring = <Ring>::new(3);
/// assert_eq!(ring.capacity(), 4);
/// let task = Task::from_id(NonZeroUsize::MIN);
/// ring.write(6, task);
/// assert_eq!(ring.read(2), Some(task));
/// ```
pub struct Ring<M: Memory = Native> {
    /// The length is a power of two, hence not zero.
    slots: Box<[M::AtomicPtr<()>]>,
}

impl<M: Memory> Ring<M> {
    /// Makes a ring of empty slots: `capacity` of them, at least one, rounded up to a power of two.
    ///
    /// # Panics
    /// If the power of two does not exist or does not fit in memory.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1).checked_next_power_of_two().expect("the capacity is out of range");
        Self { slots: M::nulls(capacity) }
    }

    /// Returns the number of slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> &M::AtomicPtr<()> {
        let mask = self.slots.len().wrapping_sub(1);
        // SAFETY: the length is a power of two, so `x & (length - 1)` is less than the length for every x.
        unsafe { self.slots.get_unchecked(index & mask) }
    }

    /// Returns the task in a slot. The read orders nothing: the index protocol decides whether the task is valid.
    #[inline]
    #[track_caller]
    pub fn read(&self, index: usize) -> Option<Task> {
        // Relaxed: the caller's index protocol orders it after the write, or discards the result.
        Task::from_word(self.slot(index).load(Ordering::Relaxed))
    }

    /// Puts a task into a slot, whatever it held.
    #[inline]
    #[track_caller]
    pub fn write(&self, index: usize, task: Task) {
        // Relaxed: the caller's index protocol publishes it.
        self.slot(index).store(task.word(), Ordering::Relaxed);
    }

    /// Does what [`Ring::read`] does, and acquires from the slot's [`Ring::publish`]: for protocols whose index does
    /// not acquire.
    #[inline]
    #[track_caller]
    pub fn read_published(&self, index: usize) -> Option<Task> {
        // Pairs with the store in `publish`.
        Task::from_word(self.slot(index).load(Ordering::Acquire))
    }

    /// Does what [`Ring::write`] does, for [`Ring::read_published`].
    #[inline]
    #[track_caller]
    pub fn publish(&self, index: usize, task: Task) {
        // Pairs with the load in `read_published`.
        self.slot(index).store(task.word(), Ordering::Release);
    }
}

/// A ring whose slots show that they are empty: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Full, Task, slots::HandshakeRing};
///
/// let ring = <HandshakeRing>::new(1);
/// let task = Task::from_id(NonZeroUsize::MIN);
/// assert_eq!(ring.put(0, task), Ok(()));
/// assert_eq!(ring.put(1, task), Err(Full(task)));
/// assert_eq!(ring.take(0), Some(task));
/// assert_eq!(ring.put(1, task), Ok(()));
/// ```
pub struct HandshakeRing<M: Memory = Native>(Ring<M>);

impl<M: Memory> HandshakeRing<M> {
    /// Makes a ring of empty slots: `capacity` of them, at least one, rounded up to a power of two.
    ///
    /// # Panics
    /// If the power of two does not exist or does not fit in memory.
    pub fn new(capacity: usize) -> Self {
        Self(Ring::new(capacity))
    }

    /// Returns the number of slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Fills the slot of `index`. Only the owner may call this.
    ///
    /// # Errors
    /// The task, if the slot is not empty.
    #[inline]
    #[track_caller]
    pub fn put(&self, index: usize, task: Task) -> Result<(), Full<Task>> {
        let slot = self.0.slot(index);
        // Relaxed: H1 needs only the order of this slot's own modifications.
        if !slot.load(Ordering::Relaxed).is_null() {
            return Err(Full(task));
        }
        // Relaxed: the caller's index protocol publishes it.
        slot.store(task.word(), Ordering::Relaxed);
        Ok(())
    }

    /// Empties the slot of `index`. Only the thread entitled to the index may call this; the slot then holds a task.
    #[inline]
    #[track_caller]
    pub fn take(&self, index: usize) -> Option<Task> {
        let slot = self.0.slot(index);
        // Relaxed: the index protocol orders the entitled thread after the put.
        let task = Task::from_word(slot.load(Ordering::Relaxed));
        // Relaxed: H2; after the load in this slot's modification order, which is all that `put` relies on.
        slot.store(Task::NO_WORD, Ordering::Relaxed);
        task
    }
}
