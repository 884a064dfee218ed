//! The items of a vector, moved out.
//!
//! Invariant: each item belongs to one drain or one iterator, which moves it out or drops it.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::divide::divisible::Divisible;

/// The items of a vector, by value: the source of `filch::par(v)`. Its parts share the vector's memory, which is freed
/// after the last part.
pub struct Drain<T> {
    first: NonNull<T>,
    length: usize,
    /// The vector, with its capacity and 0 items.
    memory: Arc<Vec<ManuallyDrop<T>>>,
    items: PhantomData<T>,
}

// SAFETY: a drain owns its items, and no other refers to them. Of the shared memory it only frees what all have left,
// after the counter of the `Arc` has ordered that after every use.
unsafe impl<T: Send> Send for Drain<T> {}

impl<T> Drain<T> {
    pub(crate) fn new(items: Vec<T>) -> Self {
        let mut items = ManuallyDrop::new(items);
        let (length, capacity) = (items.len(), items.capacity());
        let first = NonNull::new(items.as_mut_ptr()).expect("a vector's pointer is not null");
        // SAFETY: the parts of a vector that is forgotten; `ManuallyDrop<T>` has the layout of `T`, and 0 items are
        // always initialized.
        let memory = unsafe { Vec::from_raw_parts(first.as_ptr().cast::<ManuallyDrop<T>>(), 0, capacity) };
        Self { first, length, memory: Arc::new(memory), items: PhantomData }
    }
}

impl<T> Drop for Drain<T> {
    fn drop(&mut self) {
        let items = ptr::slice_from_raw_parts_mut(self.first.as_ptr(), mem::take(&mut self.length));
        // SAFETY: the drain owns these items, of memory that lives, and has just given them up.
        unsafe { ptr::drop_in_place(items) };
    }
}

impl<T> std::fmt::Debug for Drain<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drain").field("length", &self.length).finish_non_exhaustive()
    }
}

impl<T: Send> Divisible for Drain<T> {
    #[inline]
    fn length(&self) -> usize {
        self.length
    }

    #[inline]
    fn cut(mut self, at: usize) -> (Self, Self) {
        assert!(at <= self.length, "a cut beyond the end");
        let right = Self {
            // SAFETY: at most one past the last item.
            first: unsafe { self.first.add(at) },
            length: self.length - at,
            memory: Arc::clone(&self.memory),
            items: PhantomData,
        };
        self.length = at;
        (self, right)
    }
}

impl<T> IntoIterator for Drain<T> {
    type Item = T;
    type IntoIter = Items<T>;

    #[inline]
    fn into_iter(self) -> Items<T> {
        Items(self)
    }
}

/// Moves the items of a [`Drain`] out.
#[derive(Debug)]
pub struct Items<T>(Drain<T>);

impl<T> Iterator for Items<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.length = self.0.length.checked_sub(1)?;
        let item = self.0.first;
        // SAFETY: there was an item, so this is at most one past the last.
        self.0.first = unsafe { item.add(1) };
        // SAFETY: the drain owned this item, and has given it up.
        Some(unsafe { item.read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.length, Some(self.0.length))
    }
}

impl<T> DoubleEndedIterator for Items<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.0.length = self.0.length.checked_sub(1)?;
        // SAFETY: the drain owned this item, the last one, and has given it up.
        Some(unsafe { self.0.first.add(self.0.length).read() })
    }
}

impl<T> ExactSizeIterator for Items<T> {}

impl<T> FusedIterator for Items<T> {}
