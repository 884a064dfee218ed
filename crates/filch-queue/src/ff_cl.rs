//! FF-CL: Chase–Lev without the owner's fence.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! <https://doi.org/10.1145/2541940.2541987>, section 4.1.
//!
//! **Idea.** [`ChaseLev`](crate::ChaseLev) without the fence in pop: the pop's load of H may overtake its store of T,
//! so that a thief sees an old T. But the owner's store buffer is bounded. A thief swaps H only if H is more than δ
//! below the T that the thief reads; then the owner cannot have passed it unseen. If H is closer, the thief gives up,
//! unless it can see that the deque is empty.
//!
//! **Fields.** Each on its own line.
//! * `head`: H, raised by thieves, and by the owner for the last task; read by all. Never lowered; 64 bits do not wrap.
//! * `tail`: T, written by the owner, read by thieves.
//! * `array`: the current ring and the former ones: see `growing.rs`.
//! * `pad`: written by the owner, never read: see `fence_free.rs`.
//! * private to the owner: `tail`, `ring` (copies of the shared ones, which only the owner writes), `limit` (the index
//!   below which a push is known to have room), `empty_at` (a T at which the deque is known to be empty).
//!
//! **Invariants.**
//! * I1: H ≤ T + 1, and H ≤ T outside a pop.
//! * I2: T ≤ limit ≤ H + capacity, so a push overwrites no slot that may still be taken.
//! * I3: if T = `empty_at`, then H = T.
//! * I4: an index is claimed by the compare-and-swap that raises H past it, or by a pop that lowers T to it and then
//!   reads a smaller H; never by both. The thief whose swap succeeds has read H at the index, then T more than δ above
//!   it. At most δ lowering stores of T were pending then, so the owner had not yet lowered T to that index; the pop
//!   that does so reads H later, finds it not below the index, and swaps too.
//! * B: between two stores that lower T there is a store to another line: the pad; or the owner's swap, which drains
//!   the store buffer; or, after a pop that failed, the slot of a push.
//!
//! **Edges.**
//! * E1: every store of T (release) → its load in `steal` (acquire): slots and task contents are written before T
//!   passes them. Stores that lower T count: a relaxed one would not continue the release of an earlier push.
//! * E2: the compare-and-swap in `steal` (release) → the load of H in `make_room` (acquire): a thief has read its slot
//!   before the owner uses the slot again.
//! * G of `growing.rs`: a thief that finds a new ring finds the tasks in it.
//! * Instead of fences: in `pop` the compiler keeps the store of T before the load of H, and B bounds how many such
//!   stores the load can overtake. In `steal` compiler and processor keep the load of H before the load of T.
//!
//! **Memory model.** TSO\[S\] with δ at least ⌈S / 2⌉: x86-64 only. Under Rust's model, or if δ is too small, a task
//! may be taken twice. Without the pad, stores of T may merge, and no δ is enough.
//!
//! **Progress.** Owner wait-free (except for growing, which allocates). Steal lock-free, if a refusal counts as an
//! answer. **Capacity.** Grows.
//!
//! **Departures.** As in [`chase_lev`](crate::chase_lev). The paper counts the program's other stores between two pops;
//! the pad store guarantees at least one. Tests: `queues/battery.rs`, `queues/stalled.rs`, `emitted/main.rs`.
//!
//! **Names.** H and T as in the paper, in code `head` and `tail`; they are Chase–Lev's top and bottom. Put and take are
//! `push` and `pop`.
//!
//! **Scenarios.** `ff_cl` and `unsure_ff_cl` in the battery, the property and the stalled-thief tests; `ff-cl` in the
//! checker; its pop in `emitted/main.rs`.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fence_free::{Delta, Pad};
use crate::growing::GrowingRing;
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The fence-free Chase–Lev deque: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, FfCl, Owner, Queue, Steal, Task, Thief};
///
/// // By default δ is infinite, and thieves are never sure.
/// let (mut owner, mut thieves) = <FfCl as Queue>::make(8, 1, &Delta::default());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Aborted);
/// assert_eq!(owner.pop(), Some(task));
/// assert_eq!(thieves[0].steal(), Steal::Empty);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FfCl;

struct Shared<M: Memory> {
    head: Padded<M::AtomicI64>,
    tail: Padded<M::AtomicI64>,
    array: GrowingRing<M>,
    pad: Pad<M>,
}

/// The owner's side of a [`FfCl`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    /// The newest ring of `shared.array`, hence valid as long as `shared`.
    ring: NonNull<Ring<M>>,
    tail: i64,
    limit: i64,
    empty_at: i64,
}

// SAFETY: `ring` points into `shared`, which is Send and Sync, and a ring consists of atomics.
unsafe impl<M: Memory> Send for Owner<M> {}
// SAFETY: a shared owner only reads; every method that writes takes `&mut self`.
unsafe impl<M: Memory> Sync for Owner<M> {}

