//! The owner's side of the direct task stack of Wool: its work when the limits do not admit a push or a pop.
//!
//! **Paper.** Karl-Filip Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010,
//! <https://doi.org/10.1109/ICPP.2010.39>.
//!
//! **Idea.** [`wool`] says who may take which task. Its boundary is folded into the two [limits](super::limits), so
//! that the owner does not read it when it forks and joins private tasks. This is the cold path. While tasks are
//! [coarse](super::grain), all slots are public, and every push and pop comes here.
//!
//! **Fields.** [`Stack`]: what thieves see, and the location of the slots. [`Owner`]: the owner's copy of the boundary,
//! and what it knows of its tasks' grain.
//!
//! **Invariants.** With `public` the owner's copy of the boundary, and `head` the exact head:
//! * I1: the limits admit pops only at or above `public` (none after a request or with tasks kept aside).
//! * I2: the limits admit pushes, if at all, only below the end and while head ≥ public. So a push of a public task is
//!   cold.
//! * I3: a cold push looks for sleepers, and so does any operation that opens the limits to pushes. Any other operation
//!   that overwrites a request leaves the next push cold.
//! * I4: nothing but the protocol runs while the owner's part is in use: see I2 of [`sharer`](super::sharer).
//!
//! **Edges.** Those of the state words and of [`sleep`](super::sleep).

use std::fmt;

use filch_memory::Sleep;

use super::grain::Grain;
use super::limits::Limits;
use super::sharer::{Sharer, Wakes};
use super::state::JobState;
use super::wool::{self, Params, Shared};

/// What thieves see of a task stack, and its location.
pub struct Stack<'s, M: Sleep, F> {
    /// The oldest task, and the boundary.
    pub shared: &'s Shared<M>,
    /// The owner's limits, which are addresses.
    pub limits: &'s Limits<M>,
    /// Finds the state of a slot by its index.
    pub state_at: F,
    /// The address of the slot with index 0.
    pub bottom: usize,
    /// The distance between two slots.
    pub slot_size: usize,
    /// The number of slots.
    pub capacity: usize,
}

impl<M: Sleep, F> fmt::Debug for Stack<'_, M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The owner's part. Only the owner's thread uses it.
#[derive(Debug)]
pub struct Owner {
    boundary: wool::Owner,
    grain: Grain,
}

impl<'s, M: Sleep + 's, F: Fn(u32) -> &'s JobState<M>> Stack<'s, M, F> {
    fn address_of(&self, index: usize) -> usize {
        self.bottom + index * self.slot_size
    }
}

impl Owner {
    /// An empty stack of `slots` slots, and the owner's part.
    pub fn new<M: Sleep>(params: Params, slots: u32) -> (Shared<M>, Self) {
        let (shared, boundary) = Shared::new(params, slots);
        (shared, Self { boundary, grain: Grain::new() })
    }

    /// An owner that makes slots public by chunks alone, as in Wool, and not by the grain of its tasks.
    #[must_use]
    pub fn by_chunks(self) -> Self {
        Self { grain: Grain::fixed(), ..self }
    }

    /// The boundary below which slots are public.
    pub fn public(&self) -> u32 {
        self.boundary.public()
    }

