//! ABP: the first non-blocking work-stealing deque, in an array.
//!
//! **Paper.** Nimar S. Arora, Robert D. Blumofe and C. Greg Plaxton, *Thread Scheduling for Multiprogrammed
//! Multiprocessors*, SPAA 1998, <https://doi.org/10.1145/277651.277678>, figure 5.
//!
//! **Idea.** The indices [top, bot) of an array hold the tasks. The owner works at bot with plain stores; thieves take
//! at top, with one compare-and-swap each. Owner and thief raise flags at each other as in
//! [`chase_lev`](crate::chase_lev), which came later. But here indices do not grow for ever: when the owner finds the
//! deque empty, it starts again at 0. A thief that slept meanwhile must not mistake the new top for the one it has
//! seen, so top shares a word with a tag that every reset changes.
//!
//! **Fields.** Each on its own line.
//! * `age`: (tag, top). Thieves raise top; the owner resets it and changes the tag; both read it.
//! * `bot`: written by the owner, read by thieves.
//! * `deq`: the slots' address and number, never written.
//! * private to the owner: `bot` and `tag` (copies of the shared ones, which only the owner changes).
//!
//! **Invariants.**
//! * I1: top ≤ bot outside a pop; in a pop, top ≤ bot + 1 until `reset` stores bot = 0; thieves then find nothing.
//! * I2: under one tag, top only rises, and no slot below bot is written again before a pop has lowered bot to it. So a
//!   compare-and-swap that succeeds has read the task at top, unless 2³² resets happened meanwhile.
//! * I3: an index is claimed by the compare-and-swap that raises top past it; or by a pop that lowers bot to it and
//!   then reads a smaller top; or by the reset that finds top at it; never by two of them.
//!
//! **Edges.**
//! * E1: the stores of `bot` in `push` and `pop` (release) → its load in `steal` (acquire): slots and task contents are
//!   written before bot passes them. The store that lowers bot counts: a relaxed one would not continue the release of
//!   an earlier push.
//! * E2: the compare-and-swap in `steal` (release) → the swap in `reset` (acquire): a thief has read its slot before
//!   the owner uses the slot again.
//! * E3: the swap in `reset` (release) → the load of `age` in `steal` (relaxed, before a fence): a thief that uses the
//!   new top does not use a bot from before the reset.
//! * F: the fences in `pop` and `steal` rule out that a pop reads a top below the index it takes while a thief at that
//!   index reads a bot above it.
//!
//! **Memory model.** Rust's. Without either fence, F fails on every processor with a store buffer, x86 included.
//!
//! **Progress.** Owner wait-free, steal lock-free. **Capacity.** An array: a push is refused when bot has reached its
//! end, however many tasks have been stolen, until a pop finds the deque empty or takes its last task.
//!
//! **Departures.** The paper's machine is sequentially consistent; fences and orderings are ours. Its reset tries to
//! swap the age if the last task is there; otherwise, or if the swap fails, it stores the age. After the store of bot
//! only a thief at that last task can change the age, so one unconditional swap does all three. Tests:
//! `queues/battery.rs` (overflow, wrap-around, last task), and the checker's known mistake `abp-bot-after-age`.
//!
//! **Names.** As in the paper; `pushBottom`, `popBottom`, `popTop` are `push`, `pop`, `steal`.
//!
//! **Scenarios.** `abp` in the battery, the property and the stalled-thief tests; `abp` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::slots::Ring;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealOrder, Stealable, Task,
};

/// The ABP deque: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Abp, Full, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <Abp as Queue>::make(2, 1, &());
/// owner.push(task(1)).unwrap();
/// owner.push(task(2)).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.push(task(3)), Err(Full(task(3)))); // the end of the array
/// assert_eq!(owner.pop(), Some(task(2))); // the last task: back to the start
/// assert_eq!(owner.push(task(3)), Ok(()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Abp;

struct Shared<M: Memory> {
    age: Padded<M::AtomicU64>,
    bot: Padded<M::AtomicU32>,
    deq: Padded<Ring<M>>,
}

fn pack(tag: u32, top: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(top)
}

