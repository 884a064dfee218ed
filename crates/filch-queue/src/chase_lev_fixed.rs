//! Chase–Lev on one ring: a deque that is full when its ring is.
//!
//! **Paper.** David Chase and Yossi Lev, *Dynamic Circular Work-Stealing Deque*, SPAA 2005,
//! <https://doi.org/10.1145/1073970.1073974>, without what makes it grow. Orderings after Nhat Minh Lê, Antoniu Pop, Albert Cohen
//! and Francesco Zappa Nardelli, *Correct and Efficient Work-Stealing for Weak Memory Models*, PPoPP 2013,
//! <https://doi.org/10.1145/2442516.2442524>.
//!
//! **Idea.** As [`chase_lev`](crate::chase_lev), but the ring is part of the deque: a thief finds a task with one load less, which on
//! a cold line is a miss, and nothing is ever copied or allocated. Next to it stands what growing costs; next to [`abp`](crate::abp),
//! which is bounded too, what a circular array gains over one that is full at its end.
//!
//! **Fields.** Each on its own line.
//! * `top`: raised by thieves, and by the owner for the last task; read by all. Never lowered; 64 bits do not wrap.
//! * `bottom`: written by the owner, read by thieves.
//! * `ring`: where the tasks lie; the box never changes.
//! * the owner's own: `bottom` (a copy of the shared one, which only the owner writes), `limit` (the index below which a push is
//!   known to have room), `empty_at` (a bottom at which the deque is known to be empty).
//!
//! **Invariants.**
//! * I1: top ≤ bottom + 1, and top ≤ bottom outside a pop.
//! * I2: bottom ≤ limit ≤ top + capacity, so a push overwrites no slot that may still be taken.
//! * I3: if bottom = `empty_at`, then top = bottom.
//! * I4: an index is claimed by the compare-and-swap that raises top past it, or by a pop that lowered bottom to it and
//!   then read a smaller top; never by both.
//!
//! **Edges.**
//! * E1: every store of `bottom` (release, or relaxed after a fence) → its load in `steal` (acquire): slots and task contents are
//!   written before bottom passes them. Stores that lower bottom count: a relaxed one would not continue the release of an earlier
//!   push.
//! * E2: the compare-and-swap in `steal` (release) → the load of `top` in `has_room` (acquire): a thief has read its slot before the
//!   owner uses the slot again.
//! * F: the fence in `pop` and the fence in `steal` forbid that a pop reads a top below the index it takes while a
//!   thief at that index reads a bottom above it.
//!
//! **Memory model.** Rust's. Without either fence, F fails on every processor that has a store buffer, x86 included.
//!
//! **Progress.** Owner wait-free, steal lock-free. **Capacity.** A ring.
//!
//! **Departures.** Those of `chase_lev.rs`; and a push that finds no room returns its task. Tests: `queues/battery.rs` (overflow,
//! wrap-around, last task), `queues/property.rs`.
//!
//! **Names.** As in both papers; `take` of the second is `pop` here.
//!
//! **Scenarios.** `chase_lev_fixed` in the battery, the property and the stalled-thief tests; `chase-lev-fixed` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The Chase–Lev deque of one size, by name: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{ChaseLevFixed, Full, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <ChaseLevFixed as Queue>::make(2, 1, &());
/// owner.push(task(1)).unwrap();
/// owner.push(task(2)).unwrap();
/// assert_eq!(owner.push(task(3)), Err(Full(task(3))));
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.push(task(3)), Ok(())); // in the slot that the thief has emptied
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChaseLevFixed;

struct Shared<M: Memory> {
    top: Padded<M::AtomicI64>,
    bottom: Padded<M::AtomicI64>,
    ring: Padded<Ring<M>>,
}

/// The owner's side of a [`ChaseLevFixed`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    bottom: i64,
    limit: i64,
    empty_at: i64,
}

