//! Chase–Lev: the growing deque with a lock-free thieves' end.
//!
//! **Paper.** David Chase and Yossi Lev, *Dynamic Circular Work-Stealing Deque*, SPAA 2005,
//! <https://doi.org/10.1145/1073970.1073974>, figures 2 and 5. Orderings after Nhat Minh Lê, Antoniu Pop, Albert Cohen
//! and Francesco Zappa Nardelli, *Correct and Efficient Work-Stealing for Weak Memory Models*, PPoPP 2013,
//! <https://doi.org/10.1145/2442516.2442524>, figure 1.
//!
//! **Idea.** The indices [top, bottom) of an endless array, folded into a ring, hold the tasks. The owner works at
//! bottom with plain stores; thieves take at top, with one compare-and-swap each. Owner and thief raise flags at each
//! other: the owner lowers bottom and then reads top, a thief reads top and then bottom, each with a fence in between,
//! so that at least one of them sees the other. Only the last task is contested, and there the owner swaps top like a
//! thief. When the ring is full, the owner copies it into one of double size.
//!
//! **Fields.** Each on its own line.
//! * `top`: raised by thieves, and by the owner for the last task; read by all. Never lowered; 64 bits do not wrap.
//! * `bottom`: written by the owner, read by thieves.
//! * `buffer`: the current ring and the former ones: see `growing.rs`.
//! * private to the owner: `bottom`, `ring` (copies of the shared ones, which only the owner writes), `limit` (the
//!   index below which a push is known to have room), `empty_at` (a bottom at which the deque is known to be empty).
//!
//! **Invariants.**
//! * I1: top ≤ bottom + 1, and top ≤ bottom outside a pop.
//! * I2: bottom ≤ limit ≤ top + capacity, so a push overwrites no slot that may still be taken.
//! * I3: if bottom = `empty_at`, then top = bottom.
//! * I4: an index is claimed by the compare-and-swap that raises top past it, or by a pop that lowers bottom to it and
//!   then reads a smaller top; never by both.
//!
//! **Edges.**
//! * E1: every store of `bottom` (release, or relaxed after a fence) → its load in `steal` (acquire): slots, task
//!   contents and ring are written before bottom passes them. Stores that lower bottom count: a relaxed one would not
//!   continue the release of an earlier push.
//! * E2: the compare-and-swap in `steal` (release) → the load of `top` in `make_room` (acquire): a thief has read its
//!   slot before the owner uses the slot again.
//! * G of `growing.rs`: a thief that finds a new ring finds the tasks in it.
//! * F: the fences in `pop` and `steal` rule out that a pop reads a top below the index it takes while a thief at that
//!   index reads a bottom above it.
//!
//! **Memory model.** Rust's. Without either fence, F fails on every processor with a store buffer, x86 included.
//! Without the releases, a thief may return an old word on Arm.
//!
//! **Progress.** Owner wait-free (except for growing, which allocates), steal lock-free. **Capacity.** Grows;
//! [`chase_lev_fixed`](crate::chase_lev_fixed), which is this deque on one ring, does not.
//!
//! **Departures.** A pop at `empty_at` returns without touching shared memory, so that an idle owner costs nothing; a
//! push below `limit` does not read top. The swaps of top are release and relaxed instead of sequentially consistent:
//! the proof of I4 needs only the two fences and top's modification order, and only E2 needs more. `steal` loads top
//! relaxed, since the fence that follows is an acquire fence. The ring never shrinks. The owner may replace words at
//! [top, bottom), where by I2 each index has a slot of its own: a thief there takes either word. The owner may also
//! take an only task as a thief would. Tests: `queues/battery.rs` (all), `queues/property.rs`, here (the last two).
//!
//! **Names.** As in both papers, except that the second paper's `take` is `pop` here, and its `array` is `buffer`.
//!
//! **Scenarios.** `chase_lev` in the battery, the property and the stalled-thief tests; `chase-lev` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::growing::{Buffer, GrowingRing};
use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The Chase–Lev deque: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{ChaseLev, Owner, Queue, Task};
///
/// let (mut owner, _thieves) = <ChaseLev as Queue>::make(1, 2, &());
/// let tasks = (1..=100).map(|n| Task::from_id(NonZeroUsize::new(n).unwrap()));
/// for task in tasks.clone() {
///     owner.push(task).unwrap(); // grows as needed
/// }
/// assert!(tasks.rev().eq(core::iter::from_fn(|| owner.pop())));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChaseLev;

struct Shared<M: Memory, B> {
    top: Padded<M::AtomicI64>,
    bottom: Padded<M::AtomicI64>,
    buffer: B,
}

