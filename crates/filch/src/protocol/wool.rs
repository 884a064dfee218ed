//! Wool's direct task stack: who may take which task. It does not deal with slots and closures.
//!
//! **Paper.** Karl-Filip Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010,
//! <https://doi.org/10.1109/ICPP.2010.39>.
//!
//! **Idea.** Tasks lie on a stack from their fork to their join. Those below a boundary are public: the owner and
//! thieves compete for each on its [state word](super::state) alone. The others are private, and joining one takes no
//! atomic operation. Thieves take the oldest public task. When they run out, they ask (in Wool, by tripping a wire),
//! and the owner makes a few more tasks public; when most public tasks are joined unstolen, it makes fewer public.
//!
//! **Fields.** [`Shared`], one cache line: `bot`, the oldest task not known to be stolen, written by the thief that
//! took the previous task, and by the owner when it joins a stolen task; `public`, the boundary, written by the owner.
//! [`Owner`]: the owner's copy of the boundary, and its counters.
//!
//! **Invariants.** With `top` the number of tasks on the stack:
//! * I1: exactly the tasks below `public` have been offered. The state of every other slot is fresh, also to thieves
//!   that have seen another boundary.
//! * I2: all tasks below `bot` are stolen, and bot ≤ top. A thief that took a task at an index other than `bot` puts it
//!   back.
//! * I3: a thief writes `bot` before it claims the task it has taken, and the owner once the thief of a task is done.
//!   Each writer has seen the previous write. So the writes never race and can be relaxed.
//! * I4: `public` is never lowered below `top` + 1, so no task on offer becomes private, and the first task on an empty
//!   stack is always public: sleepers that found the stack empty are told of that task.
//!
//! **Edges.** Only those of the state words. A thief that takes a task acquires its offer (E3 of
//! [`state`](super::state)), and with it the value of `bot` at that time, which the second look must not miss.
//!
//! **Memory model.** Rust's. **Progress.** The owner is wait-free, except for a task that a thief has taken and not yet
//! claimed or put back; steals are lock-free.
//!
//! **Departures.** While tasks are [coarse](super::grain) all slots are public, unless the owner shares by chunks.
//! Wool's thief swaps in its own name; ours takes the task, and claims it by a second, plain store once it will keep
//! it. So nobody leapfrogs, or sleeps on, a theft that is undone. Withdrawn slots are fresh, and no thief changes a
//! fresh word, so the owner need not claim them one by one.
//!
//! **Names.** `spawn`: [`Owner::push`]. `join`: [`Owner::take_back`], [`Owner::joined`]. `publish_more`:
//! [`Owner::publish`]. `n_public`: `public`. `more_wanted`, the trip wire: a request to the [limits](super::limits).

use filch_memory::{Atomic, Memory, Ordering};
use filch_queue::lace::index::StealIndex;

use super::state::{JobState, Taking};

/// How fast the public part grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The number of slots that become public at once when thieves ask. At least 1.
    pub chunk: u32,
    /// The number of public tasks joined unstolen, since the boundary last moved, after which the owner lowers it. At
    /// least 1.
    pub privatise_after: u32,
}

impl Default for Params {
    /// The paper's values.
    fn default() -> Self {
        Self { chunk: 4, privatise_after: 500 }
    }
}

/// What thieves see. Keep it on its own cache line.
#[derive(Debug)]
pub struct Shared<M: Memory> {
    bot: M::AtomicU32,
    public: M::AtomicU32,
}

/// The owner's private part.
#[derive(Debug)]
pub struct Owner {
    params: Params,
    public: u32,
    /// The number of public tasks joined unstolen since the boundary moved.
    unstolen: u32,
    /// One plus the largest index of a stolen task joined since the boundary was lowered.
    reached: u32,
}

impl<M: Memory> Shared<M> {
    /// An empty stack of `slots` slots, with one chunk public, and the owner's part of it.
    pub fn new(params: Params, slots: u32) -> (Self, Owner) {
        assert!(params.chunk > 0 && params.privatise_after > 0, "the boundary must be able to move: {params:?}");
        let public = params.chunk.min(slots);
        let shared = Self { bot: Atomic::new(0), public: Atomic::new(public) };
        (shared, Owner { params, public, unstolen: 0, reached: 0 })
    }

