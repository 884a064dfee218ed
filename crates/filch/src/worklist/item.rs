//! What can be a task of a worklist: anything that fits into a word.

use std::num::NonZeroUsize;
use std::ptr::NonNull;

use filch_queue::Task;

/// A task of a [`Worklist`](super::Worklist): it becomes a word in a queue, and comes back as itself.
///
/// Small numbers, references and boxes are; whatever else there is goes into a box.
///
/// ```
/// use filch::worklist::Item;
///
/// let task = 7_u32.into_task();
/// // SAFETY: it has just become a task, of this type.
/// assert_eq!(unsafe { u32::from_task(task) }, 7);
/// ```
///
/// # Safety
/// [`Item::from_task`] of the word that [`Item::into_task`] gave is sound on any thread, once; for [`Idempotent`] items, any
/// number of times.
pub unsafe trait Item: Send + Sized {
    /// The word that stands for the item, which gives up what it owns.
    fn into_task(self) -> Task;

    /// The item that the word stands for.
    ///
    /// # Safety
    /// The word comes from [`Item::into_task`] of the same type, and is turned back once, unless the type is
    /// [`Idempotent`]. What the item borrows is still there.
    unsafe fn from_task(task: Task) -> Self;
}

/// A task that may be returned twice, and run twice, by queues that promise no more than
/// [`AtLeastOnce`](filch_queue::Delivery::AtLeastOnce): running it again must do no harm to the program's result. It owns
/// nothing, so returning it twice is sound in any case.
///
/// ```
/// fn may_be_run_twice(_: impl filch::worklist::Idempotent) {}
/// may_be_run_twice(7_u32);
/// ```
///
/// ```compile_fail
/// # fn may_be_run_twice(_: impl filch::worklist::Idempotent) {}
/// may_be_run_twice(Box::new(7)); // it would be freed twice
/// ```
pub trait Idempotent: Item + Copy {}

// SAFETY: a number, moved by one; the sum fits as `usize` is longer than 32 bits.
unsafe impl Item for u32 {
    #[inline]
    fn into_task(self) -> Task {
        (self as usize).into_task()
    }

    #[inline]
    unsafe fn from_task(task: Task) -> Self {
        // SAFETY: the caller's promise.
        unsafe { usize::from_task(task) as Self }
    }
}

impl Idempotent for u32 {}

// SAFETY: a number, moved by one.
unsafe impl Item for usize {
    /// # Panics
    /// If the number is `usize::MAX`, which has no word.
    #[inline]
    fn into_task(self) -> Task {
        let successor = self.checked_add(1).and_then(NonZeroUsize::new);
        Task::from_id(successor.expect("the largest number cannot be a task"))
    }

    #[inline]
    unsafe fn from_task(task: Task) -> Self {
        task.id().get() - 1
    }
}

impl Idempotent for usize {}

// SAFETY: a pointer to something that may be shared with other threads for as long as the reference lives.
unsafe impl<T: Sync> Item for &T {
    #[inline]
    fn into_task(self) -> Task {
        Task::from_ptr(NonNull::from(self))
    }

    #[inline]
    unsafe fn from_task(task: Task) -> Self {
        // SAFETY: the caller's promise: it was such a reference, and what it borrows is still there.
        unsafe { task.as_ptr::<T>().as_ref() }
    }
}

impl<T: Sync> Idempotent for &T {}

// SAFETY: a pointer that owns what may go to another thread.
unsafe impl<T: Send> Item for Box<T> {
    #[inline]
    fn into_task(self) -> Task {
        Task::from_ptr(NonNull::from(Box::leak(self)))
    }

    #[inline]
    unsafe fn from_task(task: Task) -> Self {
        // SAFETY: the caller's promise: leaked by `into_task`, and turned back once.
        unsafe { Self::from_raw(task.as_ptr().as_ptr()) }
    }
}
