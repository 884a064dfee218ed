//! Wool's direct task stack: each public task has its own state word, and the others are private.
//!
//! **Paper.** Karl-Filip Faxén, *Efficient Work Stealing for Fine Grained Parallelism*, ICPP 2010,
//! <https://doi.org/10.1109/ICPP.2010.39>.
//!
//! **Idea.** [`protocol::wool`](crate::protocol::wool) says who may take which task, and [`protocol::public`](public)
//! folds the owner's part into the two [limits](crate::protocol::limits), so that private tasks cost the same as on
//! [`Split`](super::Split).
//!
//! **Fields.** `stack`: slots, written by the owner; a thief reads the slots that it has won and leaves the results
//! there. `shared`: `bot` and the boundary, on their own cache line; used by thieves and the owner's cold path.
//! `owner`: the owner's part. `words`: a Chase–Lev deque for forks by code that does not know the head.
//!
//! **Invariants.** Those of the protocol.
//!
//! **Cost.** A private fork: as on `Split`. A public fork: the cold path with a fence, since a sleeper may wait for the
//! task; its join: a compare-and-swap. The paper's fork has no fence, since its thieves do not sleep.

use std::cell::UnsafeCell;
use std::num::NonZeroU32;

use filch_memory::Native;
use filch_queue::lace::index::StealIndex;
use filch_queue::{ChaseLev, Padded};

use super::direct::{Direct, Share, index_of};
use super::queued::Queued;
use super::stack::Stack;
use crate::fork::here::{Here, IdleHere};
use crate::fork::{front::Front, own::Own, slot::Slot};
use crate::protocol::wool::{Params, Shared};
use crate::protocol::{order::Height, public, state::JobState};
use crate::worker::{core::Core, home::Home, plumbing::Tuned};

/// The direct task stack of *Wool* (Karl-Filip Faxén, 2010).
///
/// Once tasks have proved short, only the oldest are public. The owner and thieves compete for each public task on its
/// own state word. The others are private, and cost the same as on [`Split`](crate::pool::Split). Thieves that find all
/// public tasks stolen ask for more, and get `CHUNK` slots; once the owner has joined `PRIVATISE_AFTER` public tasks
/// that nobody stole, it takes slots back. The defaults are the paper's. [`WoolSettings`] sets them at run time.
///
/// A public fork and its join cost a fence and a compare-and-swap. Stealing is lock-free. The stack is reserved address
/// space; if it is full, further tasks are kept aside, invisible to thieves.
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
/// Requires the feature `pools`. Both parameters are at least 1:
///
/// ```compile_fail
/// let pool = filch::Builder::<filch::pool::Wool<0, 500>>::new().workers(2).build();
/// ```
#[derive(Debug)]
pub struct Wool<const CHUNK: u32 = 4, const PRIVATISE_AFTER: u32 = 500> {
    stack: Stack,
    shared: Padded<Shared<Native>>,
    owner: UnsafeCell<public::Owner>,
    words: Queued<ChaseLev>,
}

/// The settings of a [`Wool`] pool; by default the type's parameters.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use filch::Builder;
/// use filch::pool::{Wool, WoolSettings};
///
/// let generous = WoolSettings::default().chunk(NonZeroU32::new(64).unwrap());
/// let pool = Builder::<Wool>::new().workers(2).settings(generous).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WoolSettings {
    chunk: Option<NonZeroU32>,
    privatise_after: Option<NonZeroU32>,
    by_chunks: bool,
}

impl WoolSettings {
    /// Sets the number of slots that become public when thieves have taken all public tasks.
    pub fn chunk(self, slots: NonZeroU32) -> Self {
        Self { chunk: Some(slots), ..self }
    }

    /// Sets the number of unstolen public tasks after which the owner takes slots back.
    pub fn privatise_after(self, tasks: NonZeroU32) -> Self {
        Self { privatise_after: Some(tasks), ..self }
    }

    /// Makes slots public by chunks from the beginning, as Wool does, instead of all of them until tasks have proved
    /// short. An owner that blocks then keeps its private tasks to itself.
    pub fn by_chunks(self) -> Self {
        Self { by_chunks: true, ..self }
    }
}

// SAFETY: only the worker's own thread uses `owner`; the rest is made for sharing.
unsafe impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Sync for Wool<CHUNK, PRIVATISE_AFTER> {}

impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Wool<CHUNK, PRIVATISE_AFTER> {
    const PARAMS: Params = {
        assert!(CHUNK > 0 && PRIVATISE_AFTER > 0, "the boundary must be able to move");
        Params { chunk: CHUNK, privatise_after: PRIVATISE_AFTER }
    };

    fn params(settings: WoolSettings) -> Params {
        let WoolSettings { chunk, privatise_after, by_chunks: _ } = settings;
        let or = |set: Option<NonZeroU32>, default| set.map_or(default, NonZeroU32::get);
        let Params { chunk: default_chunk, privatise_after: default_after } = Self::PARAMS;
        Params { chunk: or(chunk, default_chunk), privatise_after: or(privatise_after, default_after) }
    }

    fn state_at(&self, index: usize) -> &JobState<Native> {
        &self.stack.get(index).expect("the public part ends with the stack").state
    }

    /// Gives `f` the owner's part. Then wakes workers for the tasks that `f` has shared.
    fn enter<R>(own: Own<'_, Self>, home: &Home, f: impl FnOnce(&mut public::Owner) -> R) -> R {
        // SAFETY: only this thread uses the owner's part, and `f` is one operation of the protocol, which runs nothing
        // else: I4 there.
        let result = f(unsafe { &mut *own.owner.get() });
        home.end_turn();
        result
    }

    /// Returns the view that the owner works on.
    fn view<'s>(&'s self, front: &'s Front) -> public::Stack<'s, Native, impl Fn(u32) -> &'s JobState<Native>> {
        public::Stack {
            shared: &self.shared,
            limits: &front.limits,
            state_at: |index| self.state_at(index as usize),
            bottom: self.stack.bottom().addr(),
            slot_size: size_of::<Slot>(),
            capacity: self.stack.capacity(),
        }
    }
}

impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Tuned for Wool<CHUNK, PRIVATISE_AFTER> {
    type Settings = WoolSettings;
}

// SAFETY: the protocol gives out each task once, and keeps the invariants of the file's head.
unsafe impl<const CHUNK: u32, const PRIVATISE_AFTER: u32> Direct for Wool<CHUNK, PRIVATISE_AFTER> {
    fn make(parts: Vec<(Stack, Queued<ChaseLev>)>, settings: &WoolSettings) -> Vec<Self> {
        let of = |(stack, words): (Stack, _)| {
            let (shared, owner) = public::Owner::new(Self::params(*settings), stack.capacity() as u32);
            let owner = if settings.by_chunks { owner.by_chunks() } else { owner };
            Self { stack, shared: Padded(shared), owner: UnsafeCell::new(owner), words }
        };
        parts.into_iter().map(of).collect()
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn words(&self) -> &Queued<ChaseLev> {
        &self.words
    }

    fn begin(idle: &IdleHere<'_, '_, Self>) {
        let (own, home) = (idle.pool(), idle.home());
        Self::enter(own, &home, |owner| owner.begin(&own.view(idle.front()), &*home));
    }

    unsafe fn pushed(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) {
        Self::enter(own, home, |owner| owner.pushed(&own.view(front), home, index));
    }

    unsafe fn take_back(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) -> bool {
        Self::enter(own, home, |owner| owner.take_back(&own.view(front), home, index))
    }

    fn give(here: &Here<'_, Self>, share: Share) {
        let (own, home, index) = (here.pool(), here.home(), index_of(here));
        let view = own.view(here.front());
        Self::enter(own, &home, |owner| match share {
            Share::Half => owner.poll(&view, &*home, index),
            Share::All => owner.give_all(&view, &*home, index),
        });
    }

    unsafe fn joined(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) {
        Self::enter(own, home, |owner| owner.joined(&own.view(front), index));
    }

    fn win_oldest(_: &Here<'_, Self>, victim: &Core<Self>, below: Height) -> StealIndex<usize> {
        let pool = &victim.pool;
        let state_at = |index| pool.state_at(index as usize);
        pool.shared.steal_below(below.forks_on_stack(), state_at).map(|index| index as usize)
    }

    fn shared_below(&self) -> Height {
        let oldest = Height::on_stack(self.shared.bot() as usize);
        if self.shared.has_public(|index| self.state_at(index as usize)) { oldest.above() } else { Height::GROUND }
    }

    fn has_older(&self, _: &Front, height: Height) -> bool {
        self.shared.bot() < height.forks_on_stack() && self.has_shared()
    }

    fn may_share(&self) -> bool {
        self.shared.has_run_out()
    }

    fn may_have_tasks(_: Own<'_, Self>) -> bool {
        // Only the head tells how many there are.
        true
    }

    fn wants_work(here: &Here<'_, Self>, index: usize) -> bool {
        let pool = here.pool();
        let public = Self::enter(pool, &here.home(), |owner| owner.public()) as usize;
        // A thief has asked; or the next push is public, and thieves have taken all older tasks.
        here.front().limits.is_wanted() || (index < public && !pool.shared.has_unstolen_below(index as u32))
    }
}
