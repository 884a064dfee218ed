//! Chase–Lev with an asymmetric fence: the thief pays for both sides.
//!
//! **Paper.** The deque is Chase–Lev's, see [`chase_lev`](crate::chase_lev). The fence is David Goldblatt's *Asymmetric
//! Fences*, C++ standards paper P1202, <https://wg21.link/p1202>. On Linux it is `membarrier(2)`.
//!
//! **Idea.** A pop needs its fence only if a thief is near. So the owner's fence becomes a compiler fence, and a thief,
//! between its reads of top and bottom, asks the operating system to make every running thread of the process execute a
//! fence. A pop that began before that fence has then published its bottom; a later pop finds the thief's top. The call
//! costs the thief a microsecond or more and interrupts the owner, so the thief first checks for tasks.
//!
//! **Fields.** Each on its own line.
//! * `top`: raised by thieves, and by the owner for the last task; read by all. Never lowered; 64 bits do not wrap.
//! * `bottom`: written by the owner, read by thieves.
//! * `buffer`: the current ring and the former ones: see `growing.rs`.
//! * private to both sides: `asymmetric`, which tells whether there are barriers or both sides fence; decided when the
//!   deque is made.
//! * private to the owner: `bottom`, `ring`, `limit`, `empty_at` as in [`chase_lev`](crate::chase_lev).
//!
//! **Invariants.** I1 to I4 of [`chase_lev`](crate::chase_lev).
//!
//! **Edges.** E1, E2 and G of [`chase_lev`](crate::chase_lev), and
//! * F: the light barrier in `pop` and the heavy barrier in `steal`, or a fence instead of each, rule out that a pop
//!   reads a top below the index it takes while a thief at that index reads a bottom above it.
//!
//! **Memory model.** Rust's and [`Asymmetric`]: without the heavy barrier, F fails on every processor with a store
//! buffer. Rust's alone where the system has no such barrier, and with [`Fences::Symmetric`].
//!
//! **Progress.** Owner wait-free (except for growing, which allocates), steal lock-free. **Capacity.** Grows.
//!
//! **Departures.** As in [`chase_lev`](crate::chase_lev). The check before the barrier is ours; as elsewhere, a thief
//! may find the deque empty while its first task is still in the owner's store buffer. Only Linux's barrier is used; on
//! other systems both sides fence. Tests: `queues/battery.rs` (all), and the checker's known mistake
//! `chase-lev-asym-no-heavy-barrier`.
//!
//! **Names.** As in [`chase_lev`](crate::chase_lev).
//!
//! **Scenarios.** `chase_lev_asym` in the battery, the property and the stalled-thief tests; `chase-lev-asym` in the
//! checker, with both kinds of fences.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

use filch_memory::{Asymmetric, Atomic, Native, Ordering};

use crate::growing::GrowingRing;
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The Chase–Lev deque with an asymmetric fence: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{ChaseLevAsym, Owner, Queue, Steal, Task, Thief, chase_lev_asym::Fences};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// for fences in [Fences::Asymmetric, Fences::Symmetric] {
///     let (mut owner, mut thieves) = <ChaseLevAsym as Queue>::make(1, 1, &fences);
///     (1..=3).for_each(|n| owner.push(task(n)).unwrap());
///     assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
///     assert_eq!(owner.pop(), Some(task(3)));
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChaseLevAsym;

/// Which side pays for the fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fences {
    /// The thief pays for both sides if the system allows it; otherwise as `Symmetric`.
    #[default]
    Asymmetric,
    /// Each side pays for its own, as in [`ChaseLev`](crate::ChaseLev).
    Symmetric,
}

struct Shared<M: Asymmetric> {
    top: Padded<M::AtomicI64>,
    bottom: Padded<M::AtomicI64>,
    buffer: GrowingRing<M>,
}

/// The owner's side of a [`ChaseLevAsym`] deque.
pub struct Owner<M: Asymmetric = Native> {
    shared: Arc<Shared<M>>,
    /// The newest ring of `shared.buffer`, hence valid as long as `shared`.
    ring: NonNull<Ring<M>>,
    bottom: i64,
    limit: i64,
    empty_at: i64,
    /// Whether the barriers are ready; the same on both sides.
    asymmetric: bool,
}

// SAFETY: `ring` points into `shared`, which is Send and Sync, and a ring consists of atomics.
unsafe impl<M: Asymmetric> Send for Owner<M> {}
// SAFETY: a shared owner only reads; every method that writes takes `&mut self`.
unsafe impl<M: Asymmetric> Sync for Owner<M> {}

