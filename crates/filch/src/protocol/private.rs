//! The direct private deque: a task stack whose owner gives its oldest task to a thief that has asked.
//!
//! **Papers.** Umut A. Acar, Arthur Charguéraud and Mike Rainey, *Scheduling Parallel Programs by Work Stealing with
//! Private Deques*, PPoPP 2013, section 2, figures 1 and 8. Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split
//! Deque for Work-Stealing*, MuCoCoS 2014, compare their split deque with this one, on the same task stack.
//!
//! **Idea.** All tasks are private. A thief puts its number into its victim's [`Request`] cell and sends the victim to
//! its cold path by the [limits](super::limits). There the owner answers on the thief's [`Desk`]: with the index of its
//! oldest task, which stays in its slot, or with a refusal. A worker without tasks closes its cell, so nobody asks it.
//!
//! **Fields.** [`Request`], on its own cache line: closed, open, or who asks. A thief asks by compare-and-swap, and may
//! withdraw by another; the owner opens a closed cell by a store, and claims a request by a swap. [`Desk`], on its own
//! line: the answer to the one request of its thief; the thief writes it before it asks, the owner as its answer.
//! [`Owner`]: how many tasks are given.
//!
//! **Invariants.** With `given` the number of given tasks and `head` the exact head:
//! * I1: exactly the tasks below `given` are given or stolen, and given ≤ head.
//! * I2: the limits admit only pops above `given`, and pushes only while there is a private task. So the owner comes
//!   here when its first private task comes, and when its last one goes.
//! * I3: outside of its turn, an owner without a private task has a closed cell. So has an owner that rests; its limits
//!   admit nothing, and its next push, pop or poll opens the cell.
//! * I4: whoever takes a request out of the cell settles it: the owner answers it, or the thief withdraws it. So a desk
//!   is for at most one request.
//! * I5: nothing but the protocol runs while the owner's part is in use: see I2 of [`sharer`](super::sharer).
//!
//! **Edges.**
//! * E1: the compare-and-swap in `ask` (release) → the swap in `claim` (acquire): the thief's `PENDING` and its look at
//!   the previous answer come before the owner's answer.
//! * E2: the store of the answer (release) → the load in `look` (acquire): the task, and all that its owner did before.
//! * Those of [`sleep`](super::sleep): a push that opens the cell then fences and looks at the sleepers.
//!
//! **Memory model.** Rust's. **Progress.** The owner is wait-free. A thief depends on the owner's next push, pop or
//! poll; if that does not come soon, it withdraws, or waits for an answer under way.
//!
//! **Departures.** The papers' thief waits until the answer comes. Ours withdraws in the end: an owner may run long or
//! block, and nothing can answer for it, since only running code knows the head. The flag that says whether there are
//! tasks, and the mark of a worker that wants no request, are one state of the cell; so the owner closes it by a swap
//! when its last task goes, where the papers store the flag then, and close the cell by a compare-and-swap once the
//! worker looks for work. The owner answers at pushes, too. The papers' thieves do not sleep; here the push of a first
//! private task fences.

use std::fmt;

use filch_memory::{Atomic, Memory, Ordering, Sleep};
use filch_queue::{Padded, Steal};

use super::limits::Limits;
use super::sharer::{Sharer, Wakes};

// The states of a request cell: one of these, or `FIRST` plus the number of the thief that asks.
const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const FIRST: u32 = 2;

// The states of a desk: one of these, or the index of the given task.
const PENDING: u32 = u32::MAX;
const REFUSED: u32 = u32::MAX - 1;

/// The cell where thieves ask an owner.
#[derive(Debug)]
pub struct Request<M: Memory>(M::AtomicU32);

/// The place where owners answer a thief.
#[derive(Debug)]
pub struct Desk<M: Memory>(M::AtomicU32);

/// What an owner works on.
pub struct Stack<'s, M: Memory> {
    /// The owner's cell.
    pub request: &'s Request<M>,
    /// The owner's limits, which are addresses.
    pub limits: &'s Limits<M>,
    /// The desks of all workers, by number.
    pub desks: &'s [Padded<Desk<M>>],
    /// The address of the slot with index 0.
    pub bottom: usize,
    /// The distance between two slots.
    pub slot_size: usize,
    /// The number of slots.
    pub capacity: usize,
}

impl<M: Memory> fmt::Debug for Stack<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The owner's part. Only the owner's thread uses it.
#[derive(Debug, Default)]
pub struct Owner {
    given: usize,
    is_open: bool,
}

impl<M: Memory> Default for Request<M> {
    /// The cell of a worker without tasks.
    fn default() -> Self {
        Self(Atomic::new(CLOSED))
    }
}

impl<M: Memory> Request<M> {
    /// Whether the owner has tasks and answers. A snapshot.
    #[inline]
    pub fn is_open(&self) -> bool {
        // Relaxed: a hint; a thread that relies on it before it sleeps has fenced.
        self.0.load(Ordering::Relaxed) != CLOSED
    }