/// The owner's side of a [`ChaseLev`] deque, or, with the other buffer, of a [`ChaseLevFixed`](crate::ChaseLevFixed)
/// one.
pub struct Owner<M: Memory = Native, B = GrowingRing<M>> {
    shared: Arc<Shared<M, B>>,
    /// The newest ring of `shared.buffer`, which does not move, hence valid as long as `shared`.
    ring: NonNull<Ring<M>>,
    bottom: i64,
    limit: i64,
    empty_at: i64,
}

// SAFETY: `ring` points into `shared`, which is Send and Sync, and a ring consists of atomics.
unsafe impl<M: Memory, B: Buffer<M>> Send for Owner<M, B> {}
// SAFETY: a shared owner only reads; every method that writes takes `&mut self`.
unsafe impl<M: Memory, B: Buffer<M>> Sync for Owner<M, B> {}

/// A thief's side of a [`ChaseLev`] deque, or, with the other buffer, of a [`ChaseLevFixed`](crate::ChaseLevFixed) one.
pub struct Thief<M: Memory = Native, B = GrowingRing<M>> {
    shared: Arc<Shared<M, B>>,
}

/// Makes a deque on the buffer `B`.
pub(crate) fn make<M: Memory, B: Buffer<M>>(capacity: usize, thieves: usize) -> (Owner<M, B>, Vec<Thief<M, B>>) {
    let top = Padded(Atomic::new(0));
    let bottom = Padded(Atomic::new(0));
    let shared = Arc::new(Shared { top, bottom, buffer: B::with_room(capacity) });
    let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
    let ring = NonNull::from(shared.buffer.current());
    // A limit of 0 makes the first push call `make_room`.
    (Owner { shared, ring, bottom: 0, limit: 0, empty_at: 0 }, thieves)
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for ChaseLev {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "chase-lev",
        paper: "Chase and Lev, Dynamic Circular Work-Stealing Deque, SPAA 2005",
        follows: "figures 2 and 5; orderings after figure 1 of Lê et al., PPoPP 2013",
        departures: &[
            "A push reads top only if the ring may be full, and a pop of a deque that is known to be empty reads nothing shared.",
            "The swaps of top are relaxed and release; in Lê's figure they are sequentially consistent.",
            "The ring never shrinks.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Grows,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    // `pop` has the fence F before it looks at top.
    const FENCES_POPS: bool = true;

    const THIEVES_ALIKE: bool = true;

    #[inline]
    fn steal_alike(thief: &Thief<M>) -> Steal<Task> {
        thief.steal_shared()
    }

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        make(capacity, thieves)
    }
}

impl<M: Memory, B: Buffer<M>> Owner<M, B> {
    /// Returns the position of the next task pushed: one above the newest task's. Positions never change.
    #[inline]
    pub fn next_position(&self) -> usize {
        self.bottom as usize
    }

    /// Returns whether the next push is sure to find room, without reading what thieves write and without growing.
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{ChaseLev, Owner, Queue, Task};
    ///
    /// let task = Task::from_id(NonZeroUsize::MIN);
    /// let (mut owner, _thieves) = <ChaseLev as Queue>::make(2, 1, &());
    /// assert!(!owner.has_room(), "it has not looked yet");
    /// owner.push(task).unwrap();
    /// assert!(owner.has_room());
    /// ```
    #[inline]
    pub fn has_room(&self) -> bool {
        self.bottom != self.limit
    }

    /// As [`pop`](crate::Owner::pop), but takes an only task as a thief would, which saves the fence.
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{ChaseLev, Owner, Queue, Task};
    ///
    /// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
    /// let (mut owner, _thieves) = <ChaseLev as Queue>::make(4, 1, &());
    /// owner.push(task(1)).unwrap();
    /// owner.push(task(2)).unwrap();
    /// assert_eq!([(); 3].map(|()| owner.pop_or_steal()), [Some(task(2)), Some(task(1)), None]);
    /// ```
    #[inline]
    pub fn pop_or_steal(&mut self) -> Option<Task> {
        let b = self.bottom - 1;
        // Relaxed: the swap validates it.
        if self.bottom == self.empty_at || self.shared.top.load(Ordering::Relaxed) != b {
            return crate::Owner::pop(self);
        }
        // I4, without lowering bottom. Relaxed: as in `pop_last`.
        let won = self.shared.top.compare_exchange(b, b + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        self.empty_at = self.bottom;
        if won { self.ring().read(b as usize) } else { None }
    }

    /// Replaces every remaining task from this [position](Self::next_position) on by the result of `with`. Both must
    /// stand for the same work, since a thief may get either until this has returned and for a while after.
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{ChaseLev, Owner, Queue, Steal, Task, Thief};
    ///
    /// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
    /// let (mut owner, mut thieves) = <ChaseLev as Queue>::make(4, 1, &());
    /// owner.push(task(1)).unwrap();
    /// let position = owner.next_position();
    /// owner.push(task(2)).unwrap();
    /// owner.replace_from(position, |_| task(20));
    /// assert_eq!(owner.pop(), Some(task(20)));
    /// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
    /// ```
    pub fn replace_from(&mut self, position: usize, with: impl Fn(Task) -> Task) {
        // Relaxed: top only grows, so [top, bottom) fits the ring; a task below top has been taken, and its slot may
        // hold a newer one.
        let top = self.shared.top.load(Ordering::Relaxed) as usize;
        for index in position.max(top)..self.bottom as usize {
            if let Some(task) = self.ring().read(index) {
                self.ring().write(index, with(task));
            }
        }
    }

    #[inline]
    fn ring(&self) -> &Ring<M> {
        // SAFETY: valid as long as `shared`, and never borrowed mutably.
        unsafe { self.ring.as_ref() }
    }

    /// Raises `limit` above bottom, on a larger ring if this one is really full. Returns `false` if there is no larger
    /// one.
    #[cold]
    fn make_room(&mut self) -> bool {
        // E2: pairs with the compare-and-swap in `steal`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let top = self.shared.top.load(Ordering::Acquire);
        if self.bottom - top >= self.ring().capacity() as i64 {
            // SAFETY: there is one owner, and `&mut self` makes this its only call.
            let Some(larger) = (unsafe { self.shared.buffer.larger(self.ring(), top..self.bottom) }) else {
                return false;
            };
            self.ring = larger;
        }
        self.limit = top + self.ring().capacity() as i64;
        true
    }

    /// Ends a pop that lowered bottom to `b` and found top at or above it.
    #[cold]
    fn pop_last(&mut self, b: i64, top: i64) -> Option<Task> {
        // Relaxed: the thread that swaps top has the task (I4), and the owner's later pushes publish themselves. As a
        // read–modify–write the swap continues the release sequences of E2.
        let won = top == b && self.shared.top.compare_exchange(b, b + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // E1: pairs with the load in `steal`; relaxed, since it follows pop's fence.
        self.shared.bottom.store(b + 1, Ordering::Relaxed);
        self.bottom = b + 1;
        self.empty_at = b + 1;
        if won { self.ring().read(b as usize) } else { None }
    }
}

impl<M: Memory, B: Buffer<M>> crate::Owner<Task> for Owner<M, B> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.bottom == self.limit && !self.make_room() {
            return Err(Full(task));
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
        // F: pairs with the fence in `steal`. Without it the load below may overtake the store above.
        M::fence(Ordering::SeqCst);
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

impl<M: Memory, B: Buffer<M>> Thief<M, B> {
    #[inline]
    pub(crate) fn steal_shared(&self) -> Steal<Task> {
        self.steal_if(|_| true)
    }

    /// As [`steal`](crate::Thief::steal), but leaves a task that `takes` refuses, and returns [`Steal::Aborted`].
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{ChaseLev, Owner, Queue, Steal, Task};
    ///
    /// let task = Task::from_id(NonZeroUsize::MIN);
    /// let (mut owner, thieves) = <ChaseLev as Queue>::make(4, 1, &());
    /// owner.push(task).unwrap();
    /// assert_eq!(thieves[0].steal_if(|oldest| oldest != task), Steal::Aborted);
    /// assert_eq!(thieves[0].steal_if(|oldest| oldest == task), Steal::Task(task));
    /// ```
    #[inline]
    pub fn steal_if(&self, takes: impl FnOnce(Task) -> bool) -> Steal<Task> {
        let shared = &*self.shared;
        // Relaxed: the compare-and-swap validates it, and the fence acquires what it read.
        let top = shared.top.load(Ordering::Relaxed);
        // F: pairs with the fence in `pop`.
        M::fence(Ordering::SeqCst);
        // E1: pairs with the stores in `push`, `pop` and `pop_last`.
        let bottom = shared.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        let ring = shared.buffer.current();
        // Discarded unless the swap succeeds.
        let task = ring.read(top as usize);
        if !task.is_none_or(takes) {
            return Steal::Aborted;
        }
        // E2: pairs with the load in `make_room`. Relaxed on failure: nothing is used.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        match shared.top.compare_exchange(top, top + 1, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [top, bottom) holds a task")),
            Err(_) => Steal::Retry,
        }
    }
}

impl<M: Memory, B: Buffer<M>> Thief<M, B> {
    /// Returns the oldest task without taking it. A snapshot: another thread may have taken it already.
    ///
    /// ```
    /// use core::num::NonZeroUsize;
    /// use filch_queue::{ChaseLev, Owner, Queue, Task};
    ///
    /// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
    /// let (mut owner, thieves) = <ChaseLev as Queue>::make(4, 1, &());
    /// assert_eq!(thieves[0].oldest_hint(), None);
    /// let position = owner.next_position();
    /// owner.push(task(1)).unwrap();
    /// owner.push(task(2)).unwrap();
    /// assert_eq!(thieves[0].oldest_hint(), Some(task(1)));
    /// assert_eq!(owner.next_position(), position + 2);
    /// ```
    #[inline]
    pub fn oldest_hint(&self) -> Option<Task> {
        // Relaxed, both, as in `has_work_hint`; the word in the slot is a hint, too.
        let top = self.shared.top.load(Ordering::Relaxed);
        if top >= self.shared.bottom.load(Ordering::Relaxed) {
            return None;
        }
        self.shared.buffer.current().read(top as usize)
    }
}

impl<M: Memory, B: Buffer<M>> crate::Thief<Task> for Thief<M, B> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.steal_shared()
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes both loads recent enough; for a task at index i that
        // is still there, top is at most i and bottom is above i.
        let top = self.shared.top.load(Ordering::Relaxed);
        top < self.shared.bottom.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::num::NonZeroUsize;
    use std::sync::OnceLock;
    use std::thread;

    use super::*;
    use crate::{Owner as _, Queue, Thief as _};

    /// Replaced tasks have this bit.
    const REPLACED: usize = 1 << 20;

    fn task(id: usize) -> Task {
        Task::from_id(NonZeroUsize::new(id).unwrap())
    }

    #[test]
    fn replaced_tasks_are_taken_once_whoever_takes_them() {
        const TASKS: usize = if cfg!(miri) { 60 } else { 100_000 };
        // It grows meanwhile.
        let (mut owner, thieves) = <ChaseLev as Queue>::make(4, 2, &());
        let done = OnceLock::new();
        let mut taken = vec![0; TASKS + 1];
        let mut seen = Vec::new();
        thread::scope(|s| {
            let steals = thieves.into_iter().map(|mut thief| {
                let done = &done;
                s.spawn(move || {
                    let mut stolen = Vec::new();
                    loop {
                        match thief.steal() {
                            Steal::Task(task) => stolen.push(task.id().get()),
                            Steal::Empty if done.get().is_some() => return stolen,
                            _ => thread::yield_now(),
                        }
                    }
                })
            });
            let steals: Vec<_> = steals.collect();
            let mut position = owner.next_position();
            for id in 1..=TASKS {
                owner.push(task(id)).unwrap();
                if id % 7 == 0 {
                    owner.replace_from(position, |old| task(old.id().get() | REPLACED));
                    position = owner.next_position();
                }
                if id % 5 == 0 {
                    let popped = if id % 2 == 0 { owner.pop() } else { owner.pop_or_steal() };
                    seen.extend(popped.map(|task| task.id().get()));
                    position = position.min(owner.next_position());
                }
            }
            done.set(()).unwrap();
            steals.into_iter().for_each(|thief| seen.extend(thief.join().unwrap()));
        });
        seen.extend(core::iter::from_fn(|| owner.pop()).map(|task| task.id().get()));
        seen.iter().for_each(|id| taken[id & !REPLACED] += 1);
        assert!(taken[1..].iter().all(|&times| times == 1));
        assert!(seen.iter().any(|id| id & REPLACED != 0));
    }

    #[test]
    fn only_tasks_that_are_there_are_replaced() {
        let (mut owner, mut thieves) = <ChaseLev as Queue>::make(4, 1, &());
        let first = owner.next_position();
        (1..=4).for_each(|id| owner.push(task(id)).unwrap());
        assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
        // In the slot of the first.
        owner.push(task(5)).unwrap();
        owner.replace_from(first, |old| task(10 + old.id().get()));
        assert_eq!(thieves[0].steal(), Steal::Task(task(12)));
        let popped: Vec<_> = core::iter::from_fn(|| owner.pop()).map(|task| task.id().get()).collect();
        assert_eq!(popped, [15, 14, 13]);
    }
}
