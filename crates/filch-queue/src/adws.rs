//! adws: delegation alone, without blocks. Every steal goes through the owner.
//!
//! **Paper.** Jiawei Wang, Yutao Liu, Ming Fu, Hermann Härtig and Haibo Chen, *Work Stealing through Partial
//! Asynchronous Delegation*, SPAA 2024 (brief announcement), <https://doi.org/10.1145/3626183.3660261>. It names adws
//! as the part of PadWS to compare with.
//!
//! **Idea.** The queue is private to the owner: a ring with plain bounds. A thief asks and moves on. The owner, at its
//! next operation, grants its oldest task by naming the position, and the thief's next attempt copies the task. A steal
//! never waits, and never succeeds without the owner.
//!
//! **Fields.** As in [`delegation`](crate::delegation), each on its own line, and
//! * `busy`: whether there may be tasks, for the hint. Raised by a push, lowered by a pop or a poll that finds none.
//! * `ring`: written by the owner, read by thieves with a granted position.
//! * private to the owner: `front`, `back`, and `limit`, the index below which a push is known to have room.
//!
//! **Invariants.** As in `delegation`, and
//! * A1: each position below `front` was granted once; [`front`, `back`) is the owner's.
//! * A2: `limit` ≤ p + capacity if p is `front` or a position that a cell names as granted or being copied, so a push
//!   overwrites no slot that a thief has yet to read.
//! * A3: an answer is settled only after its task has been copied, so no thread reads a position that no cell names.
//!
//! **Edges.** As in `delegation`, and
//! * E4: the store that ends a copy (release) → the loads of the cell (acquire) in `collect`, by its thief, which then
//!   asks again by E2, and in `make_room`, by the owner.
//!
//! **Memory model.** Rust's; no fence anywhere.
//!
//! **Progress.** Owner wait-free; a steal depends on the owner's next operation, and returns `Pending` instead of
//! waiting. If a thief stops while it copies, its slot and the later ones cannot be used again. **Capacity.** As an
//! array: pushes end one lap above the oldest position that a cell names.
//!
//! **Departures.** Everything but the idea is ours: see `delegation`. When a pop finds nothing, the owner takes back
//! the newest granted task that no thief has collected. A steal that finds the answer "nothing" reports an empty queue
//! and asks again. Requests persist, and thieves go on, as in [`pad_ws`](crate::pad_ws). Tests: `queues/battery.rs`
//! (all).
//!
//! **Names.** See `delegation`.
//!
//! **Scenarios.** `adws`, `eager_adws`, `reserved_adws` and `rung_adws` in the battery and the property tests; `adws`
//! in the checker.

use alloc::sync::Arc;
use alloc::vec::Vec;

use filch_memory::{Atomic, Memory, Native, Ordering};

use crate::delegation::{Answer, Desk, Kind, OwnerDesk, POSITIONS, ThiefDesk};
use crate::slots::Ring;
use crate::{
    Answers, Capacity, Counts, Delegation, Delivery, Full, MemoryModel, Order, Padded, Progress, Promises, Queue,
    Revocation, Steal, StealOrder, Stealable, Task,
};

/// adws: see the [module](self).
///
/// ```
/// use core::num::NonZeroUsize;
/// use filch_queue::{Adws, Delegation, Owner, Queue, Steal, Task, Thief};
///
/// let task = |n| Task::from_id(NonZeroUsize::new(n).unwrap());
/// let (mut owner, mut thieves) = <Adws as Queue>::make(64, 1, &Delegation::default());
/// owner.push(task(1)).unwrap();
/// owner.push(task(2)).unwrap();
/// assert_eq!(thieves[0].steal(), Steal::Pending); // it has asked
/// owner.poll(); // a push or a pop would do, too
/// assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
/// assert_eq!(owner.pop(), Some(task(2)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Adws;

struct Shared<M: Memory> {
    desk: Desk<M>,
    ring: Ring<M>,
    busy: Padded<M::AtomicBool>,
    delegation: Delegation,
}

/// The owner's side of an [`Adws`] queue.
pub struct Owner<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    desk: OwnerDesk,
    bounds: Bounds,
    limit: u64,
    is_known_empty: bool,
}

/// A1.
struct Bounds {
    front: u64,
    back: u64,
}

impl Bounds {
    /// Grants the oldest task, if thieves may have it.
    #[inline]
    fn grant(&mut self, keep: u32) -> Option<u32> {
        (self.back - self.front > u64::from(keep)).then(|| {
            self.front += 1;
            (self.front - 1) as u32 % POSITIONS
        })
    }