    /// Thief: asks, unless the owner has nothing or another thief asks.
    fn ask(&self, thief: u32, desk: &Desk<M>) -> bool {
        // Relaxed: the compare-and-swap decides.
        if self.0.load(Ordering::Relaxed) != OPEN {
            return false;
        }
        // Relaxed: published by E1.
        desk.0.store(PENDING, Ordering::Relaxed);
        // E1: pairs with `claim`. Relaxed on failure: nothing is used.
        self.0.compare_exchange(OPEN, FIRST + thief, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Thief: withdraws its request, unless the owner has claimed that.
    fn withdraw(&self, thief: u32) -> bool {
        // Relaxed, both: nobody uses anything that the request published, and nothing is used here.
        self.0.compare_exchange(FIRST + thief, OPEN, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl<M: Memory> Default for Desk<M> {
    fn default() -> Self {
        Self(Atomic::new(REFUSED))
    }
}

impl<M: Memory> Desk<M> {
    /// Thief: asks the owner of the cell for its oldest task, and returns the task's index. While there is no answer
    /// calls `waits`; once that returns `false`, withdraws. This is the desk of the thief.
    pub fn steal(&self, victim: &Request<M>, thief: u32, mut waits: impl FnMut() -> bool) -> Option<usize> {
        if !victim.ask(thief, self) {
            return None;
        }
        loop {
            match self.look() {
                Steal::Task(index) => return Some(index),
                Steal::Pending if waits() => {}
                // I4: if it is too late, the owner is between its claim and its answer.
                Steal::Pending if !victim.withdraw(thief) => M::spin_loop(),
                _ => return None,
            }
        }
    }

    fn look(&self) -> Steal<usize> {
        // E2: pairs with the store in `claim`.
        match self.0.load(Ordering::Acquire) {
            PENDING => Steal::Pending,
            REFUSED => Steal::Empty,
            index => Steal::Task(index as usize),
        }
    }
}

impl<M: Memory> Stack<'_, M> {
    fn address_of(&self, index: usize) -> usize {
        self.bottom + index * self.slot_size
    }
}

impl Owner {
    /// Takes back the task at `index`, the newest, which the limits did not admit. Returns `false` if it is given.
    pub fn take_back<M: Sleep>(
        &mut self,
        stack: &Stack<'_, M>,
        sharer: &impl Sharer<Memory = M>,
        index: usize,
    ) -> bool {
        let is_private = index >= self.given;
        if is_private {
            self.poll(stack, sharer, index);
        }
        is_private
    }

    /// Answers the thief that has asked, if one has, and makes cell and limits agree with the stack. It has `head`
    /// tasks, which have been written.
    pub fn poll<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>, head: usize) {
        // Relaxed: a request that is seen late is answered late.
        if stack.request.0.load(Ordering::Relaxed) >= FIRST && self.claim(stack, OPEN, head) {
            sharer.note_growth();
        }
        self.settle(stack, sharer, head);
    }

    /// Takes the oldest of the private tasks below `head` as a thief would, and returns its index.
    pub fn take_oldest<M: Sleep>(
        &mut self,
        stack: &Stack<'_, M>,
        sharer: &impl Sharer<Memory = M>,
        head: usize,
    ) -> Option<usize> {
        let oldest = self.give(stack, head);
        self.settle(stack, sharer, head);
        oldest
    }

    /// Reports that the wait for the task at `index`, the newest, which was given, is over. Tasks pushed above it
    /// meanwhile are gone.
    pub fn joined(&mut self, index: usize) {
        debug_assert_eq!(self.given, index + 1, "every task above has been joined");
        self.given = index;
    }

    /// Refuses, and closes the cell until the next push, pop or poll.
    pub fn rest<M: Sleep>(&mut self, stack: &Stack<'_, M>) {
        if self.close(stack) {
            stack.limits.stop_next_push();
        }
    }

    /// Gives the oldest of the private tasks below `head` away, if there is one.
    fn give<M: Memory>(&mut self, stack: &Stack<'_, M>, head: usize) -> Option<usize> {
        let oldest = self.given;
        let is_private = oldest < head.min(stack.capacity);
        self.given += usize::from(is_private);
        is_private.then_some(oldest)
    }

    /// Takes a request out of the cell, leaves `instead`, and answers the request, if there is one. Returns whether it
    /// gave a task.
    #[cold]
    fn claim<M: Sleep>(&mut self, stack: &Stack<'_, M>, instead: u32, head: usize) -> bool {
        // E1: pairs with the compare-and-swap in `ask`.
        let Some(thief) = stack.request.0.swap(instead, Ordering::Acquire).checked_sub(FIRST) else { return false };
        let given = self.give(stack, head);
        let Desk(answer) = &*stack.desks[thief as usize];
        // E2: pairs with the load in `look`.
        // kept over Relaxed: it costs nothing on x86-64; between a task's push and this the owner has fenced, but for
        // sleepers.
        answer.store(given.map_or(REFUSED, |index| index as u32), Ordering::Release);
        given.is_some()
    }

    /// Refuses, closes the cell and the limits, and returns whether the cell was open.
    fn close<M: Sleep>(&mut self, stack: &Stack<'_, M>) -> bool {
        let was_open = std::mem::take(&mut self.is_open);
        if was_open {
            self.claim(stack, CLOSED, 0);
        }
        stack.limits.close();
        was_open
    }

    /// Opens the cell if there is a private task, or closes it; makes the limits agree, and notes whom to wake.
    fn settle<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>, head: usize) {
        if self.given >= head.min(stack.capacity) {
            self.close(stack);
            return;
        }
        if !std::mem::replace(&mut self.is_open, true) {
            // Relaxed: nobody else changes a closed cell, and an answer publishes the task.
            stack.request.0.store(OPEN, Ordering::Relaxed);
        }
        let (end, pop) = (stack.address_of(stack.capacity), stack.address_of(self.given + 1));
        if stack.limits.reopen(sharer, end, pop) {
            sharer.wake_after(Wakes::One);
        }
    }
}
