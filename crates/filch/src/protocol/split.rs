//! The owner's side of the direct task stack on the split deque: its work when the limits do not admit a push or a pop.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** The index protocol of [`filch_queue::lace::index`] says who may take which task. The owner's part of it is
//! folded into the two [limits](super::limits), so that the owner does not read it on the fast path. This is the cold
//! path, which makes the limits agree with the indices again, answers requests, and notes whom to wake. While tasks are
//! [coarse](super::grain), every push and pop comes here, and all tasks are shared. While tasks are fine, each request
//! gets half of the private ones; and while nothing is shared and a worker sleeps, the next push comes here, too.
//!
//! **As printed.** The idea above is [`Sharing::ByGrain`]. [`Sharing::OnRequest`] of half is the paper's figure 4, in
//! which no task is coarse: a push shares its task if all others are stolen (line 15); on a request a push or pop
//! shares the older half of the private tasks, rounded up (lines 20, 29, 37); a pop without a private task takes the
//! newer half of the shared ones back, rounded up (line 44); a request that finds nothing private is dropped (line 40).
//! One addition: while nothing is shared and a worker sleeps (the paper's never do), its request stands.
//!
//! **Fields.** [`Stack`]: what thieves see, and the location of the slots. [`Owner`]: the owner's copies of the
//! indices, and what it knows of its tasks' grain and of workers that look for work.
//!
//! **Invariants.** With `split` the owner's copy, and `head` the exact head:
//! * I1: while not all tasks are stolen, and tasks are fine, the limits admit exactly the pops at or above split (none
//!   after a request), and pushes below the end (or none). While all are stolen, or tasks are coarse, or a thief has
//!   [shared for the owner](super::seize), they admit nothing; while tasks are kept aside, no pops.
//! * I2: a slot below tail belongs to its thief from the winning compare-and-swap until its state is settled, then to
//!   the owner.
//! * I3: while tasks are coarse, every task in a slot is shared, except one whose push was in progress when a thief
//!   shared for the owner.
//! * I4: at a cold pop, either the head is beyond the end, and the task is the newest one kept aside; or the task's
//!   index is at or above split, and it is private; or it is the newest shared task.
//! * I5: an operation here is a turn, in which nothing but the protocol runs: see I2 of [`sharer`](super::sharer).
//!
//! **Edges.** Those of the index protocol and of [`sleep`](super::sleep): the owner overwrites the limits before the
//! fence that precedes its look at the sleepers.

use filch_memory::Sleep;
use filch_queue::Amount;
use filch_queue::lace::index::{Moves, OwnerIndex, SharedIndex};

use super::grain::Grain;
use super::limits::Limits;
pub use super::sharer::Sharing;
use super::sharer::{Sharer, Time, Wakes};

/// What thieves see of a task stack, and its location.
pub struct Stack<'s, M: Sleep> {
    /// The indices.
    pub shared: &'s SharedIndex<M>,
    /// The owner's limits, which are addresses.
    pub limits: &'s Limits<M>,
    /// The address of the slot with index 0.
    pub bottom: usize,
    /// The distance between two slots.
    pub slot_size: usize,
    /// The number of slots.
    pub capacity: usize,
}

impl<M: Sleep> std::fmt::Debug for Stack<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The owner's part. Only the holder of the owner's [turn](super::seize) uses it.
#[derive(Debug)]
pub struct Owner {
    index: OwnerIndex,
    sharing: Sharing,
    grain: Grain,
    /// When the owner last woke a worker although another one searched.
    doubled_at: Time,
}

impl<M: Sleep> Stack<'_, M> {
    fn address_of(&self, index: usize) -> usize {
        self.bottom + index * self.slot_size
    }
}

impl Owner {
    /// The indices of an empty stack, and the owner's part.
    pub fn new<M: Sleep>(moves: Moves, sharing: Sharing) -> (SharedIndex<M>, Self) {
        let (shared, index) = SharedIndex::new(moves);
        let owner = Self {
            index,
            sharing,
            grain: if sharing == Sharing::ByGrain { Grain::new() } else { Grain::fixed() },
            doubled_at: 0,
        };
        (shared, owner)
    }

