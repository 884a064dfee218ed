//! A part of the worker that this thread is.
//!
//! What must always hold: an [`Own`] is used only by the thread that is the worker. Its maker has promised that; so what only the owner
//! of a queue or of a list may do needs no other proof than one of these, which cannot leave the thread.

use std::marker::PhantomData;
use std::ops::Deref;

/// A part of the worker that this thread is: of its task pool, or of what it keeps besides.
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
    /// As long as this or a copy of it is used, the current thread is the worker that `part` is a part of.
    #[inline(always)]
    pub(crate) unsafe fn new(part: &'w T) -> Self {
        Self { part, thread: PhantomData }
    }

    /// A part of this part.
    ///
    /// # Safety
    /// What `of` returns belongs to this worker as `self` does, and is not reached by way of another one.
    #[inline(always)]
    pub(crate) unsafe fn part<U>(self, of: impl FnOnce(&'w T) -> &'w U) -> Own<'w, U> {
        Own { part: of(self.part), thread: PhantomData }
    }

    /// The same, as anybody sees it.
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