/// A thief's side of a [`FfCl`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    delta: Delta,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for FfCl {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Delta;

    const PROMISES: Promises = Promises {
        name: "ff-cl",
        paper: "Morrison and Afek, Fence-Free Work Stealing on Bounded TSO Processors, ASPLOS 2014",
        follows: "figure 4",
        departures: &[
            "Those of chase-lev.",
            "A pop also stores to a pad, so that there is another store between two that lower T; the paper counts the program's.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: true,
        steal_progress: Progress::LockFree,
        stealable: Stealable::AllButNewest,
        memory_model: MemoryModel::BoundedTso,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn kept_back(_: usize, delta: &Delta) -> usize {
        delta.get().unwrap_or(usize::MAX)
    }

    fn make(capacity: usize, thieves: usize, &delta: &Delta) -> (Owner<M>, Vec<Thief<M>>) {
        let (array, ring) = GrowingRing::new(capacity);
        let shared =
            Arc::new(Shared { head: Padded(Atomic::new(0)), tail: Padded(Atomic::new(0)), array, pad: Pad::new() });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), delta }).collect();
        // A limit of 0 makes the first push call `make_room`.
        (Owner { shared, ring, tail: 0, limit: 0, empty_at: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn ring(&self) -> &Ring<M> {
        // SAFETY: valid as long as `shared`, and never borrowed mutably.
        unsafe { self.ring.as_ref() }
    }

    /// Raises `limit` above T, growing the ring if it is really full.
    #[cold]
    fn make_room(&mut self) {
        // E2: pairs with the compare-and-swap in `steal`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let head = self.shared.head.load(Ordering::Acquire);
        if self.tail - head >= self.ring().capacity() as i64 {
            // SAFETY: there is one owner, and `&mut self` makes this its only call.
            self.ring = unsafe { self.shared.array.grow(self.ring(), head..self.tail) };
        }
        self.limit = head + self.ring().capacity() as i64;
    }

    /// Ends a pop that lowered T to `t` and found H at or above it.
    #[cold]
    #[inline(never)]
    fn pop_last(&mut self, t: i64, head: i64) -> Option<Task> {
        // Either way H and T meet at t + 1: if H is above t, it is already there, by I1.
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(t + 1, Ordering::Release);
        self.empty_at = t + 1;
        // Relaxed: the thread that swaps H has the task (I4), and the owner's later pushes publish themselves. As a
        // read–modify–write the swap continues the release sequences of E2. B: it drains the store buffer.
        let won =
            head == t && self.shared.head.compare_exchange(t, t + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if won { self.ring().read(t as usize) } else { None }
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.tail == self.limit {
            self.make_room();
        }
        self.ring().write(self.tail as usize, task);
        self.tail += 1;
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.tail == self.empty_at {
            return None;
        }
        let t = self.tail - 1;
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(t, Ordering::Release);
        // I4: the processor may let the load below overtake at most δ of these stores; the compiler must let it
        // overtake none.
        M::compiler_fence();
        // Relaxed: the owner uses no other data that thieves wrote.
        let head = self.shared.head.load(Ordering::Relaxed);
        if head >= t {
            return self.pop_last(t, head);
        }
        // B.
        self.shared.pad.store(t);
        self.tail = t;
        self.ring().read(t as usize)
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let head = self.shared.head.load(Ordering::Relaxed);
        usize::try_from(self.tail - head).unwrap_or(0)
    }
}

impl<M: Memory> Thief<M> {
    /// Returns the number of tasks, for hints.
    fn tasks(&self) -> i64 {
        // Relaxed: whatever orders the push before this call makes both loads recent enough; for a task at index i that
        // is still there, H is at most i and T is above i.
        let head = self.shared.head.load(Ordering::Relaxed);
        self.shared.tail.load(Ordering::Relaxed) - head
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // Acquire: I4 needs only that this load comes before the next.
        // kept over Relaxed: the compiler must not exchange it with the load of T. The checker's machines do not, and
        // on C11, where the exchange would show, the owner's missing fence shows first.
        let head = shared.head.load(Ordering::Acquire);
        // E1: pairs with the stores in `push`, `pop` and `pop_last`.
        let tail = shared.tail.load(Ordering::Acquire);
        if head >= tail {
            return Steal::Empty;
        }
        if !self.delta.is_beyond(tail - head) {
            return Steal::Aborted;
        }
        // Discarded unless the swap succeeds.
        let task = shared.array.current().read(head as usize);
        // E2: pairs with the load in `make_room`. Relaxed on failure: nothing is used.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        match shared.head.compare_exchange(head, head + 1, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [H, T) holds a task")),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        self.tasks() > 0
    }

    #[inline]
    fn has_stealable_hint(&self) -> bool {
        self.delta.is_beyond(self.tasks())
    }
}
