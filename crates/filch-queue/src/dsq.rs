//! DSQ: the split queue with a lock for thieves, and for owners that run out of private tasks.
//!
//! **Paper.** James Dinan, D. Brian Larkins, P. Sadayappan, Sriram Krishnamoorthy and Jarek Nieplocha, *Scalable Work
//! Stealing*, SC 2009, <https://doi.org/10.1145/1654059.1654113>, section 4.
//!
//! **Idea.** A boundary, split, divides the tasks: thieves take below it, under a lock and several at a time; the owner
//! works above it as on a private stack. When nothing is shared, the owner moves split up over half of its tasks,
//! without the lock, since the move only gives thieves more tasks. When it has no private task left, it moves split
//! down again, with the lock.
//!
//! **Fields.** Each on its own line.
//! * `thieves`: the lock; tail, the oldest task, raised by thieves under the lock; `copied`, the number of tasks that
//!   thieves have copied, raised by them. Read by all.
//! * `split`: raised by the owner at any time, lowered by it under the lock; read by thieves under the lock.
//! * `head`: one past the newest task, written by the owner, read by thieves only for the work hint.
//! * `ring`: the slots' address and number, never written. The slots are written by the owner and read by thieves.
//! * private to the owner: `head` and `split` (copies), `limit` (the index below which a push is known to have room).
//!
//! **Invariants.**
//! * I1: tail ≤ split ≤ head. Tail never falls; 64 bits do not wrap.
//! * I2: tail moves only past indices below the split in force: split falls only under the lock.
//! * I3: head ≤ limit ≤ c + capacity, where all indices below c have been copied: so a push overwrites no slot that may
//!   still be read.
//! * I4: if `copied` is read before tail, and the two are equal, all claims below tail have been copied: the counted
//!   claims lie below tail and add up to it.
//!
//! **Edges.**
//! * E1: the store of split in `release` (release) → its load in `take` (acquire): slots and task contents are written
//!   before split passes them. L covers the store that lowers split.
//! * E2: the store of tail in `take` after the copy, or the addition to `copied` (release) → their loads in `make_room`
//!   (acquire): a thief has read its slots before the owner uses them again.
//! * L of `spin_lock.rs`.
//!
//! **Memory model.** Rust's.
//!
//! **Progress.** Pushing and popping private tasks is wait-free; popping at split and stealing are blocking.
//! **Capacity.** A ring. With [`Copying::Deferred`] a push that needs slots which thieves are copying is refused.
//!
//! **Departures.** The paper's queues are in distributed memory, and its lock is on a network. A pop shares too, if two
//! private tasks are left; the next pop would take back a single one. A poll shares even one, since an owner that polls
//! is far from a pop. A pop sees without the lock that nothing is shared, since tail does not pass split. The paper's
//! owner waits for deferred copies; here the push is refused. Tests: `queues/battery.rs`, `queues/many.rs`.
//!
//! **Names.** As in the paper; its `itail` is `copied`, its `vtail` is the source of `limit`; put and get are `push`
//! and `pop`.
//!
//! **Scenarios.** `dsq` and `eager_dsq` in the battery, the property and the many-at-once tests; `dsq` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, AtomicInt, Memory, Native, Ordering};

use crate::slots::Ring;
use crate::spin_lock::SpinLock;
use crate::{
    Amount, Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany,
    StealOrder, Stealable, Task,
};

/// The split queue with a lock: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::dsq::Params;
/// use filch_queue::{Amount, Dsq, Owner, Queue, Steal, StealMany, Task};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let params = Params { steal: Amount::All, ..Params::default() };
/// let (mut owner, mut thieves) = <Dsq as Queue>::make(8, 1, &params);
/// for n in 1..=6 {
///     owner.push(task(n)).unwrap(); // the first is shared at once
/// }
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(1));
/// owner.poll(); // a push or a pop would do, too
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(3));
/// assert_eq!(loot, [1, 2, 3, 4].map(task));
/// assert_eq!(owner.pop(), Some(task(6)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dsq;