    /// Returns the index below `back` that a position stands for.
    fn index(&self, position: u32) -> u64 {
        self.back - u64::from((self.back as u32).wrapping_sub(position) % POSITIONS)
    }
}

/// A thief's side of an [`Adws`] queue.
pub struct Thief<M: Memory = Native> {
    shared: Arc<Shared<M>>,
    desk: ThiefDesk,
}

// SAFETY: by the invariants and edges in the module documentation.
unsafe impl<M: Memory> Queue<M> for Adws {
    type Owner = Owner<M>;
    type Thief = Thief<M>;
    type Params = Delegation;

    const PROMISES: Promises = Promises {
        name: "adws",
        paper: "Wang et al., Work Stealing through Partial Asynchronous Delegation, SPAA 2024",
        follows: "section 2.1, which has no listing",
        departures: &[
            "The section says only that a steal collects what an earlier one asked for; all else is ours.",
            "An idle thief may take what was granted to another, unless cross=off.",
            "A pop that finds nothing takes a grant back, unless revocation=off.",
        ],
        order: Order::Lifo,
        steals: StealOrder::Unordered,
        delivery: Delivery::ExactlyOnce,
        capacity: Capacity::Array,
        may_abort: false,
        steal_progress: Progress::OwnerDependent,
        stealable: Stealable::OnRequest,
        memory_model: MemoryModel::Rust,
        owner_must_poll: true,
        answers_by_clock: false,
    };

    fn polls(thief: &Thief<M>) -> bool {
        thief.shared.delegation.answers == Answers::Polled
    }

    fn kept_back(_: usize, delegation: &Delegation) -> usize {
        delegation.keep as usize
    }

    fn make(capacity: usize, thieves: usize, delegation: &Delegation) -> (Owner<M>, Vec<Thief<M>>) {
        assert!(capacity <= POSITIONS as usize / 2, "the capacity is out of range");
        let (shared_desk, desk) = Desk::new(thieves, delegation);
        let shared = Arc::new(Shared {
            desk: shared_desk,
            ring: Ring::new(capacity),
            busy: Padded(Atomic::new(false)),
            delegation: *delegation,
        });
        let thieves = (0..thieves).map(|index| Thief { shared: Arc::clone(&shared), desk: ThiefDesk::new(index) });
        let thieves = thieves.collect();
        (Owner { shared, desk, bounds: Bounds { front: 0, back: 0 }, limit: 0, is_known_empty: true }, thieves)
    }
}

impl<M: Memory> Owner<M> {
    #[inline]
    fn poll_in_turn(&mut self) {
        let Self { shared, desk, bounds, .. } = self;
        desk.poll_in_turn(&shared.desk, || bounds.grant(shared.delegation.keep));
    }

    /// Raises `limit` above `back`. Returns `false` if the ring is really full.
    #[cold]
    fn make_room(&mut self) -> bool {
        let Self { shared, bounds, .. } = self;
        if self.is_known_empty {
            self.is_known_empty = false;
            // Relaxed: see `has_work_hint`.
            shared.busy.store(true, Ordering::Relaxed);
        }
        // E4: pairs with the store in `copied`.
        // kept over Relaxed: load buffering would let thieves read the next tasks in their slots.
        let cells = (0..shared.desk.thieves()).map(|cell| shared.desk.answer(cell, Ordering::Acquire));
        let named = cells.filter(|answer| matches!(answer.kind, Kind::Granted | Kind::Copying));
        let oldest = named.map(|answer| bounds.index(answer.position)).fold(bounds.front, u64::min);
        self.limit = oldest + shared.ring.capacity() as u64;
        bounds.back < self.limit
    }

    /// Pops when there is nothing between the bounds.
    #[cold]
    fn pop_granted(&mut self) -> Option<Task> {
        if self.is_known_empty {
            return None;
        }
        let Self { shared, desk, bounds, .. } = self;
        if shared.delegation.revocation == Revocation::WhenNeeded {
            let revoked = desk.revoke(&shared.desk, |position| bounds.index(position), |_| false);
            if let Some(position) = revoked {
                // Only the owner can write this slot again, so there is no copy to wait for.
                return shared.ring.read(position as usize);
            }
        }
        self.look_for_tasks();
        None
    }