/// A thief's side of a [`ChaseLevFixed`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: the invariants and edges of the file's head.
unsafe impl<M: Memory> Queue<M> for ChaseLevFixed {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "chase-lev-fixed",
        paper: "Chase and Lev, Dynamic Circular Work-Stealing Deque, SPAA 2005",
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    const THIEVES_ALIKE: bool = true;

    #[inline]
    fn steal_alike(thief: &Thief<M>) -> Steal<Task> {
        thief.steal_shared()
    }

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        let shared = Arc::new(Shared {
            top: Padded(Atomic::new(0)),
            bottom: Padded(Atomic::new(0)),
            ring: Padded(Ring::new(capacity)),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        // A limit of 0 sends the first push to `has_room`.
        (Owner { shared, bottom: 0, limit: 0, empty_at: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    /// Raises `limit`, above bottom if a slot is free, and says whether one is.
    #[cold]
    fn has_room(&mut self) -> bool {
        // E2: pairs with the compare-and-swap in `steal`.
        let top = self.shared.top.load(Ordering::Acquire);
        self.limit = top + self.shared.ring.0.capacity() as i64;
        self.bottom < self.limit
    }

    /// The end of a pop that lowered bottom to `b` and found top at or above it.
    #[cold]
    fn pop_last(&mut self, b: i64, top: i64) -> Option<Task> {
        // Relaxed: whoever swaps top has the task (I4), and the owner's later pushes publish themselves. As a
        // read–modify–write it continues the release sequences of E2.
        let won = top == b && self.shared.top.compare_exchange(b, b + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // E1: pairs with the load in `steal`; relaxed, as it follows pop's fence.
        self.shared.bottom.store(b + 1, Ordering::Relaxed);
        self.bottom = b + 1;
        self.empty_at = b + 1;
        if won { self.shared.ring.0.read(b as usize) } else { None }
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.bottom == self.limit && !self.has_room() {
            return Err(Full(task));
        }
        self.shared.ring.0.write(self.bottom as usize, task);
        self.bottom += 1;
        // E1: pairs with the load in `steal`.
        self.shared.bottom.store(self.bottom, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.bottom == self.empty_at {
            return None;
        }
        let b = self.bottom - 1;
        // E1: pairs with the load in `steal`.
        self.shared.bottom.store(b, Ordering::Release);
        // F: opposite the fence in `steal`. Without it the load below may overtake the store above.
        M::fence(Ordering::SeqCst);
        // Relaxed: F decides how old this may be; nothing that thieves wrote is read on its strength.
        let top = self.shared.top.load(Ordering::Relaxed);
        if top >= b {
            return self.pop_last(b, top);
        }
        self.bottom = b;
        self.shared.ring.0.read(b as usize)
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let top = self.shared.top.load(Ordering::Relaxed);
        usize::try_from(self.bottom - top).unwrap_or(0)
    }
}

impl<M: Memory> Thief<M> {
    #[inline]
    fn steal_shared(&self) -> Steal<Task> {
        let shared = &*self.shared;
        // Relaxed: the compare-and-swap validates it, and the fence acquires what it read.
        let top = shared.top.load(Ordering::Relaxed);
        // F: opposite the fence in `pop`.
        M::fence(Ordering::SeqCst);
        // E1: pairs with the stores in `push`, `pop` and `pop_last`.
        let bottom = shared.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        // Worth nothing unless the swap succeeds.
        let task = shared.ring.0.read(top as usize);
        // E2: pairs with the load in `has_room`. Relaxed on failure: nothing is used.
        match shared.top.compare_exchange(top, top + 1, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [top, bottom) holds a task")),
            Err(_) => Steal::Retry,
        }
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.steal_shared()
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes both loads recent enough: for a task at index i that
        // is still there, top is at most i and bottom above it.
        let top = self.shared.top.load(Ordering::Relaxed);
        top < self.shared.bottom.load(Ordering::Relaxed)
    }
}
