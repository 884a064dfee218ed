//! Parts of the current thread's worker.
//!
//! Invariant: only the worker's thread uses an [`Own`]. Its maker promises that, and an `Own` cannot leave the thread;
//! so it proves the right to operations that only the owner of a queue or list may do.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

/// A part of the current thread's worker: of its task pool, or of its other state.
pub(crate) struct Own<'w, T> {
    part: &'w T,
    /// Neither `Send` nor `Sync`.
    thread: PhantomData<*mut ()>,
}

impl<T> Clone for Own<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Own<'_, T> {}

impl<'w, T> Own<'w, T> {
    /// # Safety
    /// While this or a copy of it is used, the current thread is the worker that `part` belongs to.
    #[inline(always)]
    pub(crate) unsafe fn new(part: &'w T) -> Self {
        Self { part, thread: PhantomData }
    }

    /// Returns a part of this part.
    ///
    /// # Safety
    /// The result of `of` belongs to this worker as `self` does, and is not reached through another worker.
    #[inline(always)]
    pub(crate) unsafe fn part<U>(self, of: impl FnOnce(&'w T) -> &'w U) -> Own<'w, U> {
        Own { part: of(self.part), thread: PhantomData }
    }

    /// Returns the part as any thread sees it.
    #[inline(always)]
    pub(crate) fn seen(self) -> &'w T {
        self.part
    }
}

impl<T> Deref for Own<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.part
    }
}

/// Takes the value out of the cell, gives it to `f`, and puts it back.
pub(crate) fn with_taken<T: Default, R>(cell: &Cell<T>, f: impl FnOnce(&mut T) -> R) -> R {
    let mut value = cell.take();
    let result = f(&mut value);
    cell.set(value);
    result
}