    /// Checks whether any granted task is left to take. Precondition: there is no task between the bounds.
    fn look_for_tasks(&mut self) {
        if self.is_known_empty || self.desk.looks_for_granted(&self.shared.desk) {
            return;
        }
        self.is_known_empty = true;
        // Relaxed: see `has_work_hint`.
        self.shared.busy.store(false, Ordering::Relaxed);
        // Makes the next push call `make_room`.
        self.limit = self.bounds.back;
    }
}

impl<M: Memory> crate::Owner<Task> for Owner<M> {
    #[inline]
    fn push(&mut self, task: Task) -> Result<(), Full<Task>> {
        let has_room = self.bounds.back != self.limit || self.make_room();
        if has_room {
            self.shared.ring.write(self.bounds.back as usize, task);
            self.bounds.back += 1;
        }
        self.poll_in_turn();
        if has_room { Ok(()) } else { Err(Full(task)) }
    }

    #[inline]
    fn pop(&mut self) -> Option<Task> {
        let popped = if self.bounds.back > self.bounds.front {
            self.bounds.back -= 1;
            self.shared.ring.read(self.bounds.back as usize)
        } else {
            self.pop_granted()
        };
        // After the owner has secured its own task.
        self.poll_in_turn();
        popped
    }

    /// Also finds out whether the queue is empty, so that thieves need not check.
    #[inline]
    fn poll(&mut self) {
        let Self { shared, desk, bounds, .. } = self;
        desk.poll(&shared.desk, || bounds.grant(shared.delegation.keep));
        if self.bounds.front == self.bounds.back {
            self.look_for_tasks();
        }
    }

    fn len_hint(&self) -> usize {
        let granted = !self.is_known_empty && self.desk.has_granted();
        (self.bounds.back - self.bounds.front) as usize + usize::from(granted)
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.desk.count_in(counts);
    }
}

impl<M: Memory> Thief<M> {
    /// Takes the task that a cell grants, if it grants one.
    fn take(&self, cell: usize, answer: Answer) -> Option<Task> {
        let Shared { desk, ring, .. } = &*self.shared;
        if answer.kind != Kind::Granted || !desk.take(cell, answer, Kind::Copying) {
            return None;
        }
        let task = ring.read(answer.position as usize);
        // E4: pairs with the loads in `collect` and `make_room`.
        // kept over Relaxed: load buffering would let the read of the slot return its next task.
        desk.copied(cell, answer, Ordering::Release);
        Some(task.expect("a granted position holds a task"))
    }

    /// Collects the answer to the outstanding request: a task, or `Empty` if there was none; otherwise returns
    /// `Pending`.
    fn collect(&mut self) -> Steal<Task> {
        // E4: pairs with the store in `copied`.
        // kept over Relaxed: load buffering would let a thread that took the task read the slot's next one.
        let Some(answer) = self.desk.answer(&self.shared.desk, Ordering::Acquire) else { return Steal::Pending };
        match answer.kind {
            Kind::Granted => match self.take(self.desk.index(), answer) {
                Some(task) => {
                    self.desk.settle();
                    Steal::Task(task)
                }
                // Another thread has it and may be copying: the request stays outstanding, by A3.
                None => Steal::Pending,
            },
            Kind::Copying => Steal::Pending,
            Kind::Nothing => {
                self.desk.settle();
                Steal::Empty
            }
            Kind::Taken => {
                self.desk.settle();
                Steal::Pending
            }
        }
    }
}

impl<M: Memory> crate::Thief<Task> for Thief<M> {
    fn steal(&mut self) -> Steal<Task> {
        let mut outcome = self.collect();
        let mut crossed = false;
        if !outcome.is_task() {
            let others = self.desk.others(self.shared.desk.thieves(), self.shared.delegation.cross_taking);
            // Relaxed: the compare-and-swap validates it.
            let take = |cell| self.take(cell, self.shared.desk.answer(cell, Ordering::Relaxed));
            outcome = { others }.find_map(take).map_or(outcome, Steal::Task);
            crossed = outcome.is_task();
        }
        self.desk.ask(&self.shared.desk);
        self.desk.tried(outcome, crossed)
    }

    fn quiesce(&mut self) -> Option<Task> {
        self.collect().task()
    }

    /// Returns `true` for tasks that are not granted, too, and until a pop or a poll finds the queue empty.
    #[inline]
    fn has_work_hint(&self) -> bool {
        // Relaxed: the push itself raises the flag, and the owner lowers it only when no task is left, so whatever
        // orders a push before this call makes this load recent enough.
        self.shared.busy.load(Ordering::Relaxed)
    }

    fn count_in(&mut self, counts: &Arc<Counts>) {
        self.desk.count_in(counts);
    }
}
