//! A queue without its owner's fences, for an owner that is alone; it shows what the fences cost.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! <https://doi.org/10.1145/2541940.2541987>, figure 1: programs on one worker, with the fence in take and without.
//!
//! **Idea.** The shipped source of [`The`](crate::The) and [`ChaseLev`](crate::ChaseLev), on a memory whose fences only
//! keep the compiler from reordering. Nothing is stored in the fence's place: only the fence-free queues have a pad.
//!
//! **Invariants.** Those of the queue; and there is no thief.
//!
//! **Memory model.** One thread. With a thief a task is taken twice: `the-no-fence-in-pop` and
//! `chase-lev-no-fence-in-pop` of the checker's known mistakes. So [`Queue::make`] refuses thieves.
//!
//! **Departures.** The queue's own.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;

use filch_memory::{Memory, Native, Ordering};

use self::alone::Alone;
use crate::{Full, MemoryModel, Promises, Queue, Steal, Task};

mod alone {
    /// The machine's memory, as long as one thread uses it. Nobody outside can name it, so nobody can share it.
    pub struct Alone;
}

// SAFETY: atomics and cells are the machine's. A fence orders a thread's accesses for another thread that reads what
// they wrote, and here there is none: nobody outside can name this memory, `Unfenced` makes no thief, and so all
// accesses to a queue on it are the owner's. A thread sees its own accesses in program order, with a fence or without.
// If the owner moves to another thread, the move orders its accesses before it and after it.
unsafe impl Memory for Alone {
    type AtomicU32 = <Native as Memory>::AtomicU32;
    type AtomicU64 = <Native as Memory>::AtomicU64;
    type AtomicI64 = <Native as Memory>::AtomicI64;
    type AtomicUsize = <Native as Memory>::AtomicUsize;
    type AtomicBool = <Native as Memory>::AtomicBool;
    type AtomicPtr<T> = <Native as Memory>::AtomicPtr<T>;
    type Cell<T> = <Native as Memory>::Cell<T>;

    fn nulls<T>(count: usize) -> Box<[Self::AtomicPtr<T>]> {
        Native::nulls(count)
    }

    #[inline(always)]
    fn fence(_: Ordering) {
        Native::compiler_fence();
    }

    #[inline(always)]
    fn compiler_fence() {
        Native::compiler_fence();
    }

    #[inline(always)]
    fn spin_loop() {
        Native::spin_loop();
    }
}

/// The queue `Q`, [`The`](crate::The) or [`ChaseLev`](crate::ChaseLev), without its owner's fence: see the
/// [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Owner, Queue, Task, The, Unfenced};
///
/// let (mut owner, _) = <Unfenced<The> as Queue>::make(8, 0, &());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// assert_eq!(owner.pop(), Some(task));
/// ```
///
/// ```should_panic
/// use filch_queue::{ChaseLev, Queue, Unfenced};
///
/// <Unfenced<ChaseLev> as Queue>::make(8, 1, &()); // a thief
/// ```
pub struct Unfenced<Q>(PhantomData<fn() -> Q>);

/// The owner's side of an [`Unfenced`] queue.
pub struct Owner<Q: Queue<Alone>>(Q::Owner);

/// A thief of an [`Unfenced`] queue: there is none.
pub enum Thief {}

impl<Q> Debug for Unfenced<Q> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Unfenced")
    }
}

// SAFETY: with one thread, `Q` on this memory makes the same accesses with the same results as on the machine's (see
// above), where it keeps the promises: its owner returns only words that have been pushed, each once, and does not
// unwind. Push and pop run on the same thread, or the owner's move between threads has ordered them. There are no
// thieves to return anything or to be shared.
unsafe impl<Q: Queue<Alone>> Queue<Native> for Unfenced<Q> {
    type Owner = Owner<Q>;
    type Thief = Thief;
    type Params = Q::Params;

    const PROMISES: Promises = Promises {
        name: match Q::PROMISES.name.as_bytes() {
            b"the" => "the-unfenced",
            b"chase-lev" => "chase-lev-unfenced",
            _ => panic!("the queue has no such form"),
        },
        paper: "Morrison and Afek, Fence-Free Work Stealing on Bounded TSO Processors, ASPLOS 2014",
        follows: "figure 1: without the fence in take",
        memory_model: MemoryModel::OneThread,
        ..Q::PROMISES
    };

    /// # Panics
    /// If there are thieves.
    fn make(capacity: usize, thieves: usize, params: &Q::Params) -> (Owner<Q>, Vec<Thief>) {
        assert!(thieves == 0, "an owner that does not fence must be alone");
        (Owner(Q::make(capacity, 0, params).0), Vec::new())
    }
}

impl<Q: Queue<Alone>> crate::Owner<Task> for Owner<Q> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.0.push(task)
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        self.0.pop()
    }

    #[inline]
    fn poll(&mut self) {
        self.0.poll();
    }

    #[inline]
    fn len_hint(&self) -> usize {
        self.0.len_hint()
    }
}

impl crate::Thief<Task> for Thief {
    fn steal(&mut self) -> Steal<Task> {
        match *self {}
    }

    fn has_work_hint(&self) -> bool {
        match *self {}
    }
}
