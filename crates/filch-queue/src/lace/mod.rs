//! Lace as a queue: the split deque for words.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014,
//! <https://doi.org/10.1007/978-3-319-14313-2_18>, figures 2–4. The index protocol is in [`index`], with its own
//! invariants and edges.
//!
//! **Idea.** A boundary, split, divides the tasks: thieves take below it, the owner works above it as on a private
//! stack. A thief that finds nothing below split raises a flag; the owner sees it at its next operation and moves split
//! up. An owner that runs out of private tasks moves split down. So the owner pays for synchronisation only when many
//! tasks change sides together, not for each task.
//!
//! **Fields.** Each on its own line.
//! * `index`: tail, split and a hint: see [`index`].
//! * `splitreq`: raised by thieves, lowered by the owner. The owner reads it in every operation, so it is on
//!   another line than what a thief changes.
//! * `ring`: the slots' address and number, never written. The owner fills the slots; the side that takes a task
//!   empties its slot.
//! * private to the owner: `head`, one past the newest task, and [`OwnerIndex`].
//!
//! **Invariants.** Those of [`index`], and
//! * V1: `head` is never lowered below split, and equals tail and split when all tasks are found stolen: no index that
//!   thieves have passed is used again before the 32 bits wrap.
//! * V2: a slot is filled only when empty, and emptied only by the thread entitled to its index: the handshake, H1 and
//!   H2 of [`slots`](crate::slots).
//!
//! **Edges.** E1 of [`index`] publishes slots and task contents. `splitreq` and the emptiness of a slot publish
//! nothing.
//!
//! **Memory model.** Rust's; no fence anywhere. For the paper's x86 form see [`index`].
//!
//! **Progress.** Owner wait-free; steal lock-free. A thief that stops between winning an index and emptying its slot
//! costs one slot. **Capacity.** A ring; a push is refused while its slot is not empty.
//!
//! **Departures.** The paper's deque is a stack of descriptors, in which a stolen task stays until it is joined. A
//! queue of words has no join, so head is not lowered past stolen tasks, and the array becomes a ring. Then (tail,
//! split) can return to an old value with another task in the slot, and a thief may not read the slot before it wins
//! the index: hence the handshake. A request stays until there is something to share; the paper drops it. [`Policies`]
//! sets how much is shared, taken back and stolen at once, by default as in the paper. Tests: `queues/battery.rs`
//! (wrap-around, overflow, stress), `queues/stalled.rs`.
//!
//! **Names.** tail, split, head, splitreq, allstolen as in the paper; `grow` and `shrink` are `grow_shared` and
//! `shrink_shared` in its program.
//!
//! **Scenarios.** `lace`, `lace_all` and `lace_one` in the battery, the property, the stalled-thief and the
//! many-at-once tests; `lace` in the checker.

pub mod index;

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

pub use self::index::Moves;
use self::index::{OwnerIndex, SharedIndex, StealIndex};
use crate::counts::Counting;
use crate::slots::HandshakeRing;
use crate::{
    Amount, Capacity, Counts, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue, Steal, StealMany,
    StealOrder, Stealable, Task,
};

/// The split deque of words: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::lace::Policies;
/// use filch_queue::{Lace, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <Lace as Queue>::make(8, 1, &Policies::default());
/// for n in 1..=4 {
///     owner.push(task(n)).unwrap(); // the first is shared at once
/// }
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(thieves[0].steal(), Steal::Empty); // the thief asks for more
/// owner.poll(); // a push or a pop would do, too
/// assert_eq!(thieves[0].steal(), Steal::Task(task(2)));
/// assert_eq!(owner.pop(), Some(task(4)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lace;

/// How many tasks move at a time: half by default, as in the paper.
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::lace::Policies;
/// use filch_queue::{Amount, Lace, Owner, Queue, Steal, StealMany, Task};
///
/// let policies = Policies { grow: Amount::All, ..Policies::default() };
/// let (mut owner, mut thieves) = <Lace as Queue>::make(8, 1, &policies);
/// for n in 1..=6 {
///     owner.push(Task::from_id(NonZeroUsize::new(n).unwrap())).unwrap();
/// }
/// let mut loot = Vec::new();
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(1)); // the first was shared at once
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Empty);
/// owner.poll(); // shares the other five
/// assert_eq!(thieves[0].steal_many(16, &mut loot), Steal::Task(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policies {
    /// How many of the private tasks the owner shares on request.
    pub grow: Amount,
    /// How many of the shared tasks the owner takes back when it has no private one.
    pub shrink: Amount,
    /// How many of the shared tasks a thief takes if it asks for several.
    pub steal: Amount,
    /// How the owner moves split.
    pub moves: Moves,
}

struct Shared<M: Memory> {
    index: Padded<SharedIndex<M>>,
    splitreq: Padded<M::AtomicBool>,
    ring: Padded<HandshakeRing<M>>,
}

/// The owner's side of a [`Lace`] deque.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    head: u32,
    index: OwnerIndex,
    grow: Amount,
    shrink: Amount,
    tally: Counting,
}

/// A thief's side of a [`Lace`] deque.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    amount: Amount,
}

