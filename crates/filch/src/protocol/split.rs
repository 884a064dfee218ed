//! The owner's side of the direct task stack on the split deque: what it does when the limits do not admit a push or a pop.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** The index protocol of [`filch_queue::lace::index`] says who may take which task. Its owner's part is folded into the two
//! [limits](super::limits), so that on the fast path the owner does not look at it; here is the other path, which brings the
//! limits into agreement with the indices again, answers requests, and tells sleepers. While tasks are [coarse](super::grain), every
//! push and pop comes here, and all tasks are shared. While they are fine it sees to it that those who look for work find some before
//! they ask: whenever less is shared than there are such workers, or than is to be [ready](super::grain::Params::ready) in any case, the
//! next push comes here too.
//!
//! **Fields.** [`Stack`]: what thieves see, and where the slots lie. [`Owner`]: the owner's copies of the indices, and what it
//! knows of its tasks' grain and of those who look for some.
//!
//! **Invariants.** With `split` the owner's copy, and `head` the exact head:
//! * I1: while not all stolen, and tasks are fine, the limits admit exactly the pops at or above split (or, requested, none), and pushes
//!   below the end (or none). While all are stolen, or tasks are coarse, or have been [shared for the owner](super::seize), they admit
//!   nothing; while tasks are kept aside, no pops.
//! * I2: a slot below tail is its thief's from the winning compare-and-swap to the settling of its state, then the owner's.
//! * I3: while tasks are coarse, everything that lies in a slot is shared, but what was being pushed when it was shared for the owner.
//! * I4: at a cold pop, either the head is beyond the end, and the task is the newest one kept aside; or its index is at or
//!   above split and it is private; or it is the newest shared one.
//!
//! **Edges.** Those of the index protocol and of [`sleep`](super::sleep): the limits are overwritten before the fence that precedes the
//! look at the sleepers.

use filch_memory::Sleep;
use filch_queue::Amount;
use filch_queue::lace::index::{OwnerIndex, SharedIndex};

use super::grain::Grain;
use super::limits::{Limits, Sharer};
use super::waiting::wake_one;

/// What thieves see of a task stack, and where it lies.
pub struct Stack<'s, M: Sleep> {
    /// The indices.
    pub shared: &'s SharedIndex<M>,
    /// The owner's limits, which are addresses.
    pub limits: &'s Limits<M>,
    /// The address of the slot with index 0.
    pub bottom: usize,
    /// The distance of two slots.
    pub slot_size: usize,
    /// The number of slots.
    pub capacity: usize,
}

impl<M: Sleep> std::fmt::Debug for Stack<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The owner's part. Only the owner's thread uses it, and whoever has its [turn](super::seize).
#[derive(Debug)]
pub struct Owner {
    index: OwnerIndex,
    grain: Grain,
    /// The oldest task that nobody had stolen when this owner last doubted.
    doubted_at: u32,
    /// The same, when it last woke somebody or was asked. As long as nobody has stolen since, he is likely to be on his way.
    expects_at: Option<u32>,
    /// How often in a row what was shared has come back, and the oldest task that nobody had stolen at that time.
    vain: u32,
    vain_at: u32,
}

impl<M: Sleep> Stack<'_, M> {
    fn address_of(&self, index: usize) -> usize {
        self.bottom + index * self.slot_size
    }
}

impl Owner {
    /// The indices of an empty stack, and the owner's part.
    pub fn new<M: Sleep>() -> (SharedIndex<M>, Self) {
        let (shared, index) = SharedIndex::new();
        (shared, Self { index, grain: Grain::new(), doubted_at: 0, expects_at: None, vain: 0, vain_at: 0 })
    }

