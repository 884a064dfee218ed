//! Hendler–Shavit: thieves take up to half of the deque in one compare-and-swap.
//!
//! **Paper.** Danny Hendler and Nir Shavit, *Non-Blocking Steal-Half Work Queues*, PODC 2002,
//! <https://doi.org/10.1145/571825.571876>. The form here has the same properties and fewer cases.
//!
//! **Idea.** The oldest tasks, about half of all, are public: one word holds their range, and a thief takes any number
//! from its old end with one compare-and-swap. The owner works on the others as on a private stack. The owner reads the
//! word in every operation, but changes it only a logarithmic number of times: when the deque has doubled, when nothing
//! is public any more, and, to take back half of the range, when nothing private is left.
//!
//! **Fields.** Each on its own line.
//! * `range`: (top: low 32 bits, length: high 32 bits), the public indices [top, top + length). Written by all.
//! * `bottom`: one past the newest task, written by the owner, read by thieves only for the work hint.
//! * `ring`: the slots' address and number, never written. The owner fills the slots; the side that takes a task
//!   empties its slot.
//! * private to the owner: `bottom` (a copy), `end`: one past the public range.
//!
//! **Invariants.** (Indices are 32-bit numbers that wrap.)
//! * I1: top ≤ end ≤ bottom, and end = top + length: a steal raises top and lowers length by the same number.
//! * I2: length = 0 ⇒ top = end, and no thief writes the word until the owner does. So the owner may then just store.
//! * I3: every index in [top, bottom) is public, or private to the owner; it leaves the public range only by a
//!   compare-and-swap on the word.
//! * I4: a slot is filled only when empty, and emptied only by the thread entitled to its index: the handshake, H1 and
//!   H2 of [`slots`](crate::slots). Hence the word may return to an old value.
//! * I5: after a push, and after a pop that leaves private tasks, something is public or has just been stolen.
//!
//! **Edges.**
//! * E1: `publish`'s store and the compare-and-swap in `widen` (release) → the compare-and-swap in `claim` (acquire):
//!   the public slots, and the contents of their tasks, are written before the range includes them. Updates in between,
//!   by any thread, continue the release sequence.
//!
//! **Memory model.** Rust's; no fence anywhere.
//!
//! **Progress.** Owner wait-free (spurious failures aside): a swap in `pop` fails only because a task has been taken.
//! Steal lock-free. A thief that stops between winning its range and emptying the slots costs these slots.
//! **Capacity.** A ring; a push is refused while its slot is not empty.
//!
//! **Departures.** The paper's range has a tag instead of the handshake, its length is a power of two, and it moves
//! when the deque's length passes a power of two. Its thief takes all of the range, and its array does not wrap. Here a
//! thief may take less, since [`steal`](crate::Thief::steal) is for one task. So a pop whose swap fails tries again:
//! the failure does not mean that all of the range is gone. Tests: `queues/battery.rs`, `queues/stalled.rs`,
//! `queues/many.rs`.
//!
//! **Names.** The paper's `stealRange` is `range`, its `bot` is `bottom`; its `stealLast` is `end` - 1.
//!
//! **Scenarios.** `hendler_shavit` in the battery, the property, the stalled-thief and the many-at-once tests;
//! `hendler-shavit` in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::slots::HandshakeRing;
use crate::{
    Capacity, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany, StealOrder,
    Stealable, Task,
};

/// The steal-half deque: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{HendlerShavit, Owner, Queue, Steal, StealMany, Task};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <HendlerShavit as Queue>::make(8, 1, &());
/// for n in 1..=8 {
///     owner.push(task(n)).unwrap();
/// }
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(4));
/// assert_eq!(loot, [1, 2, 3, 4].map(task));
/// assert_eq!(owner.pop(), Some(task(8)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HendlerShavit;

struct Shared<M: Memory> {
    range: Padded<M::AtomicU64>,
    bottom: Padded<M::AtomicU32>,
    ring: Padded<HandshakeRing<M>>,
}

/// The owner's side of a [`HendlerShavit`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    bottom: u32,
    end: u32,
}

/// A thief's side of a [`HendlerShavit`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
}

/// Indices are 32-bit numbers, and the indices in use must differ.
const MAX_CAPACITY: usize = 1 << 30;

const fn pack(top: u32, length: u32) -> u64 {
    top as u64 | (length as u64) << 32
}