    /// Begins on an empty stack: the next tasks may be of any grain.
    pub fn begin<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        self.grain.begin(sharer);
        if self.grain.is_coarse() {
            self.boundary.publish_below(stack.shared, &stack.state_at, 0, stack.capacity as u32);
            self.close(stack);
        }
    }

    /// Completes a push that the limits did not admit. The task at `index` has been written, or lies beyond the end and
    /// has been kept aside.
    pub fn pushed<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>, index: usize)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        if index < self.boundary.public() as usize {
            self.boundary.push((stack.state_at)(index as u32), index as u32);
        }
        if stack.limits.is_wanted() {
            self.answer(stack, sharer, index + 1);
        }
        if self.reopen(stack, sharer, index + 1) && !self.grain.is_coarse() {
            self.grain.begin(sharer);
            if self.grain.is_coarse() {
                self.answer(stack, sharer, index + 1);
                self.reopen(stack, sharer, index + 1);
            }
        }
    }

    /// Completes a pop that the limits did not admit: takes back the task at `index`, the newest. Returns `false` if it
    /// is stolen.
    pub fn take_back<'s, M, F>(
        &mut self,
        stack: &Stack<'s, M, F>,
        sharer: &impl Sharer<Memory = M>,
        index: usize,
    ) -> bool
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        let (wanted, former) = (stack.limits.is_wanted(), self.boundary.public() as usize);
        if index < former {
            if !self.boundary.take_back((stack.state_at)(index as u32), index as u32) {
                return false;
            }
            let lowered = if !self.grain.is_coarse() {
                self.boundary.privatise(stack.shared, index as u32)
            } else if self.grain.is_fine_after(sharer) {
                self.boundary.keep_above(stack.shared, index as u32);
                true
            } else {
                return true;
            };
            if lowered {
                sharer.note_shrinking();
            }
        }
        if wanted || index >= self.boundary.public() as usize {
            if wanted {
                self.answer(stack, sharer, index);
            }
            self.reopen(stack, sharer, index);
        } else if index + 1 == former || self.boundary.public() as usize != former {
            self.close(stack);
        }
        true
    }

    /// Shares tasks below `head`, which have been written, if somebody wants work.
    pub fn poll<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>, head: usize)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        self.answer(stack, sharer, head);
        self.reopen(stack, sharer, head);
    }

    /// Shares all tasks below `head`, which have been written.
    pub fn give_all<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>, head: usize)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        let top = head.min(stack.capacity) as u32;
        self.publish(stack, sharer, head, top);
        self.reopen(stack, sharer, head);
    }

    /// Reports that the wait for the newest task, which was stolen, is over. Tasks pushed above it meanwhile are gone.
    pub fn joined<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, index: usize)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        self.boundary.joined(stack.shared, (stack.state_at)(index as u32), index as u32);
        debug_assert!(index < self.boundary.public() as usize, "it was public, and joins above it left it public");
        self.close(stack);
    }

    /// Makes some tasks below `head` public if thieves have run out, or all of them if tasks are coarse or a thief has
    /// waited too long.
    #[cold]
    fn answer<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>, head: usize)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        let end = stack.capacity as u32;
        if self.grain.is_coarse() || self.grain.is_overdue(stack.limits, sharer) {
            self.publish(stack, sharer, head, end);
        } else {
            let top = head.min(stack.capacity) as u32;
            if self.boundary.publish(stack.shared, &stack.state_at, top, end) {
                sharer.note_growth();
            }
        }
    }

    fn publish<'s, M, F>(&mut self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>, head: usize, public: u32)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        let top = head.min(stack.capacity) as u32;
        if self.boundary.publish_below(stack.shared, &stack.state_at, top, public) {
            sharer.note_growth();
        }
    }

    /// Opens the limits for this head, and notes whom to wake for public tasks; returns whether anybody sleeps.
    fn reopen<'s, M, F>(&self, stack: &Stack<'s, M, F>, sharer: &impl Sharer<Memory = M>, head: usize) -> bool
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        let public = self.boundary.public();
        let has_public = stack.shared.has_unstolen_below(public.min(head as u32));
        // Coarse tasks are taken back without another look at the limits, even from beyond the end.
        let end = if head < public as usize || self.grain.is_coarse() { 0 } else { stack.capacity };
        let any_sleeps = stack.limits.reopen(sharer, stack.address_of(end), stack.address_of(public as usize));
        match (any_sleeps, has_public) {
            (true, true) => sharer.wake_after(Wakes::One),
            (true, false) => stack.limits.stop_next_push(),
            (false, _) => {}
        }
        any_sleeps
    }

    /// Closes the limits to pushes: the next one is of a public task.
    fn close<'s, M, F>(&self, stack: &Stack<'s, M, F>)
    where
        M: Sleep + 's,
        F: Fn(u32) -> &'s JobState<M>,
    {
        stack.limits.open(stack.address_of(0), stack.address_of(self.boundary.public() as usize));
    }
}