    /// The stack is empty, and what comes next may be anything.
    pub fn begins<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>) {
        self.grain.begins(sharer);
        self.vain = 0;
        if self.grain.is_coarse() {
            self.index.set_all_stolen(stack.shared);
            stack.limits.close();
        }
    }

    /// The limits did not admit the push of the task at `index`, which has been written, or lies beyond the end and has been kept aside.
    pub fn pushed<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>, index: usize) {
        let has_shared = if !self.index.is_all_stolen() {
            self.doubt_if_wanted(stack, sharer);
            self.answer(stack, sharer, index + 1, Amount::Half)
        } else if index < stack.capacity {
            self.index.publish_first(stack.shared, index as u32);
            self.vain = 0;
            self.grain.begins(sharer);
            true
        } else {
            return;
        };
        self.reopen(stack, sharer, has_shared);
    }

    /// The limits did not admit the pop of the task at `index`, the newest: takes it back; `false` if it is stolen.
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
            // No fewer are left shared than there are workers who look for some.
            let shared = self.index.shared(stack.shared);
            let spares_half = || shared.len() / 2 >= self.hungry(shared.start, sharer);
            let amount = if !is_coarse && spares_half() { Amount::Half } else { Amount::One };
            if self.index.shrink_by(stack.shared, amount) {
                stack.limits.close();
                return false;
            }
            sharer.has_shrunk();
            let oldest = self.index.shared(stack.shared).start;
            self.vain = if oldest == self.vain_at { self.vain.saturating_add(1) } else { 0 };
            self.vain_at = oldest;
        }
        if is_coarse && !self.grain.is_fine_after(sharer) {
            return true;
        }
        let has_shared = self.doubt_if_wanted(stack, sharer) && self.answer(stack, sharer, index, Amount::Half);
        self.reopen(stack, sharer, has_shared);
        true
    }

    /// Shares that much of what lies below `head`, which has been written.
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

    /// On the owner's behalf, by whoever has its [turn](super::seize): shares all that lies privately below `head`; how much that was.
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

    /// The newest task, a stolen one, has been waited for, and what was pushed above it meanwhile is gone.
    pub fn joined<M: Sleep>(&mut self, stack: &Stack<'_, M>) {
        // What was pushed above may have reopened the deque; what is left below is stolen.
        self.index.set_all_stolen(stack.shared);
        stack.limits.close();
    }

    /// Whether somebody wants work; if so, and there is not enough, it is shared for a while as if tasks were coarse.
    fn doubt_if_wanted<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>) -> bool {
        let is_wanted = stack.limits.is_wanted();
        if stack.limits.is_asked() {
            self.expects(stack);
        }
        if is_wanted && !self.grain.is_coarse() && !self.has_enough(stack, sharer) {
            self.grain.doubts(sharer);
            self.doubted_at = self.index.shared(stack.shared).start;
        }
        is_wanted
    }

    /// Whether what is shared will do for those who look for some: there is one for each; or those who were there when the owner last
    /// doubted have taken none of it, since they are not awake yet or have no processor.
    fn has_enough<M: Sleep>(&self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>) -> bool {
        let shared = self.index.shared(stack.shared);
        shared.len() >= self.hungry(shared.start, sharer) || !shared.is_empty() && shared.start == self.doubted_at
    }

    /// How many sleep or look for work, as far as is known; `oldest` is the oldest task that nobody has stolen.
    fn hungry(&self, oldest: u32, sharer: &impl Sharer) -> usize {
        // Whoever waits for one stolen job is not counted while awake.
        let expected = usize::from(self.expects_at == Some(oldest));
        expected.max(sharer.dormitory().sleepers().hungry() as usize)
    }

    /// Wakes somebody for what is shared.
    fn wake<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>) {
        if wake_one(sharer) {
            self.expects(stack);
        }
    }

    fn expects<M: Sleep>(&mut self, stack: &Stack<'_, M>) {
        self.expects_at = Some(self.index.shared(stack.shared).start);
    }

    /// Shares that much of what lies privately below `head`, or all if tasks are coarse or somebody has waited too long; returns whether
    /// it was anything. Precondition: not all stolen.
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
            sharer.has_grown();
        }
        grown
    }

    /// Has the limits say what the indices do, and tells sleepers. Precondition: not all stolen.
    fn reopen<M: Sleep>(&mut self, stack: &Stack<'_, M>, sharer: &impl Sharer<Memory = M>, has_shared: bool) {
        if self.grain.is_coarse() {
            stack.limits.close();
            if has_shared && sharer.dormitory().sleepers().sleepers_after() {
                self.wake(stack, sharer);
            }
            return;
        }
        let (end, split) = (stack.address_of(stack.capacity), stack.address_of(self.index.split() as usize));
        let any_sleeps = stack.limits.reopen(sharer, end, split);
        let has_enough = has_shared || self.has_enough(stack, sharer);
        let ready = if sharer.dormitory().len() > 1 { sharer.grain().ready } else { 0 };
        let is_in_vain = self.vain >= sharer.grain().vain;
        let is_short = !has_enough || self.index.shared(stack.shared).len() < ready;
        if any_sleeps && !has_enough || is_short && !is_in_vain {
            stack.limits.stop_next_push();
        }
        if has_enough && any_sleeps {
            self.wake(stack, sharer);
        }
    }
}
