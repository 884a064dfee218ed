//! FF-THE: THE without the owner's fence.
//!
//! **Paper.** Adam Morrison and Yehuda Afek, *Fence-Free Work Stealing on Bounded TSO Processors*, ASPLOS 2014,
//! <https://doi.org/10.1145/2541940.2541987>, section 4.
//!
//! **Idea.** [`The`](crate::The) without the fence in pop: the pop's load of H may overtake its store of T, so that a
//! thief sees an old T. But the owner's store buffer is bounded. A thief takes a task only if the task is more than δ
//! below the T that the thief reads; then the owner cannot have passed it unseen. A thief that is not sure gives up,
//! even if there are tasks.
//!
//! **Fields.** As in [`the`](crate::the), and on its own line
//! * `pad`: written by the owner, never read: see `fence_free.rs`.
//!
//! **Invariants.** I1 to I4 of [`the`](crate::the), and
//! * I5: an index is taken by the thief that raises H past it and then reads T more than δ above it, or by a pop that
//!   lowers T to it and then reads no greater H, or under the lock; never by two. When the thief reads T, its H is in
//!   memory. At most δ lowering stores of T are not yet there, so the owner has not yet lowered T to that index; the
//!   pop that does so reads H later, and finds it greater.
//! * B: between two stores that lower T there is a store to another line: the pad's, or the lock's if owner and thief
//!   met.
//!
//! **Edges.** As in [`the`](crate::the). Instead of F's fence in pop, the compiler keeps the store of T before the load
//! of H, and B bounds how many such stores the load can overtake. The fence in `steal` stays.
//!
//! **Memory model.** TSO\[S\] with δ at least ⌈S / 2⌉: x86-64 only. Under Rust's model, or if δ is too small, a task
//! may be taken twice. Without the pad, stores of T may merge, and no δ is enough.
//!
//! **Progress.** Blocking in steals and where the owner meets a thief; otherwise the owner is wait-free. A thief never
//! learns whether the deque is empty: it is refused. **Capacity.** As [`The`](crate::The).
//!
//! **Departures.** As in [`the`](crate::the). The paper counts the program's other stores between two pops; the pad
//! store guarantees at least one. Tests: `queues/battery.rs`, `emitted/main.rs`.
//!
//! **Names.** As [`The`](crate::The).
//!
//! **Scenarios.** `ff_the` and `unsure_ff_the` in the battery and the property tests; `ff-the` in the checker; its pop
//! in `emitted/main.rs`. Without the pad, on the machine: [`litmus`].

pub mod litmus;

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::fence_free::{Delta, Pad};
use crate::the::{OwnerEnd, Shared};
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The fence-free THE deque: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Delta, FfThe, Owner, Queue, Steal, Task, Thief};
///
/// // By default δ is infinite, and thieves are never sure.
/// let (mut owner, mut thieves) = <FfThe as Queue>::make(8, 1, &Delta::default());
/// let task = Task::from_id(NonZeroUsize::MIN);
/// owner.push(task).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Aborted);
/// assert_eq!(owner.pop(), Some(task));
/// assert_eq!(thieves[0].steal(), Steal::Aborted);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FfThe;

/// The owner's side of a [`FfThe`] deque.
pub struct Owner<M: Memory = Native>(OwnerEnd<M, Pad<M>>);

/// A thief's side of a [`FfThe`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M, Pad<M>>>,
    delta: Delta,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for FfThe {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Delta;

    const PROMISES: Promises = Promises {
        name: "ff-the",
        paper: "Morrison and Afek, Fence-Free Work Stealing on Bounded TSO Processors, ASPLOS 2014",
        follows: "figure 3",
        departures: &[
            "Those of the.",
            "A pop also stores to a pad, so that there is another store between two that lower T; the paper counts the program's.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: true,
        steal_progress: Progress::Blocking,
        stealable: Stealable::AllButNewest,
        memory_model: MemoryModel::BoundedTso,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn kept_back(_: usize, delta: &Delta) -> usize {
        delta.get().unwrap_or(usize::MAX)
    }

    fn make(capacity: usize, thieves: usize, &delta: &Delta) -> (Owner<M>, Vec<Thief<M>>) {
        let end = OwnerEnd::new(capacity, Pad::new());
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&end.shared), delta }).collect();
        (Owner(end), thieves)
    }
}

impl<M: Memory, P> Shared<M, P> {
    /// Lowers T to `t`. Returns whether the owner may take the task there, by the H that it sees.
    #[inline(always)]
    fn lower(&self, t: i64) -> bool {
        // E1: pairs with the load in `steal`.
        self.tail.store(t, Ordering::Release);
        // I5: the processor may let the load below overtake at most δ of these stores; the compiler must let it
        // overtake none.
        M::compiler_fence();
        self.head_of_pop() <= t
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
        if !this.shared.lower(t) {
            // B: the lock is between this store of T and the next.
            return this.pop_at_head(t);
        }
        // B.
        this.shared.pad.store(t);
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
        // E1: pairs with the stores in `push` and `lower`; L: with the store in `pop_at_head`.
        match shared.steal(|head| self.delta.is_beyond(shared.tail.load(Ordering::Acquire) - head)) {
            Some(task) => Steal::Task(task),
            None => Steal::Aborted,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        self.shared.may_hold(|tasks| tasks > 0)
    }

    #[inline]
    fn has_stealable_hint(&self) -> bool {
        self.shared.may_hold(|tasks| self.delta.is_beyond(tasks))
    }
}
