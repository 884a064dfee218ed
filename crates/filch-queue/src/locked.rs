//! A deque behind a lock: the baseline.
//!
//! **Paper.** None. **Idea.** Every operation takes the lock and works on an ordinary double-ended queue. It is too
//! simple to be wrong, so it is the measure for the other queues, and a test that fails here is itself wrong.
//!
//! **Fields.** `tasks`: the owner's end at the back, the thieves' end at the front; read and written under the lock.
//!
//! **Invariants and edges.** The lock's. No foreign code runs under it, so a panic cannot leave the deque half changed,
//! and a poisoned lock is still usable.
//!
//! **Memory model.** Rust's. The lock is the operating system's and is not written against [`Memory`]: to a checker, an
//! operation is one step.
//!
//! **Progress.** Blocking. **Capacity.** Grows. **Departures.** None. **Names.** Our own.
//!
//! **Scenarios.** `locked` in the battery, the property and the many-at-once tests; `locked` in the checker.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard, PoisonError};

use filch_memory::Memory;

use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Progress, Promises, Queue, Steal, StealMany, StealOrder, Stealable,
    Task,
};

/// The deque behind a lock: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Locked, Owner, Queue, Steal, Task, Thief};
///
/// let (mut owner, mut thieves) = <Locked as Queue>::make(8, 1, &());
/// owner.push(Task::from_id(NonZeroUsize::MIN)).unwrap();
/// assert!(thieves[0].steal().is_task());
/// assert_eq!(owner.pop(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Locked;

#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<VecDeque<Task>>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner's side of a [`Locked`] deque.
#[derive(Debug)]
pub struct Owner {
    tasks: Shared,
}

/// A thief's side of a [`Locked`] deque.
#[derive(Debug)]
pub struct Thief {
    tasks: Shared,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for Locked {
    type Owner = Owner;
    type Thief = Thief;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "locked",
        paper: "none: a deque behind a lock",
        follows: "",
        departures: &[],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::Blocking,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner, Vec<Thief>) {
        let tasks = Shared(Arc::new(Mutex::new(VecDeque::with_capacity(capacity))));
        let thieves = (0..thieves).map(|_| Thief { tasks: tasks.clone() }).collect();
        (Owner { tasks }, thieves)
    }
}

impl crate::Owner<Task> for Owner {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.tasks.lock().push_back(task);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        self.tasks.lock().pop_back()
    }

    fn len_hint(&self) -> usize {
        self.tasks.lock().len()
    }
}

impl crate::Thief<Task> for Thief {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        match self.tasks.lock().pop_front() {
            Some(task) => Steal::Task(task),
            None => Steal::Empty,
        }
    }

    fn has_work_hint(&self) -> bool {
        !self.tasks.lock().is_empty()
    }
}

impl StealMany<Task> for Thief {
    /// Takes half of the tasks, rounded up.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        let mut tasks = self.tasks.lock();
        let count = tasks.len().div_ceil(2).min(max);
        loot.extend(tasks.drain(..count));
        if count == 0 { Steal::Empty } else { Steal::Task(count) }
    }
}
