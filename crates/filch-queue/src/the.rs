//! THE: the deque of Cilk-5, in which only thieves, and owners that meet them, lock.
//!
//! **Paper.** Matteo Frigo, Charles E. Leiserson and Keith H. Randall, *The Implementation of the Cilk-5 Multithreaded
//! Language*, PLDI 1998, <https://doi.org/10.1145/277650.277725>; in the form of Adam Morrison and Yehuda Afek,
//! *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014, <https://doi.org/10.1145/2541940.2541987>, figure
//! 2.
//!
//! **Idea.** The indices [H, T), folded into a ring, hold the tasks. The owner works at T with plain stores, thieves
//! work at H under a lock. Each side first claims an index by moving its end past it and then reads the other end, with
//! a fence in between, so that at least one of them sees the other. A thief that meets the owner steps back; an owner
//! that meets a thief takes the lock, and then knows for sure. The owner wins a tie.
//!
//! **Fields.** Each on its own line.
//! * `head`: H and the lock. Thieves write H under the lock: they raise it and perhaps lower it again; all read it.
//! * `tail`: T, written by the owner, read by thieves.
//! * `ring`: the slots' address and number, never written. Its W slots are written by the owner and read by thieves.
//! * private to the owner: `tail` (a copy of T, which only the owner writes), `limit` (the index below which a push is
//!   known to have room), `empty_at` (a T at which the deque is known to be empty).
//!
//! **Invariants.** Let H₀ be H without a claim that its thief may take back.
//! * I1: H₀ ≤ H ≤ H₀ + 1, and H = H₀ while the lock is free. H₀ is never lowered.
//! * I2: H₀ ≤ T outside a pop; H ≤ T + 2 always, with equality when a thief and a pop claim in an empty deque.
//! * I3: T ≤ limit ≤ H₀ + W, so a push overwrites no slot that may still be taken. A limit computed from a claim, H₀ +
//!   1, is one too high; therefore a deque is full at W - 1.
//! * I4: if T = `empty_at`, then H₀ = T.
//! * I5: an index is taken by the thief that raises H past it and then reads a greater T, or by a pop that lowers T to
//!   it and then reads no greater H, or under the lock; never by two threads.
//!
//! **Edges.**
//! * E1: the stores of T in `push` and `pop` (release) → its load in `steal` (acquire): slots and task contents are
//!   written before T passes them. Stores that lower T release too: a relaxed store would not continue the release of
//!   an earlier push. The store in `pop_at_head` is made under the lock: L.
//! * E2: every store of H in `steal` (release) → its load in `make_room` (acquire): before the owner uses a slot again,
//!   every steal before the one that stored H has read its slot. The spare slot covers that last steal.
//! * F: the fences in `pop` and `steal` forbid this outcome: a pop reads an H not above the index that it takes, and
//!   the thief that claims this index reads a T above it.
//! * L of `spin_lock.rs`.
//!
//! **Memory model.** Rust's. Without either fence, F fails on every processor with a store buffer, x86 included.
//!
//! **Progress.** Blocking in steals and where the owner meets a thief; otherwise the owner is wait-free. **Capacity.**
//! A ring, full at W - 1.
//!
//! **Departures.** The spare slot: in the paper the array does not overflow. A pop at `empty_at` returns without
//! touching shared memory. The work hint is true if H < T; otherwise it reads both again under the lock, or is true if
//! the lock is taken, because a claim may hide a task that its thief gives back. Tests: `queues/battery.rs`
//! (wrap-around, hint_sees_work), `queues/property.rs`.
//!
//! **Names.** H, T and W as in the later paper, in code `head`, `tail`, the ring's capacity; put and take are `push`
//! and `pop`.
//!
//! **Scenarios.** `the` in the battery and the property tests; `the` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::slots::Ring;
use crate::spin_lock::SpinLock;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The THE deque: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Full, Owner, Queue, Steal, Task, The, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <The as Queue>::make(3, 1, &());
/// for n in 1..=3 {
///     owner.push(task(n)).unwrap();
/// }
/// assert_eq!(owner.push(task(4)), Err(Full(task(4))));
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.pop(), Some(task(3)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct The;

/// The state that both sides share. `P` is the addition of the fence-free form.
pub(crate) struct Shared<M: Memory, P = ()> {
    head: Padded<Head<M>>,
    pub(crate) tail: Padded<M::AtomicI64>,
    pub(crate) ring: Padded<Ring<M>>,
    #[cfg_attr(not(feature = "fence-free"), expect(dead_code, reason = "only the fence-free form has a pad"))]
    pub(crate) pad: P,
}

struct Head<M: Memory> {
    index: M::AtomicI64,
    lock: SpinLock<M>,
}

/// The owner's state, with or without fences.
pub(crate) struct OwnerEnd<M: Memory, P = ()> {
    pub(crate) shared: Arc<Shared<M, P>>,
    pub(crate) tail: i64,
    limit: i64,
    pub(crate) empty_at: i64,
}

/// The owner's side of a [`The`] deque.
pub struct Owner<M: Memory = Native>(OwnerEnd<M>);

/// A thief's side of a [`The`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for The {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "the",
        paper: "Frigo, Leiserson and Randall, The Implementation of the Cilk-5 Multithreaded Language, PLDI 1998",
        follows: "figures 2a and 2b of Morrison and Afek, ASPLOS 2014",
        departures: &[
            "One slot stays free; in the figure the array does not overflow.",
            "A pop of a deque that is known to be empty reads nothing shared.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: false,
        steal_progress: Progress::Blocking,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    // `pop` has the fence F before it looks at the head.
    const FENCES_POPS: bool = true;

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        let end = OwnerEnd::new(capacity, ());
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&end.shared) }).collect();
        (Owner(end), thieves)
    }
}