/// Differences of indices are signed 32-bit numbers.
const MAX_CAPACITY: usize = 1 << 30;

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for Lace {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Policies;

    const PROMISES: Promises = Promises {
        name: "lace",
        paper: "van Dijk and van de Pol, Lace: Non-blocking Split Deque for Work-Stealing, MuCoCoS 2014",
        follows: "figures 2 to 4",
        departures: &[
            "A ring of words instead of a stack of descriptors: without a join no stolen task stays in it.",
            "A thief reads its slot after it has won it, and a push needs an empty slot.",
            "A request stays until there is something to share; the paper drops it.",
            "Split moves by updates of the whole word; with moves=half-stores as printed.",
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

    fn make(capacity: usize, thieves: usize, &policies: &Policies) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= MAX_CAPACITY, "the capacity is out of range");
        let (index, owner) = SharedIndex::new(policies.moves);
        let shared = Arc::new(Shared {
            index: Padded(index),
            splitreq: Padded(Atomic::new(false)),
            ring: Padded(HandshakeRing::new(capacity)),
        });
        let thieves = (0..thieves).map(|_| Thief { shared: Arc::clone(&shared), amount: policies.steal }).collect();
        let Policies { grow, shrink, .. } = policies;
        (Owner { shared, head: 0, index: owner, grow, shrink, tally: Counting::default() }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn is_asked(&self) -> bool {
        // Relaxed: the flag publishes nothing, and a flag seen late is answered late.
        self.shared.splitreq.load(Ordering::Relaxed)
    }

    /// Lowers the flag, after split has moved: a thief that raises it in between will raise it again.
    fn answered(&self) {
        // Relaxed: as in `is_asked`.
        self.shared.splitreq.store(false, Ordering::Relaxed);
    }

    /// Shares private tasks, if there are any; otherwise the request stays.
    #[cold]
    fn share(&mut self) {
        let amount = self.grow;
        if !self.index.is_all_stolen() && self.index.grow_by(&self.shared.index, self.head, amount) != 0 {
            self.tally.count(|counts| &counts.grows);
            self.answered();
        }
    }

    /// Shares the task just pushed, at once, because all others are stolen.
    #[cold]
    fn push_first(&mut self) {
        self.index.publish_first(&self.shared.index, self.head.wrapping_sub(1));
        if self.is_asked() {
            self.answered();
        }
    }

    /// Takes tasks back from the shared part; `false` if there are none.
    #[cold]
    fn take_back(&mut self) -> bool {
        let shrink = self.index.shrink_by(&self.shared.index, self.shrink);
        if shrink.has_moved() {
            self.tally.count(|counts| &counts.shrinks);
        }
        shrink.has_task()
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        self.shared.ring.put(self.head as usize, task)?;
        self.head = self.head.wrapping_add(1);
        if self.index.is_all_stolen() {
            self.push_first();
        } else if self.is_asked() {
            self.share();
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        if self.index.is_all_stolen() || (self.index.split() == self.head && !self.take_back()) {
            return None;
        }
        self.head = self.head.wrapping_sub(1);
        let task = self.shared.ring.take(self.head as usize);
        debug_assert!(task.is_some(), "a slot in [split, head) holds a task");
        if self.is_asked() {
            self.share();
        }
        task
    }

    #[inline]
    fn poll(&mut self) {
        if self.is_asked() {
            self.share();
        }
    }

    fn len_hint(&self) -> usize {
        if self.index.is_all_stolen() {
            return 0;
        }
        let private = self.head.wrapping_sub(self.index.split()) as usize;
        private + usize::from(self.shared.index.has_shared())
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.tally.count_in(counts);
    }
}

impl<M: Memory> Thief<M> {
    /// Asks the owner to share. Writes only if that changes something, so that the line stays in the owner's cache.
    #[cold]
    fn ask(&self) {
        // Relaxed, both: the flag publishes nothing.
        if !self.shared.splitreq.load(Ordering::Relaxed) {
            self.shared.splitreq.store(true, Ordering::Relaxed);
        }
    }
}

impl<M: Memory> Thief<M> {
    /// Wins `of(n)` of the n shared indices; returns the first index and the number won.
    #[inline]
    fn win(&self, of: impl FnOnce(u32) -> u32) -> Steal<(u32, u32)> {
        match self.shared.index.steal_several(|_, shared| of(shared)) {
            StealIndex::Index(won) => Steal::Task(won),
            StealIndex::Retry => Steal::Retry,
            StealIndex::AllStolen => Steal::Empty,
            StealIndex::NothingShared => {
                self.ask();
                Steal::Empty
            }
        }
    }

    #[inline]
    fn take(&self, index: u32) -> Task {
        self.shared.ring.take(index as usize).expect("a slot in [tail, split) holds a task")
    }
}

impl<M: Memory> StealMany<Task> for Thief<M> {
    /// Takes as many of the shared tasks as [`Policies::steal`] allows.
    fn steal_many(&mut self, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
        if max == 0 {
            return Steal::Empty;
        }
        self.win(|shared| self.amount.of_at_most(shared, max)).map(|(first, count)| {
            loot.extend((0..count).map(|n| self.take(first.wrapping_add(n))));
            count as usize
        })
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    #[inline]
    fn steal(&mut self) -> Steal<Task> {
        self.win(|_| 1).map(|(index, _)| self.take(index))
    }

    /// Counts the owner's private tasks. After a push it stays true until a pop finds the deque empty.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // A push clears this flag, and only a pop that finds every task taken sets it again.
        !self.shared.index.is_all_stolen()
    }
}
