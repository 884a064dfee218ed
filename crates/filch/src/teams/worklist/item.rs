//! The tasks of a worklist: anything that fits into a word.

use std::num::NonZeroUsize;
use std::ptr::NonNull;

use filch_queue::Task;

/// A task of a [`Worklist`](super::Worklist), which converts to a word in a queue and back.
///
/// Small numbers, references and boxes implement it; box anything else.
///
/// ```
/// use filch::worklist::Item;
///
/// let task = 7_u32.into_task();
/// // SAFETY: a number of this type has just become this task.
/// assert_eq!(unsafe { u32::from_task(task) }, 7);
/// ```
///
/// # Safety
/// [`Item::from_task`] is sound on any thread, once per word from [`Item::into_task`]; for [`Idempotent`] items, any
/// number of times.
pub unsafe trait Item: Send + Sized {
    /// Converts the item, with all it owns, to a word.
    fn into_task(self) -> Task;

    /// Converts a word back to its item.
    ///
    /// # Safety
    /// The word comes from [`Item::into_task`] of the same type, and is converted once, unless the type is
    /// [`Idempotent`]. The item's borrows are still alive.
    unsafe fn from_task(task: Task) -> Self;
}

/// A task that may run twice, since queues with only [`AtLeastOnce`](filch_queue::Delivery::AtLeastOnce) delivery may
/// return it twice. A second run must not change the program's result. The task owns nothing, so returning it twice is
/// always sound.
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

// SAFETY: the word is the number plus one, which fits because `usize` is longer than 32 bits.
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

// SAFETY: the word is the number plus one.
unsafe impl Item for usize {
    /// # Panics
    /// If the number is `usize::MAX`, which no word represents.
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

// SAFETY: the word is a pointer to a value that may be shared with other threads while the reference lives.
unsafe impl<T: Sync> Item for &T {
    #[inline]
    fn into_task(self) -> Task {
        Task::from_ptr(NonNull::from(self))
    }

    #[inline]
    unsafe fn from_task(task: Task) -> Self {
        // SAFETY: by the caller's promise, the word was such a reference, and its borrow is still alive.
        unsafe { task.as_ptr::<T>().as_ref() }
    }
}

impl<T: Sync> Idempotent for &T {}

// SAFETY: the word is a pointer that owns a value that may move to another thread.
unsafe impl<T: Send> Item for Box<T> {
    #[inline]
    fn into_task(self) -> Task {
        Task::from_ptr(NonNull::from(Box::leak(self)))
    }

    #[inline]
    unsafe fn from_task(task: Task) -> Self {
        // SAFETY: by the caller's promise, `into_task` leaked the box, and this converts it back once.
        unsafe { Self::from_raw(task.as_ptr().as_ptr()) }
    }
}
