//! Wool's direct task stack: each public task has its own state word, and the others are private.
//!
//! **Paper.** Karl-Filip Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010,
//! <https://doi.org/10.1109/ICPP.2010.39>.
//!
//! **Idea.** [`protocol::wool`](crate::protocol::wool) says who may take which task. Here its boundary is folded into the two
//! [limits](crate::protocol::limits), so that private tasks cost what they cost on [`Split`](super::Split).
//!
//! **Fields.** `stack`: slots, written by the owner; a thief reads the slots that it has won and leaves the result there. `shared`:
//! `bot` and the boundary, on a line of their own; thieves and the owner's cold path. `owner`: the owner's part. `words`: a
//! Chase–Lev deque for forks by code that does not know the head.
//!
//! **Invariants.** With `public` the owner's copy of the boundary, and `head` the exact head:
//! * I1: the limits admit pops at or above `public` only (or, requested or with tasks kept aside, none).
//! * I2: the limits admit pushes, and only below the end, if at all while head ≥ public. So a push of a public task is cold.
//! * I3: a cold push looks for sleepers, and so does whoever lets pushes be admitted. Whoever overwrites a request otherwise
//!   leaves the next push cold.
//!
//! **Cost.** A private fork: as on `Split`. A public one: the cold path, with a fence, for a sleeper may wait for it, at the fork
//! and a compare-and-swap at the join. Wool's fork has no fence, for its thieves do not sleep.

use std::cell::UnsafeCell;

use filch_memory::Native;
use filch_queue::lace::index::StealIndex;
use filch_queue::{ChaseLev, Padded};

use super::Queued;
use super::direct::Direct;
use crate::front::Front;
use crate::protocol::state::JobState;
use crate::protocol::wool::{Owner, Params, Shared};
use crate::stack::Stack;
use crate::worker::Home;

/// The direct task stack of *Wool* (Karl-Filip Faxén, 2010).
///
/// The oldest tasks are public: their owner and their thieves swap the task's own state word for it. The others are private, and
/// cost what they cost on [`Split`](crate::pool::Split). Thieves that find all public tasks stolen ask for more, and get
/// `CHUNK` slots; once the owner has joined `PRIVATISE_AFTER` public tasks that nobody stole, it takes slots back. The defaults
/// are the paper's.
///
/// A public fork and its join cost a fence and a compare-and-swap. Stealing is lock-free. The stack is reserved address space; when it
/// is full, further tasks are kept aside, where thieves do not see them.
///
/// ```
/// use filch::{Builder, pool::Wool};
///
/// let pool = Builder::<Wool>::new().workers(2).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
///
/// // Shares sparingly, and takes back soon.
/// let miser = Builder::<Wool<1, 50>>::new().workers(2).build()?;
/// assert_eq!(miser.install(|| filch::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
///
/// Both parameters are at least 1:
///
/// ```compile_fail
/// let pool = filch::Builder::<filch::pool::Wool<0, 500>>::new().workers(2).build();
/// ```
#[derive(Debug)]
pub struct Wool<const CHUNK: u32 = 4, const PRIVATISE_AFTER: u32 = 500> {
    stack: Stack,
    shared: Padded<Shared<Native>>,
    owner: UnsafeCell<Owner>,
    words: Queued<ChaseLev>,
}

// SAFETY: `owner` is touched by the worker's own thread only; the rest is made for sharing.
unsafe impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Sync for Wool<CHUNK, PRIVATISE_AFTER> {}

impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Wool<CHUNK, PRIVATISE_AFTER> {
    const PARAMS: Params = {
        assert!(CHUNK > 0 && PRIVATISE_AFTER > 0, "the boundary must be able to move");
        Params { chunk: CHUNK, privatise_after: PRIVATISE_AFTER }
    };

    /// # Safety
    /// The current thread is this worker, and no other reference from here is alive.
    #[expect(clippy::mut_from_ref, reason = "the owner's part, which the owner's thread alone may ask for")]
    unsafe fn owner(&self) -> &mut Owner {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.owner.get() }
    }

    fn state_at(&self, index: usize) -> &JobState<Native> {
        &self.stack.get(index).expect("the public part ends with the stack").state
    }

    fn address_of(&self, index: usize) -> usize {
        self.stack.at(index).addr()
    }

    /// Answers thieves that want work, if there are `top` tasks that have been written; returns whether some public task may be left.
    ///
    /// # Safety
    /// The current thread is this worker.
    unsafe fn answer(&self, home: &Home, top: usize) -> bool {
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        let state_at = |index: u32| self.state_at(index as usize);
        if owner.publish(&self.shared, state_at, top as u32, self.stack.capacity() as u32) {
            home.counters.grows.bump();
        }
        self.shared.has_unstolen_below(owner.public().min(top as u32))
    }

    /// Opens the limits for head `top`, and tells sleepers.
    fn reopen(&self, front: &Front, home: &Home, public: u32, top: usize, has_public: bool) {
        let public = public as usize;
        let end = if top < public { 0 } else { self.stack.capacity() };
        front.limits.reopen(home, self.address_of(end), self.address_of(public), has_public);
    }

    /// Closes the limits to pushes: the next one will be of a public task.
    fn close(&self, front: &Front, public: u32) {
        front.limits.open(self.address_of(0), self.address_of(public as usize));
    }
}

