//! IDEM-FIFO: an idempotent queue.
//!
//! **Paper.** Michael, Vechev and Saraswat, *Idempotent Work Stealing*, PPoPP 2009,
//! <https://doi.org/10.1145/1504176.1504186>, figure 2.
//!
//! **Idea.** The indices [head, tail) of an endless array, folded into a ring, hold the tasks; the owner puts at tail,
//! and owner and thieves all take at head. The owner stores head, thieves swap it. See [`idempotent`](super) for what
//! the owner's stores undo.
//!
//! **Fields.** Each on its own line.
//! * `head`: stored by the owner, swapped by thieves.
//! * `tail`: written by the owner, read by thieves.
//! * `tasks`: the current ring and the former ones: see `growing.rs`.
//! * private to the owner: `tail`, `ring` (copies of the shared ones, which only the owner writes), `limit` (the index
//!   below which a push is known to have room).
//!
//! **Invariants.**
//! * I1: head never falls below the owner's last read of it plus one for each of its takes since: all indices below
//!   this sum are finished. 64 bits do not wrap.
//! * I2: when a push writes the slot of an index, all earlier indices of that slot are below the owner's last read of
//!   head. No thief's swap at such an earlier index succeeds any more.
//! * I3: an index leaves [head, tail) only when it is taken. A store of the owner may bring it back.
//!
//! **Edges.**
//! * E1: the store of `tail` in `push` (release) → its load in `steal` (acquire): slots, task contents and ring are
//!   written before tail passes them.
//! * E2: the store of a slot in `push` (release) → its load in `steal` (acquire): a thief that finds the task of a
//!   later lap in its slot sees, by E2, the head that the owner read before that store, and its compare-and-swap fails
//!   (I2).
//! * G of `growing.rs`: a thief that finds a new ring finds the tasks in it.
//!
//! **Memory model.** Rust's; no fence anywhere. **Progress.** Owner wait-free (except for growing, which allocates),
//! steal lock-free. **Capacity.** Grows.
//!
//! **Departures.** The owner remembers how far head has come, and does not read it in every put. The paper orders the
//! load of head before the load of tail; a thief that loads them in the other order may miss a task, as it may anyway
//! while the put is in the owner's store buffer. Rings are kept until the end. Tests: `queues/battery.rs` (growth,
//! wrap-around), and the checker's known mistake `idem-fifo-overfull-by-one`.
//!
//! **Names.** `head`, `tail`, `tasks` as in the paper; put and take are `push` and `pop`.
//!
//! **Scenarios.** `idem_fifo` in the battery, the property and the stalled-thief tests; `idem-fifo` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::growing::GrowingRing;
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The idempotent queue: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{IdempotentFifo, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <IdempotentFifo as Queue>::make(2, 1, &());
/// (1..=3).for_each(|n| owner.push(task(n)).unwrap());
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.pop(), Some(task(2)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IdempotentFifo;

struct Shared<M: Memory> {
    head: Padded<M::AtomicI64>,
    tail: Padded<M::AtomicI64>,
    tasks: GrowingRing<M>,
}

/// The owner's side of an [`IdempotentFifo`] pool.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    /// The newest ring of `shared.tasks`, hence valid as long as `shared`.
    ring: NonNull<Ring<M>>,
    tail: i64,
    limit: i64,
}

// SAFETY: `ring` points into `shared`, which is Send and Sync, and a ring consists of atomics.
unsafe impl<M: Memory> Send for Owner<M> {}
// SAFETY: a shared owner only reads; every method that writes takes `&mut self`.
unsafe impl<M: Memory> Sync for Owner<M> {}

/// A thief's side of an [`IdempotentFifo`] pool.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for IdempotentFifo {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "idem-fifo",
        paper: "Michael, Vechev and Saraswat, Idempotent Work Stealing, PPoPP 2009",
        follows: "figure 2",
        departures: &[
            "The owner remembers how far head has come, and does not read it in every put.",
            "Thieves may read tail before head.",
            "Rings are kept until the end.",
        ],
        order: Order::Fifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::AtLeastOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        let (tasks, ring) = GrowingRing::new(capacity);
        let shared = Arc::new(Shared { head: Padded(Atomic::new(0)), tail: Padded(Atomic::new(0)), tasks });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        // A limit of 0 makes the first push call `make_room`.
        (Owner { shared, ring, tail: 0, limit: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn ring(&self) -> &Ring<M> {
        // SAFETY: valid as long as `shared`, and never borrowed mutably.
        unsafe { self.ring.as_ref() }
    }

    #[inline]
    fn head(&self) -> i64 {
        // Relaxed: an old head brings back taken tasks, and even a recent one may be old when it is used. E2 keeps a
        // thief's read of its slot before the owner's next use of it.
        self.shared.head.load(Ordering::Relaxed)
    }

    /// Raises `limit` above tail, growing the ring if it is really full.
    #[cold]
    fn make_room(&mut self) {
        let head = self.head();
        if self.tail - head >= self.ring().capacity() as i64 {
            // SAFETY: there is one owner, and `&mut self` makes this its only call.
            self.ring = unsafe { self.shared.tasks.grow(self.ring(), head..self.tail) };
        }
        self.limit = head + self.ring().capacity() as i64;
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.tail == self.limit {
            self.make_room();
        }
        // E2: pairs with the load in `steal`.
        // kept over Relaxed: in C11 a thief may see a slot filled before it sees the owner's earlier take, and its swap
        // may succeed on the head from before that take; loom's updates see the newest value.
        self.ring().publish(self.tail as usize, task);
        self.tail += 1;
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let head = self.head();
        if head == self.tail {
            return None;
        }
        let task = self.ring().read(head as usize);
        // Relaxed: thieves rely on it only for a hint; E1 and E2 decide whether the slot's content is valid.
        self.shared.head.store(head + 1, Ordering::Relaxed);
        task
    }

    fn len_hint(&self) -> usize {
        usize::try_from(self.tail - self.head()).unwrap_or(0)
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // Relaxed: the compare-and-swap validates it.
        let head = shared.head.load(Ordering::Relaxed);
        // E1: pairs with the store in `push`.
        if head >= shared.tail.load(Ordering::Acquire) {
            return Steal::Empty;
        }
        // E2: pairs with the store in `push`. Discarded unless the swap succeeds.
        // kept over Relaxed: as for the store in `push`.
        let task = shared.tasks.current().read_published(head as usize);
        // Relaxed: the task taken was acquired before, and no thread waits for this thief's read (E2).
        match shared.head.compare_exchange(head, head + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [head, tail) holds a task")),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes both loads recent enough.
        let head = self.shared.head.load(Ordering::Relaxed);
        head < self.shared.tail.load(Ordering::Relaxed)
    }
}
