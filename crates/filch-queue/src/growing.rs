//! Storage of a circular deque: an endless array, or one ring for ever. The array is a ring; when it is full, a ring of
//! double size replaces it.
//!
//! **Fields.** Of the array: `current` is the newest ring; the owner replaces it, and thieves read it. It is
//! read-mostly, on its own line. `rings` keeps every ring until both sides are dropped, because a thief may be reading
//! an old one; the old ones together are smaller than the newest.
//!
//! **Edge.** G: the store of `current` in `grow` (release) → its load in `current` (acquire): the tasks are copied
//! before thieves find the ring.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ops::Range;
use core::ptr::NonNull;

use filch_memory::{Atomic, Memory, Ordering};

use crate::Padded;
use crate::slots::Ring;

/// The storage of a deque, growing or fixed.
pub trait Buffer<M: Memory>: Send + Sync {
    /// Makes a buffer whose first ring has room for `capacity` tasks.
    ///
    /// # Panics
    /// As [`Ring::new`].
    fn with_room(capacity: usize) -> Self;

    /// Returns the ring for thieves, and initially for the owner: valid as long as the buffer does not move.
    fn current(&self) -> &Ring<M>;

    /// Replaces `old`, the newest ring, by a larger one with the same tasks; `None` if there is no larger one.
    ///
    /// # Safety
    /// * Only the owner calls this, so that no two calls overlap.
    unsafe fn larger(&self, old: &Ring<M>, tasks: Range<i64>) -> Option<NonNull<Ring<M>>>;
}

impl<M: Memory> Buffer<M> for GrowingRing<M> {
    fn with_room(capacity: usize) -> Self {
        Self::new(capacity).0
    }

    #[inline]
    fn current(&self) -> &Ring<M> {
        self.current()
    }

    unsafe fn larger(&self, old: &Ring<M>, tasks: Range<i64>) -> Option<NonNull<Ring<M>>> {
        // SAFETY: the caller's promise.
        Some(unsafe { self.grow(old, tasks) })
    }
}

impl<M: Memory> Buffer<M> for Padded<Ring<M>> {
    fn with_room(capacity: usize) -> Self {
        Self(Ring::new(capacity))
    }

    #[inline]
    fn current(&self) -> &Ring<M> {
        &self.0
    }

    unsafe fn larger(&self, _: &Ring<M>, _: Range<i64>) -> Option<NonNull<Ring<M>>> {
        None
    }
}

/// The endless array.
pub struct GrowingRing<M: Memory> {
    /// One of `rings`, hence valid as long as `self`.
    current: Padded<M::AtomicPtr<Ring<M>>>,
    rings: Rings<M>,
}

/// Every ring that has been in use. Each pointer comes from a box and stays valid until `self` is dropped.
struct Rings<M: Memory>(UnsafeCell<Vec<NonNull<Ring<M>>>>);

// SAFETY: the rings belong to `self`, and a ring is Send and Sync: it consists of atomics.
unsafe impl<M: Memory> Send for Rings<M> {}
// SAFETY: through a shared reference only `keep` accesses the vector, and only the owner calls `keep`.
unsafe impl<M: Memory> Sync for Rings<M> {}

impl<M: Memory> Rings<M> {
    /// Keeps a ring until `self` is dropped.
    ///
    /// # Safety
    /// * No two calls overlap.
    unsafe fn keep(&self, ring: Ring<M>) -> NonNull<Ring<M>> {
        // A raw pointer from here on: moving the box would invalidate the pointers that others hold.
        let ring = NonNull::from(Box::leak(Box::new(ring)));
        // SAFETY: this is the only access through a shared reference, and calls do not overlap.
        unsafe { &mut *self.0.get() }.push(ring);
        ring
    }
}

impl<M: Memory> Drop for Rings<M> {
    fn drop(&mut self) {
        for ring in self.0.get_mut().drain(..) {
            // SAFETY: the pointer was leaked from a box in `keep`, and nothing else frees it.
            drop(unsafe { Box::from_raw(ring.as_ptr()) });
        }
    }
}

impl<M: Memory> GrowingRing<M> {
    /// Makes the array and its first ring, which the owner remembers: it is valid as long as the array.
    ///
    /// # Panics
    /// As [`Ring::new`].
    pub(crate) fn new(capacity: usize) -> (Self, NonNull<Ring<M>>) {
        let rings = Rings(UnsafeCell::default());
        // SAFETY: no other thread has `rings`.
        let ring = unsafe { rings.keep(Ring::new(capacity)) };
        (Self { current: Padded(Atomic::new(ring.as_ptr())), rings }, ring)
    }

    /// Returns the ring for thieves.
    #[inline]
    pub(crate) fn current(&self) -> &Ring<M> {
        // G: pairs with the store in `grow`.
        let ring = self.current.load(Ordering::Acquire);
        // SAFETY: the pointer is one of `rings`, valid as long as `self`, and G makes the ring's construction
        // happen before this.
        unsafe { &*ring }
    }

    /// Replaces `old`, the newest ring, by one of double size that holds the same tasks, and returns it: valid as long
    /// as the array.
    ///
    /// # Safety
    /// * Only the owner calls this, so that no two calls overlap.
    pub(crate) unsafe fn grow(&self, old: &Ring<M>, tasks: Range<i64>) -> NonNull<Ring<M>> {
        let new = Ring::new(old.capacity().checked_mul(2).expect("the capacity is out of range"));
        for index in tasks {
            // A task that a thief takes meanwhile is copied needlessly.
            let task = old.read(index as usize).expect("a slot in use holds a task");
            new.write(index as usize, task);
        }
        // SAFETY: the caller's promise.
        let new = unsafe { self.rings.keep(new) };
        // G: pairs with the load in `current`.
        self.current.store(new.as_ptr(), Ordering::Release);
        new
    }
}
