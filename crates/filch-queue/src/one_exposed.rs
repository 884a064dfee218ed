//! One exposed task: a private deque whose oldest task is where thieves can take it.
//!
//! **Paper.** Described in the related work of Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel
//! Programs by Work Stealing with Private Deques*, PPoPP 2013, <https://doi.org/10.1145/2442516.2442538>, where it is
//! credited to Alexandros Tzannes. The protocol below is ours.
//!
//! **Idea.** The owner keeps its tasks in a private deque and puts the oldest into a cell. A thief takes the task in
//! the cell. At its next operation the owner sees that the cell is empty and puts the next oldest there. No thief ever
//! waits for an answer to a request, and thieves get at most one task per operation of the owner.
//!
//! **Fields.** Each on its own line.
//! * `cell`: the exposed task or null. The owner fills it, either side empties it, all read it.
//! * `has_private`: whether the owner's deque holds a task. Written by the owner when that changes; only for hints.
//! * private to the owner: `tasks`, oldest first.
//!
//! **Invariants.**
//! * I1: only the owner writes a task into the cell, and only when the cell is null.
//! * I2: a task leaves the cell by a swap, which one thread wins.
//! * I3: the task in the cell is older than all in the deque.
//! * I4: after each operation of the owner, until a thief takes the exposed task, the cell is null only if there is no
//!   task at all.
//!
//! **Edges.**
//! * E1: the store of `cell` in `expose` (release) → the compare-and-swap in `steal` (acquire): the task's contents.
//! * E2: the stores of `has_private` that clear it, in `expose_oldest` and `pop` (release) → its load in
//!   `has_work_hint` (acquire): a thread that sees the deque empty sees what has been put into the cell.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** Owner wait-free (except for growing, which allocates),
//! steal lock-free. **Capacity.** Grows.
//!
//! **Departures.** A thief empties the cell by a compare-and-swap on the word that it has seen there. If the same word
//! has come back, it names a newer task, which the swap returns. `has_private` is ours, for workers that go to sleep.
//! Tests: `queues/battery.rs` (hints, starvation), and the checker's `hint` scenarios.
//!
//! **Names.** Ours.
//!
//! **Scenarios.** `one_exposed` in the battery, the property and the stalled-thief tests; `one-exposed` in the checker.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The private deque with one exposed task: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{OneExposed, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <OneExposed as Queue>::make(8, 1, &());
/// for n in 1..=3 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(thieves[0].steal(), Steal::Empty); // one at a time
/// owner.poll(); // a push or a pop would do, too
/// assert_eq!(thieves[0].steal(), Steal::Task(task(2)));
/// assert_eq!(owner.pop(), Some(task(3)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneExposed;

struct Shared<M: Memory> {
    cell: Padded<M::AtomicPtr<()>>,
    has_private: Padded<M::AtomicBool>,
}

/// The owner's side of a [`OneExposed`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    tasks: VecDeque<Task>,
}

/// A thief's side of a [`OneExposed`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for OneExposed {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "one-exposed",
        paper: "Tzannes, in Acar, Charguéraud and Rainey, Work Stealing with Private Deques, PPoPP 2013",
        follows: "a sentence of section 6",
        departures: &[
            "The protocol is ours.",
            "A flag says whether the owner has more tasks, for workers that go to sleep.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::OldestOnly,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        let shared =
            Arc::new(Shared { cell: Padded(Atomic::new(Task::NO_WORD)), has_private: Padded(Atomic::new(false)) });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, tasks: VecDeque::with_capacity(capacity) }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn nothing_is_exposed(&self) -> bool {
        // Relaxed: I1; an owner that sees late that the cell is empty fills it late.
        self.shared.cell.load(Ordering::Relaxed).is_null()
    }

    /// Puts a task into the cell, which is null.
    fn expose(&self, task: Task) {
        // E1: pairs with the compare-and-swap in `steal`.
        self.shared.cell.store(task.word(), Ordering::Release);
    }

    /// Puts the oldest private task into the cell. There is one, and the cell is null.
    #[cold]
    fn expose_oldest(&mut self) {
        self.tasks.pop_front().into_iter().for_each(|task| self.expose(task));
        if self.tasks.is_empty() {
            // E2: pairs with the load in `has_work_hint`.
            self.shared.has_private.store(false, Ordering::Release);
        }
    }

    /// Takes back the exposed task, if there is one, when the owner has no other.
    #[cold]
    fn take_back(&self) -> Option<Task> {
        if self.nothing_is_exposed() {
            return None;
        }
        // Relaxed: the task is the owner's own, the swap decides which thread gets it, and thieves leave nothing in the
        // cell.
        Task::from_word(self.shared.cell.swap(Task::NO_WORD, Ordering::Relaxed))
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let exposes = self.nothing_is_exposed();
        if self.tasks.is_empty() {
            if exposes {
                self.expose(task);
                return Ok(());
            }
            // Relaxed: a hint, and it hides nothing.
            self.shared.has_private.store(true, Ordering::Relaxed);
        }
        self.tasks.push_back(task);
        if exposes {
            self.expose_oldest();
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let Some(task) = self.tasks.pop_back() else { return self.take_back() };
        if self.tasks.is_empty() {
            // E2: pairs with the load in `has_work_hint`.
            self.shared.has_private.store(false, Ordering::Release);
        } else if self.nothing_is_exposed() {
            self.expose_oldest();
        }
        Some(task)
    }

    #[inline]
    fn poll(&mut self) {
        if !self.tasks.is_empty() && self.nothing_is_exposed() {
            self.expose_oldest();
        }
    }

    fn len_hint(&self) -> usize {
        self.tasks.len() + usize::from(!self.nothing_is_exposed())
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let cell = &self.shared.cell;
        // Relaxed: the compare-and-swap validates it, and acquires.
        let word = cell.load(Ordering::Relaxed);
        let Some(_) = Task::from_word(word) else { return Steal::Empty };
        // E1: pairs with the store in `expose`. Relaxed on failure: nothing is used. The loaded word may dangle.
        match cell.compare_exchange(word, Task::NO_WORD, Ordering::Acquire, Ordering::Relaxed) {
            Ok(word) => Task::from_word(word).map_or(Steal::Empty, Steal::Task),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // A task may move from the deque to the cell in between, but not back: so this reads the deque's flag first.
        // E2: pairs with the stores in `expose_oldest` and `pop`.
        let has_private = self.shared.has_private.load(Ordering::Acquire);
        // Relaxed: whatever orders the push before this call, or E2, makes it recent enough.
        has_private || !self.shared.cell.load(Ordering::Relaxed).is_null()
    }
}