fn unpack(age: u64) -> (u32, u32) {
    ((age >> 32) as u32, age as u32)
}

/// The owner's side of an [`Abp`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    bot: u32,
    tag: u32,
}

/// A thief's side of an [`Abp`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

/// The largest power of two in 32 bits, since bot reaches the capacity.
const MAX_CAPACITY: usize = 1 << 31;

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for Abp {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "abp",
        paper: "Arora, Blumofe and Plaxton, Thread Scheduling for Multiprogrammed Multiprocessors, SPAA 1998",
        follows: "figure 5",
        departures: &[
            "Fences are ours: the paper's machine is sequentially consistent.",
            "A pop that meets top always swaps age; the paper's swaps it or stores it.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Array,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::All,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    // `pop` has the fence F before it looks at the age.
    const FENCES_POPS: bool = true;

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= MAX_CAPACITY, "the capacity is out of range");
        let shared = Arc::new(Shared {
            age: Padded(Atomic::new(pack(0, 0))),
            bot: Padded(Atomic::new(0)),
            deq: Padded(Ring::new(capacity)),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, bot: 0, tag: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    /// Ends a pop that lowered bot to `b` and found top at or above it: starts again at 0.
    #[cold]
    fn reset(&mut self, b: u32) -> Option<Task> {
        // Relaxed: E3 orders it before the new age, and a thief that reads it reads no slot.
        self.shared.bot.store(0, Ordering::Relaxed);
        self.bot = 0;
        self.tag = self.tag.wrapping_add(1);
        // Release: E3, pairs with the load of age in `steal`. Acquire: E2, pairs with the compare-and-swap there.
        // kept over Release: load buffering would let thieves read the next tasks in their slots.
        let (_, top) = unpack(self.shared.age.swap(pack(self.tag, 0), Ordering::AcqRel));
        // I3: if a thief had taken the task at b, top would be above it.
        if top == b { self.shared.deq.read(b as usize) } else { None }
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        if self.bot as usize == self.shared.deq.capacity() {
            return Err(Full(task));
        }
        self.shared.deq.write(self.bot as usize, task);
        self.bot += 1;
        // E1: pairs with the load in `steal`.
        self.shared.bot.store(self.bot, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.bot == 0 {
            return None;
        }
        let b = self.bot - 1;
        // E1: pairs with the load in `steal`.
        self.shared.bot.store(b, Ordering::Release);
        // F: pairs with the fence in `steal`. Without it the load below may overtake the store above.
        M::fence(Ordering::SeqCst);
        // Relaxed: F limits how old this may be, and the owner uses no other data that thieves wrote.
        let (_, top) = unpack(self.shared.age.load(Ordering::Relaxed));
        if top >= b {
            return self.reset(b);
        }
        self.bot = b;
        self.shared.deq.read(b as usize)
    }

    fn len_hint(&self) -> usize {
        // Relaxed: a hint.
        let (_, top) = unpack(self.shared.age.load(Ordering::Relaxed));
        self.bot.saturating_sub(top) as usize
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        let shared = &*self.shared;
        // E3: pairs with the swap in `reset`; relaxed, since an acquire fence follows. The compare-and-swap validates
        // it.
        let age = shared.age.load(Ordering::Relaxed);
        // F: pairs with the fence in `pop`.
        M::fence(Ordering::SeqCst);
        // E1: pairs with the stores in `push` and `pop`.
        let bot = shared.bot.load(Ordering::Acquire);
        let (tag, top) = unpack(age);
        if bot <= top {
            return Steal::Empty;
        }
        // Discarded unless the swap succeeds.
        let task = shared.deq.read(top as usize);
        // E2: pairs with the swap in `reset`. Relaxed on failure: nothing is used.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        match shared.age.compare_exchange(age, pack(tag, top + 1), Ordering::Release, Ordering::Relaxed) {
            Ok(_) => Steal::Task(task.expect("a slot in [top, bot) holds a task")),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: whatever orders the push before this call makes both loads recent enough. While the pushed task is
        // there, no reset happens.
        let (_, top) = unpack(self.shared.age.load(Ordering::Relaxed));
        top < self.shared.bot.load(Ordering::Relaxed)
    }
}