impl<M: Memory, P> Shared<M, P> {
    /// Returns H, as the owner sees it in a pop.
    #[inline]
    pub(crate) fn head_of_pop(&self) -> i64 {
        // Relaxed: F, or the bound that replaces it, limits the age of the value, and the owner relies on it for
        // nothing that thieves wrote.
        self.head.index.load(Ordering::Relaxed)
    }

    /// Claims the oldest task for a thief, and calls `admit` with its index while the claim is visible. Takes the task
    /// if `admit` agrees; otherwise gives the claim back.
    #[inline]
    pub(crate) fn steal(&self, admit: impl FnOnce(i64) -> bool) -> Option<Task> {
        let _locked = self.head.lock.lock();
        // Relaxed: written only under the lock.
        let head = self.head.index.load(Ordering::Relaxed);
        // E2: pairs with the load in `make_room`.
        // kept over Relaxed: load buffering would let reads of slots return the next tasks there.
        self.head.index.store(head + 1, Ordering::Release);
        // F: pairs with the fence in `pop`.
        M::fence(Ordering::SeqCst);
        if admit(head) {
            // Under the lock: E2 covers the slots of the earlier steals.
            let task = self.ring.read(head as usize);
            Some(task.expect("a slot in [H, T) holds a task"))
        } else {
            // E2: pairs with the load in `make_room`.
            // kept over Relaxed: load buffering would let reads of slots return the next tasks there.
            self.head.index.store(head, Ordering::Release);
            None
        }
    }

    /// Returns whether `is_enough` may hold for the number of tasks.
    #[inline]
    pub(crate) fn may_hold(&self, is_enough: impl Fn(i64) -> bool) -> bool {
        // Relaxed, here and below: whatever orders the push before this call makes both loads recent enough.
        let has_work = || {
            let head = self.head.index.load(Ordering::Relaxed);
            is_enough(self.tail.load(Ordering::Relaxed) - head)
        };
        // A claim may hide a task and be given back. While the lock is free there is no claim; while it is taken, say
        // yes.
        has_work() || self.head.lock.try_lock().is_none_or(|_locked| has_work())
    }
}

impl<M: Memory, P> OwnerEnd<M, P> {
    /// Makes the owner's end of an empty deque.
    pub(crate) fn new(capacity: usize, pad: P) -> Self {
        // One more, for the spare slot.
        let ring = Ring::new(capacity.max(1).checked_add(1).expect("the capacity is out of range"));
        let shared = Arc::new(Shared {
            head: Padded(Head { index: Atomic::new(0), lock: SpinLock::new() }),
            tail: Padded(Atomic::new(0)),
            ring: Padded(ring),
            pad,
        });
        // A limit of 0 makes the first push call `make_room`.
        Self { shared, tail: 0, limit: 0, empty_at: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.tail == self.limit && !self.make_room() {
            return Err(Full(task));
        }
        self.shared.ring.write(self.tail as usize, task);
        self.tail += 1;
        // E1: pairs with the load in `steal`.
        self.shared.tail.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// Raises `limit` above T, if there is room.
    #[cold]
    fn make_room(&mut self) -> bool {
        // E2: pairs with the stores in `steal`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let head = self.shared.head.index.load(Ordering::Acquire);
        let limit = head + self.shared.ring.capacity() as i64 - 1;
        if self.tail >= limit {
            return false;
        }
        self.limit = limit;
        true
    }

    /// Ends a pop that lowered T to `t` and found H above it.
    #[cold]
    #[inline(never)]
    pub(crate) fn pop_at_head(&mut self, t: i64) -> Option<Task> {
        let shared = &*self.shared;
        let _locked = shared.head.lock.lock();
        // Relaxed: written only under the lock.
        if shared.head.index.load(Ordering::Relaxed) > t {
            // Relaxed: thieves read T under the lock too, so L orders it where E1 would.
            shared.tail.store(t + 1, Ordering::Relaxed);
            self.empty_at = t + 1;
            return None;
        }
        self.tail = t;
        shared.ring.read(t as usize)
    }

    pub(crate) fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let head = self.shared.head.index.load(Ordering::Relaxed);
        usize::try_from(self.tail - head).unwrap_or(0)
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.0.push(task)
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let this = &mut self.0;
        if this.tail == this.empty_at {
            return None;
        }
        let t = this.tail - 1;
        // E1: pairs with the load in `steal`.
        this.shared.tail.store(t, Ordering::Release);
        // F: pairs with the fence in `steal`. Without it the load below may overtake the store above.
        M::fence(Ordering::SeqCst);
        if this.shared.head_of_pop() > t {
            return this.pop_at_head(t);
        }
        this.tail = t;
        this.shared.ring.read(t as usize)
    }

    fn len_hint(&self) -> usize {
        self.0.len_hint()
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // E1: pairs with the stores in `push` and `pop`; L: with the store in `pop_at_head`.
        match shared.steal(|head| head < shared.tail.load(Ordering::Acquire)) {
            Some(task) => Steal::Task(task),
            None => Steal::Empty,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        self.shared.may_hold(|tasks| tasks > 0)
    }
}