/// A thief's side of a [`ChaseLevAsym`] deque.
pub struct Thief<M: Asymmetric = Native> {
    shared: Arc<Shared<M>>,
    /// As in the owner.
    asymmetric: bool,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Asymmetric> Queue<M> for ChaseLevAsym {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Fences;

    const PROMISES: Promises = Promises {
        name: "chase-lev-asym",
        paper: "Chase and Lev, Dynamic Circular Work-Stealing Deque, SPAA 2005; Goldblatt, Asymmetric Fences, P1202",
        follows: "figures 2 and 5 of Chase and Lev, with P1202's fences",
        departures: &[
            "Those of chase-lev.",
            "A thief looks for a task before it asks the system for the barrier.",
            "Only Linux's barrier is used; on other systems both sides fence.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::All,
        memory_model: MemoryModel::AsymmetricBarriers,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, fences: &Fences) -> (Owner<M>, Vec<Thief<M>>) {
        let asymmetric = *fences == Fences::Asymmetric && M::prepare_barriers();
        let (buffer, ring) = GrowingRing::new(capacity);
        let shared = Arc::new(Shared { top: Padded(Atomic::new(0)), bottom: Padded(Atomic::new(0)), buffer });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), asymmetric }).collect();
        // A limit of 0 makes the first push call `make_room`.
        (Owner { shared, ring, bottom: 0, limit: 0, empty_at: 0, asymmetric }, thieves)
    }
}

impl<M: Asymmetric> Owner<M> {
    #[inline]
    fn ring(&self) -> &Ring<M> {
        // SAFETY: valid as long as `shared`, and never borrowed mutably.
        unsafe { self.ring.as_ref() }
    }

    /// Raises `limit` above bottom, growing the ring if it is really full.
    #[cold]
    fn make_room(&mut self) {
        // E2: pairs with the compare-and-swap in `steal`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let top = self.shared.top.load(Ordering::Acquire);
        if self.bottom - top >= self.ring().capacity() as i64 {
            // SAFETY: there is one owner, and `&mut self` makes this its only call.
            self.ring = unsafe { self.shared.buffer.grow(self.ring(), top..self.bottom) };
        }
        self.limit = top + self.ring().capacity() as i64;
    }

    /// Ends a pop that lowered bottom to `b` and found top at or above it.
    #[cold]
    fn pop_last(&mut self, b: i64, top: i64) -> Option<Task> {
        // Relaxed: the thread that swaps top has the task (I4), and the owner's later pushes publish themselves. As a
        // read–modify–write the swap continues the release sequences of E2.
        let won = top == b && self.shared.top.compare_exchange(b, b + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // E1: pairs with the load in `steal`.
        // kept over Relaxed: a light barrier is not a fence that releases the earlier pushes, but the checkers treat it
        // as one.
        self.shared.bottom.store(b + 1, Ordering::Release);
        self.bottom = b + 1;
        self.empty_at = b + 1;
        if won { self.ring().read(b as usize) } else { None }
    }
}

impl<M: Asymmetric> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.bottom == self.limit {
            self.make_room();
        }
        self.ring().write(self.bottom as usize, task);
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
        // F: pairs with the barrier or fence in `steal`. The load below may overtake the store above until a thief
        // comes.
        if self.asymmetric {
            M::light_barrier();
        } else {
            M::fence(Ordering::SeqCst);
        }
        // Relaxed: F limits how old this may be, and the owner uses no other data that thieves wrote.
        let top = self.shared.top.load(Ordering::Relaxed);
        if top >= b {
            return self.pop_last(b, top);
        }
        self.bottom = b;
        self.ring().read(b as usize)
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let top = self.shared.top.load(Ordering::Relaxed);
        usize::try_from(self.bottom - top).unwrap_or(0)
    }
}

impl<M: Asymmetric> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // Relaxed, both: they only decide whether the barrier is worthwhile. The compare-and-swap validates top.
        let top = shared.top.load(Ordering::Relaxed);
        if top >= shared.bottom.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        // F: pairs with the barrier or fence in `pop`.
        if self.asymmetric {
            M::heavy_barrier();
        } else {
            M::fence(Ordering::SeqCst);
        }
        // E1: pairs with the stores in `push`, `pop` and `pop_last`.
        let bottom = shared.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        let ring = shared.buffer.current();
        // Discarded unless the swap succeeds.
        let task = ring.read(top as usize);
        // E2: pairs with the load in `make_room`. Relaxed on failure: nothing is used.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        match shared.top.compare_exchange(top, top + 1, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [top, bottom) holds a task")),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes both loads recent enough; for a task at index i that
        // is still there, top is at most i and bottom is above i.
        let top = self.shared.top.load(Ordering::Relaxed);
        top < self.shared.bottom.load(Ordering::Relaxed)
    }
}