const fn unpack(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for HendlerShavit {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = ();

    const PROMISES: Promises = Promises {
        name: "hendler-shavit",
        paper: "Hendler and Shavit, Non-Blocking Steal-Half Work Queues, PODC 2002",
        follows: "the text, and no listing: the same properties with fewer cases",
        departures: &[
            "The public range may have any length, and slots are handed over; the paper has powers of two, and a tag.",
            "A thief may take a part of the range, so a pop whose swap fails tries again.",
            "The array is a ring.",
        ],
        order: Order::Lifo,
        steals: StealOrder::OldestFirst,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Ring,
        may_abort: false,
        steal_progress: Progress::LockFree,
        stealable: Stealable::Shared,
        memory_model: MemoryModel::Rust,
        owner_must_poll: false,
        answers_by_clock: false,
    };

    fn make(capacity: usize, thieves: usize, (): &()) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= MAX_CAPACITY, "the capacity is out of range");
        let shared = Arc::new(Shared {
            range: Padded(Atomic::new(pack(0, 0))),
            bottom: Padded(Atomic::new(0)),
            ring: Padded(HandshakeRing::new(capacity)),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared) }).collect();
        (Owner { shared, bottom: 0, end: 0 }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn set_bottom(&mut self, bottom: u32) {
        self.bottom = bottom;
        // Relaxed: a hint.
        self.shared.bottom.store(bottom, Ordering::Relaxed);
    }

    #[inline]
    fn range(&self) -> u64 {
        // Relaxed: the owner itself wrote the tasks that it takes back, and a swap validates each change that rests on
        // a length above 0. A length of 0 is exact: only the owner raises it.
        self.shared.range.load(Ordering::Relaxed)
    }

    /// Makes half of the private tasks public, at least one. Precondition: there are private tasks and no public ones.
    #[cold]
    fn publish(&mut self) {
        let count = (self.bottom.wrapping_sub(self.end) / 2).max(1);
        // E1: pairs with the compare-and-swap in `claim`. A store, by I2.
        self.shared.range.store(pack(self.end, count), Ordering::Release);
        self.end = self.end.wrapping_add(count);
    }

    /// Makes half of all tasks public, given the range `word`, unless thieves change it meanwhile.
    #[cold]
    fn widen(&mut self, word: u64) {
        let (top, _) = unpack(word);
        let half = self.bottom.wrapping_sub(top) / 2;
        // E1: pairs with the compare-and-swap in `claim`. Relaxed on failure: the owner can widen later.
        let new = pack(top, half);
        if self.shared.range.compare_exchange(word, new, Ordering::Release, Ordering::Relaxed).is_ok() {
            self.end = top.wrapping_add(half);
        }
    }

    /// Takes back the newer half, rounded up, of the public range; `false` if it is empty.
    #[cold]
    fn take_back(&mut self) -> bool {
        let mut word = self.range();
        loop {
            let (top, length) = unpack(word);
            if length == 0 {
                return false;
            }
            // Relaxed: this thread wrote the tasks that come back, and an update continues the release sequence for the
            // rest.
            let new = pack(top, length / 2);
            match self.shared.range.compare_exchange_weak(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.end = top.wrapping_add(length / 2);
                    return true;
                }
                Err(found) => word = found,
            }
        }
    }

    /// Publishes private tasks, if there are any and no task is public.
    #[inline]
    fn share(&mut self) {
        if self.bottom != self.end && unpack(self.range()).1 == 0 {
            self.publish();
        }
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.shared.ring.put(self.bottom as usize, task)?;
        self.set_bottom(self.bottom.wrapping_add(1));
        let word = self.range();
        let (top, length) = unpack(word);
        let all = self.bottom.wrapping_sub(top);
        if length == 0 {
            self.publish();
        } else if all.is_power_of_two() && all / 2 > length {
            self.widen(word);
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.bottom == self.end && !self.take_back() {
            return None;
        }
        self.set_bottom(self.bottom.wrapping_sub(1));
        let task = self.shared.ring.take(self.bottom as usize);
        debug_assert!(task.is_some(), "a slot in [end, bottom) holds a task");
        self.share();
        task
    }

    #[inline]
    fn poll(&mut self) {
        self.share();
    }

    fn len_hint(&self) -> usize {
        let (top, _) = unpack(self.range());
        self.bottom.wrapping_sub(top) as usize
    }
}

impl<M: Memory> Thief<M> {
    /// Takes the `of(n)` oldest of the n public tasks, unless n is 0; returns the first index and the number taken.
    #[inline]
    fn claim(&self, of: impl FnOnce(u32) -> u32) -> Steal<(u32, u32)> {
        let range = &self.shared.range;
        // Relaxed: the swap decides, and publishes.
        let word = range.load(Ordering::Relaxed);
        let (top, length) = unpack(word);
        if length == 0 {
            return Steal::Empty;
        }
        let taken = of(length);
        // E1: pairs with the owner's store in `publish` and swap in `widen`. Relaxed on failure: nothing is used.
        let new = pack(top.wrapping_add(taken), length - taken);
        match range.compare_exchange(word, new, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Steal::Task((top, taken)),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn take(&self, index: u32) -> Task {
        self.shared.ring.take(index as usize).expect("a slot in the public range holds a task")
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.claim(|_| 1).map(|(index, _)| self.take(index))
    }

    /// Counts the owner's private tasks.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed, both: whatever orders the push before this call makes both loads recent enough. If the task at index
        // i is still there, top is at most i and bottom is above i.
        let (top, _) = unpack(self.shared.range.load(Ordering::Relaxed));
        top != self.shared.bottom.load(Ordering::Relaxed)
    }
}

impl<M: Memory> StealMany<Task> for Thief<M> {
    /// Takes all public tasks: about half of the deque.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        self.claim(|length| length.min(max)).map(|(first, count)| {
            loot.extend((0..count).map(|n| self.take(first.wrapping_add(n))));
            count as usize
        })
    }
}