    /// Thief: tries to take the oldest public task. `state_at` finds the state word of any slot below the end.
    /// Lock-free; one compare-and-swap if there is a task.
    ///
    /// On success the caller must [claim](JobState::claim) the task soon: until then its owner can only wait.
    #[inline]
    pub fn steal<'s>(&self, state_at: impl FnOnce(u32) -> &'s JobState<M>) -> StealIndex
    where
        M: 's,
    {
        self.steal_below(u32::MAX, state_at)
    }

    /// As [`steal`](Self::steal), but takes only a task with an index below this one.
    #[inline]
    pub fn steal_below<'s>(&self, below: u32, state_at: impl FnOnce(u32) -> &'s JobState<M>) -> StealIndex
    where
        M: 's,
    {
        // Relaxed: checked again below.
        let bot = self.bot.load(Ordering::Relaxed);
        // Relaxed: it only says whether to ask; the state word says what may be taken (I1).
        if bot >= below.min(self.public.load(Ordering::Relaxed)) {
            return StealIndex::NothingShared;
        }
        let state = state_at(bot);
        match state.take() {
            Taking::Taken => {}
            Taking::Lost => return StealIndex::Retry,
            Taking::NotOffered => return StealIndex::AllStolen,
        }
        // Relaxed: `take` has acquired the offer, so this sees what the owner wrote before it, or something newer.
        if self.bot.load(Ordering::Relaxed) != bot {
            // Since the first load the owner has joined this task and older ones, and forked again.
            state.put_back();
            return StealIndex::Retry;
        }
        // Relaxed: I3. The owner learns of the theft by the state word.
        self.bot.store(bot + 1, Ordering::Relaxed);
        StealIndex::Index(bot)
    }

    /// Whether a thief might find something to take. A snapshot. Also true while another thief is taking the oldest
    /// task, because there may be more behind it.
    #[inline]
    pub fn has_public<'s>(&self, state_at: impl FnOnce(u32) -> &'s JobState<M>) -> bool
    where
        M: 's,
    {
        // Relaxed: a hint; a thread that relies on it before it sleeps has fenced.
        let bot = self.bot.load(Ordering::Relaxed);
        bot < self.public.load(Ordering::Relaxed) && !state_at(bot).is_fresh()
    }

    /// Whether all public tasks are known to be stolen, so that asking for more may help. A snapshot.
    #[inline]
    pub fn has_run_out(&self) -> bool {
        // Relaxed: a hint, as in `steal`.
        self.bot.load(Ordering::Relaxed) >= self.public.load(Ordering::Relaxed)
    }

    /// Whether there may be a public task below `top` that nobody has stolen. A snapshot.
    #[inline]
    pub fn has_unstolen_below(&self, top: u32) -> bool {
        // Relaxed: as above; `top` takes the owner's copy of the boundary into account.
        self.bot.load(Ordering::Relaxed) < top
    }

    /// The oldest task not known to be stolen. A snapshot.
    pub fn bot(&self) -> u32 {
        // Relaxed: a snapshot.
        self.bot.load(Ordering::Relaxed)
    }
}

impl Owner {
    /// The boundary: the slots below it are public.
    #[inline]
    pub fn public(&self) -> u32 {
        self.public
    }

    /// Offers the task at `index`, the newest, if its slot is public. Precondition: the task has been written, and its
    /// state is fresh.
    #[inline]
    pub fn push<M: Memory>(&mut self, state: &JobState<M>, index: u32) {
        if index < self.public {
            state.offer();
        }
    }

    /// Makes a chunk of slots public, up to `end`, if thieves have run out, and offers the tasks there; returns whether
    /// it did. `top` is the number of tasks on the stack, which have been written.
    pub fn publish<'s, M>(
        &mut self,
        shared: &Shared<M>,
        state_at: impl Fn(u32) -> &'s JobState<M>,
        top: u32,
        end: u32,
    ) -> bool
    where
        M: Memory + 's,
    {
        let public = end.min(self.public.saturating_add(self.params.chunk));
        shared.has_run_out() && self.publish_below(shared, state_at, top, public)
    }

    /// Makes all slots below `public` public, and offers the tasks there; returns whether the boundary moved. There are
    /// `top` tasks, which have been written.
    pub fn publish_below<'s, M>(
        &mut self,
        shared: &Shared<M>,
        state_at: impl Fn(u32) -> &'s JobState<M>,
        top: u32,
        public: u32,
    ) -> bool
    where
        M: Memory + 's,
    {
        if public <= self.public {
            return false;
        }
        for index in self.public..public.min(top) {
            state_at(index).offer();
        }
        self.move_to(shared, public);
        true
    }

    /// Makes the slots from `top` + 1 up private. Precondition: there are `top` tasks, all public.
    pub fn keep_above<M: Memory>(&mut self, shared: &Shared<M>, top: u32) {
        debug_assert!(top < self.public, "no slot becomes public here");
        self.move_to(shared, top + 1);
    }

    fn move_to<M: Memory>(&mut self, shared: &Shared<M>, public: u32) {
        // Relaxed: a hint to thieves (I1).
        shared.public.store(public, Ordering::Relaxed);
        self.public = public;
        self.unstolen = 0;
    }

    /// Takes back the task at `index`, the newest; returns `false` if a thief has it. Precondition: the task is public.
    /// One compare-and-swap.
    #[inline]
    pub fn take_back<M: Memory>(&mut self, state: &JobState<M>, index: u32) -> bool {
        debug_assert!(index < self.public, "a private task cannot be stolen");
        let taken = state.retract();
        self.unstolen += u32::from(taken);
        taken
    }

    /// Lowers the boundary, if it is time to, half-way to the highest point that thieves have reached lately, but not
    /// below `top` + 1; returns whether it did. Precondition: there are `top` tasks, none private.
    #[inline]
    pub fn privatise<M: Memory>(&mut self, shared: &Shared<M>, top: u32) -> bool {
        if self.unstolen < self.params.privatise_after {
            return false;
        }
        let former = self.public;
        self.move_to(shared, (top + 1).max(u32::midpoint(former, self.reached)));
        self.reached = 0;
        self.public != former
    }

    /// Reports that the wait for the task at `index`, the newest, is over: its thief has finished it, or has put it
    /// back and the owner has [retracted](JobState::retract) it.
    #[inline]
    pub fn joined<M: Memory>(&mut self, shared: &Shared<M>, state: &JobState<M>, index: u32) {
        if state.is_fresh() {
            // Older tasks may be on offer, and thieves find them at the current `bot`.
            return;
        }
        state.reset();
        // Relaxed: I3; a thief that takes a later task here has acquired its offer.
        shared.bot.store(index, Ordering::Relaxed);
        self.reached = self.reached.max(index + 1);
    }
}