// SAFETY: the protocol gives each task out once; the invariants of the file's head.
unsafe impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Direct for Wool<CHUNK, PRIVATISE_AFTER> {
    const ASKS_AHEAD: bool = true;

    fn new(stack: Stack, words: Queued<ChaseLev>) -> Self {
        let (shared, owner) = Shared::new(Self::PARAMS, stack.capacity() as u32);
        Self { stack, shared: Padded(shared), owner: UnsafeCell::new(owner), words }
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn words(&self) -> &Queued<ChaseLev> {
        &self.words
    }

    unsafe fn pushed(&self, front: &Front, home: &Home, index: usize) {
        let top = (index + 1).min(self.stack.capacity());
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        if index < owner.public() as usize {
            owner.push(self.state_at(index), index as u32);
        }
        let mut has_public = self.shared.has_unstolen_below(owner.public().min(top as u32));
        if front.limits.is_wanted() {
            // SAFETY: this worker; everything up to the head has been written.
            has_public = unsafe { self.answer(home, top) };
        }
        // SAFETY: as above.
        let public = unsafe { self.owner() }.public();
        self.reopen(front, home, public, index + 1, has_public);
    }

    unsafe fn take_back(&self, front: &Front, home: &Home, index: usize) -> bool {
        let wanted = front.limits.is_wanted();
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        let former = owner.public();
        let mut lowered = false;
        if index < former as usize {
            if !owner.take_back(self.state_at(index), index as u32) {
                return false;
            }
            lowered = owner.privatise(&self.shared, index as u32);
            if lowered {
                home.counters.shrinks.bump();
            }
        }
        let public = owner.public();
        if wanted || index >= public as usize {
            // SAFETY: this worker; everything below the task has been written.
            let has_public = wanted && unsafe { self.answer(home, index.min(self.stack.capacity())) };
            // SAFETY: as above.
            let public = unsafe { self.owner() }.public();
            self.reopen(front, home, public, index, has_public);
        } else if lowered || index + 1 == former as usize {
            self.close(front, public);
        }
        true
    }

    unsafe fn polled(&self, front: &Front, home: &Home, index: usize) {
        // SAFETY: this worker; everything below the head has been written.
        let has_public = unsafe { self.answer(home, index.min(self.stack.capacity())) };
        // SAFETY: as above.
        let public = unsafe { self.owner() }.public();
        self.reopen(front, home, public, index, has_public);
    }

    unsafe fn give_all(&self, front: &Front, home: &Home, index: usize) {
        let top = index.min(self.stack.capacity());
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        if owner.publish_all(&self.shared, |index| self.state_at(index as usize), top as u32) {
            home.counters.grows.bump();
        }
        let public = owner.public();
        self.reopen(front, home, public, index, self.shared.has_unstolen_below(top as u32));
    }

    unsafe fn joined(&self, front: &Front, index: usize) {
        // SAFETY: this worker; no other reference.
        let owner = unsafe { self.owner() };
        owner.joined(&self.shared, self.state_at(index), index as u32);
        debug_assert!(
            index < owner.public() as usize,
            "it was public, and what was joined above it meanwhile left it so"
        );
        self.close(front, owner.public());
    }

    fn steal(&self) -> StealIndex<usize> {
        match self.shared.steal(|index| self.state_at(index as usize)) {
            StealIndex::Index(index) => StealIndex::Index(index as usize),
            StealIndex::Retry => StealIndex::Retry,
            StealIndex::NothingShared => StealIndex::NothingShared,
            StealIndex::AllStolen => StealIndex::AllStolen,
        }
    }

    fn has_shared(&self) -> bool {
        self.shared.has_public(|index| self.state_at(index as usize))
    }

    fn may_share(&self) -> bool {
        self.shared.has_run_out()
    }

    unsafe fn may_have_tasks(&self) -> bool {
        // How many there are only the head says.
        true
    }

    unsafe fn wants_work(&self, front: &Front, index: usize) -> bool {
        // SAFETY: this worker; no other reference.
        let public = unsafe { self.owner() }.public() as usize;
        // Asked for; or the next push is public, and thieves have taken everything before it.
        front.limits.is_wanted() || (index < public && !self.shared.has_unstolen_below(index as u32))
    }
}