/// The tuning parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Params {
    /// How many of the shared tasks a thief takes if it asks for several.
    pub steal: Amount,
    /// When a thief copies those tasks.
    pub copying: Copying,
    /// What a thief does while another thread has the lock.
    pub contention: Contention,
}

/// When a thief copies the tasks that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Copying {
    /// Under the lock.
    #[default]
    Locked,
    /// After releasing the lock, so that several thieves copy at the same time. The owner gets the slots back when all
    /// have finished.
    Deferred,
}

/// What a thief does when the lock is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Contention {
    /// It waits.
    #[default]
    Wait,
    /// It returns [`Steal::Retry`].
    Retry,
}

struct Shared<M: Memory> {
    thieves: Padded<ThievesEnd<M>>,
    split: Padded<M::AtomicI64>,
    head: Padded<M::AtomicI64>,
    ring: Padded<Ring<M>>,
}

struct ThievesEnd<M: Memory> {
    lock: SpinLock<M>,
    tail: M::AtomicI64,
    copied: M::AtomicI64,
}

/// The owner's side of a [`Dsq`] queue.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    head: i64,
    split: i64,
    limit: i64,
    copying: Copying,
}

/// A thief's side of a [`Dsq`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    params: Params,
}

/// [`Amount`] works on 32-bit numbers.
const MAX_CAPACITY: usize = 1 << 31;

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for Dsq {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Params;

    const PROMISES: Promises = Promises {
        name: "dsq",
        paper: "Dinan, Larkins, Sadayappan, Krishnamoorthy and Nieplocha, Scalable Work Stealing, SC 2009",
        follows: "section 4",
        departures: &[
            "The paper's queues are in distributed memory, and its lock is on a network.",
            "A pop shares too, if two private tasks are left; a poll shares even one.",
            "A pop that finds nothing shared does not lock.",
            "With copying=deferred a push that needs the slots is refused; the paper's owner waits.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: false,
        steal_progress: Progress::Blocking,
        stealable: Stealable::Shared,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, &params: &Params) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= MAX_CAPACITY, "the capacity is out of range");
        let shared = Arc::new(Shared {
            thieves: Padded(ThievesEnd { lock: SpinLock::new(), tail: Atomic::new(0), copied: Atomic::new(0) }),
            split: Padded(Atomic::new(0)),
            head: Padded(Atomic::new(0)),
            ring: Padded(Ring::new(capacity)),
        });
        let limit = shared.ring.capacity() as i64;
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), params }).collect();
        (Owner { shared, head: 0, split: 0, limit, copying: params.copying }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn set_head(&mut self, head: i64) {
        self.head = head;
        // Relaxed: a hint.
        self.shared.head.store(head, Ordering::Relaxed);
    }

    #[inline]
    fn is_shared_empty(&self) -> bool {
        // Relaxed: tail publishes slots to `make_room` only. Tail never passes split, so a shared part that seems empty
        // is empty.
        self.shared.thieves.tail.load(Ordering::Relaxed) == self.split
    }

    /// Shares half of the private tasks, rounded up.
    #[cold]
    fn release(&mut self) {
        self.split += (self.head - self.split + 1) / 2;
        // E1: pairs with the load in `take`.
        self.shared.split.store(self.split, Ordering::Release);
    }

    /// Takes back half of the shared tasks, rounded up; `false` if there are none. Precondition: no private task.
    #[cold]
    fn reacquire(&mut self) -> bool {
        if self.is_shared_empty() {
            return false;
        }
        let _locked = self.shared.thieves.lock.lock();
        // Relaxed: written only under the lock.
        let shared = self.split - self.shared.thieves.tail.load(Ordering::Relaxed);
        let back = (shared + 1) / 2;
        self.split -= back;
        // Relaxed: thieves read it under the lock, so L orders it.
        self.shared.split.store(self.split, Ordering::Relaxed);
        back > 0
    }

    /// Raises `limit` above head, if there is room.
    #[cold]
    fn make_room(&mut self) -> bool {
        let thieves = &self.shared.thieves;
        let free = match self.copying {
            // E2: pairs with the store in `take`.
            // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
            Copying::Locked => thieves.tail.load(Ordering::Acquire),
            Copying::Deferred => {
                // E2: pairs with the addition in `take`. I4: before the load of tail.
                // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
                let copied = thieves.copied.load(Ordering::Acquire);
                // I4: after the load of `copied`. Relaxed: E2 makes it recent enough.
                if thieves.tail.load(Ordering::Relaxed) != copied {
                    return false;
                }
                copied
            }
        };
        self.limit = free + self.shared.ring.capacity() as i64;
        self.head < self.limit
    }

    /// Shares, if nothing is shared and there are at least `least` private tasks.
    #[inline]
    fn share(&mut self, least: i64) {
        if self.head - self.split >= least && self.is_shared_empty() {
            self.release();
        }
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.head == self.limit && !self.make_room() {
            return Err(Full(task));
        }
        self.shared.ring.write(self.head as usize, task);
        self.set_head(self.head + 1);
        if self.is_shared_empty() {
            self.release();
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.head == self.split && !self.reacquire() {
            return None;
        }
        self.set_head(self.head - 1);
        let task = self.shared.ring.read(self.head as usize);
        self.share(2);
        task
    }

    #[inline]
    fn poll(&mut self) {
        self.share(1);
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let tail = self.shared.thieves.tail.load(Ordering::Relaxed);
        usize::try_from(self.head - tail).unwrap_or(0)
    }
}

impl<M: Memory> Thief<M> {
    /// Takes `of(n)` of the n shared tasks, oldest first, if n is not 0. Returns how many.
    #[inline]
    fn take(&self, of: impl FnOnce(u32) -> u32, mut keep: impl FnMut(Task)) -> Steal<u32> {
        let Shared { thieves, split, ring, .. } = &*self.shared;
        let locked = match self.params.contention {
            Contention::Wait => thieves.lock.lock(),
            Contention::Retry => match thieves.lock.try_lock() {
                Some(locked) => locked,
                None => return Steal::Retry,
            },
        };
        // Relaxed: written only under the lock.
        let tail = thieves.tail.load(Ordering::Relaxed);
        // E1: pairs with the store in `release`.
        let shared = split.load(Ordering::Acquire) - tail;
        if shared == 0 {
            return Steal::Empty;
        }
        let count = of(shared as u32);
        let new = tail + i64::from(count);
        let mut copy = || {
            for index in tail..new {
                keep(ring.read(index as usize).expect("a slot in [tail, split) holds a task"));
            }
        };
        match self.params.copying {
            Copying::Locked => {
                copy();
                // E2: pairs with the load in `make_room`. After the copy, because it frees the slots.
                // kept over Relaxed: load buffering would let the read of the slot return its next task.
                thieves.tail.store(new, Ordering::Release);
            }
            Copying::Deferred => {
                // Relaxed: the lock orders it for thieves, E2 for the owner.
                thieves.tail.store(new, Ordering::Relaxed);
                drop(locked);
                copy();
                // E2: pairs with the load in `make_room`.
                // kept over Relaxed: load buffering would let the read of the slot return its next task.
                thieves.copied.fetch_add(i64::from(count), Ordering::Release);
            }
        }
        Steal::Task(count)
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let mut stolen = None;
        self.take(|_| 1, |task| stolen = Some(task)).map(|_| stolen.expect("`take` took one task"))
    }

    /// Returns `true` for the owner's private tasks, too.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed, both: whatever orders the push before this call makes both loads recent enough; for a task at index
        // i that is still there, tail is at most i and head is above i.
        let tail = self.shared.thieves.tail.load(Ordering::Relaxed);
        tail < self.shared.head.load(Ordering::Relaxed)
    }
}

impl<M: Memory> StealMany<Task> for Thief<M> {
    /// Takes as many of the shared tasks as [`Params::steal`] allows.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.take(|shared| self.params.steal.of_at_most(shared, max), |task| loot.push(task))
            .map(|count| count as usize)
    }
}