    /// How many of its private tasks it shares on request, and how many shared tasks it takes back when it has no
    /// private one, unless tasks are coarse.
    pub const fn on_request(&self) -> Amount {
        match self.sharing {
            Sharing::ByGrain => Amount::Half,
            Sharing::OnRequest(amount) => amount,
        }
    }

    /// Begins on an empty stack: the next tasks may be of any grain. If there is no other worker, they are kept
    /// private: if the first push branched to its cold path, the processor would predict that from then on, which may
    /// cost each fork a cycle.
    pub fn begin<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>) {
        self.grain.begin(sharer);
        let is_alone = sharer.workers() == 1;
        if self.grain.is_coarse() {
            self.index.set_all_stolen(stack.shared);
            stack.limits.close();
        } else if is_alone && self.sharing == Sharing::ByGrain && self.index.is_all_stolen() {
            self.index.keep_next(stack.shared, 0);
            stack.limits.open(stack.address_of(stack.capacity), stack.bottom);
        }
    }

    /// Completes a push that the limits did not admit. The task at `index` has been written, or lies beyond the end and
    /// has been kept aside.
    pub fn pushed<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>, index: usize) {
        let has_shared = if !self.index.is_all_stolen() {
            let is_wanted = self.doubt_if_wanted(stack, sharer);
            // A push beyond the end comes here unasked.
            (is_wanted || self.grain.is_coarse()) && self.answer(stack, sharer, index + 1, self.on_request())
        } else if index < stack.capacity {
            self.index.publish_first(stack.shared, index as u32);
            self.grain.begin(sharer);
            true
        } else {
            return;
        };
        self.reopen(stack, sharer, has_shared);
    }

    /// Completes a pop that the limits did not admit: takes back the task at `index`, the newest. Returns `false` if it
    /// is stolen.
    pub fn take_back<M: Sleep>(
        &mut self,
        stack: &Stack<'_, M>,
        sharer: &impl Sharer<Memory = M>,
        index: usize,
    ) -> bool {
        if self.index.is_all_stolen() {
            return false;
        }
        let is_coarse = self.grain.is_coarse();
        if index < self.index.split() as usize {
            debug_assert_eq!(index + 1, self.index.split() as usize, "everything newer has been joined: I4");
            let amount = if is_coarse { Amount::One } else { self.on_request() };
            let shrink = self.index.shrink_by(stack.shared, amount);
            if shrink.has_moved() {
                sharer.note_shrinking();
            }
            if !shrink.has_task() {
                stack.limits.close();
                return false;
            }
        }
        if is_coarse && !self.grain.is_fine_after(sharer) {
            return true;
        }
        let is_wanted = self.doubt_if_wanted(stack, sharer);
        let has_shared = is_wanted && self.answer(stack, sharer, index, self.on_request());
        self.reopen(stack, sharer, has_shared);
        true
    }

    /// Makes the task at `index`, below `head`, private, so that the owner may run it before its join; all tasks above
    /// are empty. Returns `false` if it is stolen.
    pub fn recall<M: Sleep>(
        &mut self,
        stack: &Stack<'_, M>,
        sharer: &impl Sharer<Memory = M>,
        index: usize,
        head: usize,
    ) -> bool {
        if self.index.is_all_stolen() {
            return false;
        }
        let is_shared = |index_of: &OwnerIndex| index < index_of.split() as usize;
        if is_shared(&self.index) {
            // Then the newest tasks are the ones taken back.
            self.index.grow_by(stack.shared, head as u32, Amount::All);
        }
        while is_shared(&self.index) {
            let first = self.index.split();
            if self.index.shrink_by(stack.shared, Amount::One).has_task() {
                sharer.note_shrinking();
                continue;
            }
            // All below `first` are stolen.
            if first as usize == head {
                stack.limits.close();
                return false;
            }
            self.index.keep_next(stack.shared, first);
            break;
        }
        self.reopen(stack, sharer, false);
        !is_shared(&self.index)
    }

    /// Shares `amount` of the tasks below `head`, which have been written.
    pub fn give<M: Sleep>(
        &mut self,
        stack: &Stack<'_, M>,
        sharer: &impl Sharer<Memory = M>,
        head: usize,
        amount: Amount,
    ) {
        let has_private = (self.index.split() as usize) < head.min(stack.capacity);
        if self.index.is_all_stolen() || !has_private && !stack.limits.is_wanted() {
            return;
        }
        let has_shared = self.answer(stack, sharer, head, amount);
        self.reopen(stack, sharer, has_shared);
    }

    /// Shares all private tasks below `head`, on the owner's behalf, and returns their number. The caller has the
    /// owner's [turn](super::seize).
    pub fn seized<M: Sleep>(&mut self, stack: &Stack<'_, M>, thief: &impl Sharer<Memory = M>, head: usize) -> u32 {
        let head = head.min(stack.capacity);
        if self.index.is_all_stolen() || head <= self.index.split() as usize {
            return 0;
        }
        self.grain.kept_waiting(thief);
        let shared = self.index.grow_by(stack.shared, head as u32, Amount::All);
        stack.limits.close();
        shared
    }

    /// Reports that the wait for the newest task, which was stolen, is over. Tasks pushed above it meanwhile are gone.
    pub fn joined<M: Sleep>(&mut self, stack: &Stack<'_, M>) {
        // Pushes above may have reopened the deque; all tasks below are stolen.
        self.index.set_all_stolen(stack.shared);
        stack.limits.close();
    }

    /// Returns whether somebody wants work. If so, and nothing is shared, treats tasks as coarse for a while.
    fn doubt_if_wanted<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>) -> bool {
        let is_wanted = stack.limits.is_wanted();
        if is_wanted && !self.grain.is_coarse() && !self.has_some(stack) {
            self.grain.doubt(sharer);
        }
        is_wanted
    }

    /// Whether there are shared tasks. While there are, no thief asks.
    fn has_some<M: Sleep>(&self, stack: &Stack<'_, M>) -> bool {
        !self.index.shared(stack.shared).is_empty()
    }

    /// Notes whom to wake for the shared tasks. Mostly leaves them to a worker that searches; but once in a long time
    /// notes another all the same, since the one that searches may wait for its processor, perhaps for this one, while
    /// others are free.
    fn wake<M: Sleep>(&mut self, sharer: &impl Sharer<Memory = M>) {
        /// Much longer than it takes to wake a worker.
        const LONG: Time = 1_000_000;
        let mut wakes = Wakes::One;
        if sharer.sleepers().is_searched() {
            let now = sharer.now();
            if now.saturating_sub(self.doubled_at) > LONG {
                self.doubled_at = now;
                wakes = Wakes::OneMore;
            }
        }
        sharer.wake_after(wakes);
    }

    /// Shares `amount` of the private tasks below `head`, or all of them if tasks are coarse or a thief has waited too
    /// long. Returns whether it shared any. Precondition: not all stolen.
    fn answer<M: Sleep>(
        &mut self,
        stack: &Stack<'_, M>,
        sharer: &impl Sharer<Memory = M>,
        head: usize,
        amount: Amount,
    ) -> bool {
        let is_coarse = self.grain.is_coarse() || self.grain.is_overdue(stack.limits, sharer);
        let amount = if is_coarse { Amount::All } else { amount };
        let grown = self.index.grow_by(stack.shared, head.min(stack.capacity) as u32, amount) != 0;
        if grown {
            sharer.note_growth();
        }
        grown
    }

    /// Makes the limits agree with the indices, and notes whom to wake. Precondition: not all stolen.
    fn reopen<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>, has_shared: bool) {
        if self.grain.is_coarse() {
            stack.limits.close();
            if has_shared && sharer.sleepers().sleepers_after() {
                self.wake(sharer);
            }
            return;
        }
        let (end, split) = (stack.address_of(stack.capacity), stack.address_of(self.index.split() as usize));
        if stack.limits.reopen(sharer, end, split) {
            if has_shared || self.has_some(stack) {
                self.wake(sharer);
            } else {
                stack.limits.stop_next_push();
            }
        }
    }
}
