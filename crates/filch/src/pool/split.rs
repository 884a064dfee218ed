//! The default pool: a direct task stack on the split deque.
//!
//! **Paper.** Tom van Dijk and Jaco van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014.
//!
//! **Idea.** Tasks lie in the slots of a per-worker array, from fork to join. [`protocol::split`](split) says who may
//! take which task, and folds the owner's part into the two [limits](crate::protocol::limits), so that a fork and its
//! join write the task, compare twice, and call both branches.
//!
//! **Fields.** `stack`: slots, written by the owner; a thief reads the slots that it has won and leaves the results
//! there. `shared`: tail, split and the all-stolen hint, on their own cache line; used by thieves and the owner's cold
//! path. `owner`: the owner's copies, for the holder of the `turn`: the owner on its cold path, or a thief that [shares
//! for it](crate::protocol::seize). `words`: a Chase–Lev deque for forks by code that does not know the head.
//!
//! **Invariants.** Those of the protocol.
//!
//! **Departures.** Lace keeps one head per worker in memory and tests flags; here the head is in a register and
//! requests overwrite the limits, so that the fast path has two compares. Lace answers a split request only while there
//! is something to share; here a request may also stay armed on the push limit, because thieves sleep. [`Sharing`] says
//! how many tasks are shared and taken back: exactly as many as in the paper with [`Sharing::OnRequest`] of half, but
//! not by default.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use filch_memory::{Asymmetric, Native};
use filch_queue::lace::index::{Moves, SharedIndex, StealIndex};
use filch_queue::{Amount, ChaseLev, Padded, clock};

use super::direct::{Direct, Share, index_of};
use super::queued::Queued;
use super::stack::Stack;
use crate::fork::here::{Here, IdleHere};
use crate::fork::{front::Front, own::Own, slot::Slot};
pub use crate::protocol::split::Sharing;
use crate::protocol::{order::Height, seize::Turn, split};
use crate::worker::plumbing::{Insisted, Tuned};
use crate::worker::{core::Core, home::Home};

/// The split deque with its direct task stack, from *Lace* (van Dijk and van de Pol, 2014). The default.
///
/// Once tasks have proved short, push and pop touch nothing that thieves write, except when somebody asks for work or
/// sleeps for want of it. Stealing is lock-free. The stack is reserved address space; if it is full, further tasks are
/// kept aside, invisible to thieves.
#[derive(Debug)]
pub struct Split {
    stack: Stack,
    shared: Padded<SharedIndex<Native>>,
    turn: Turn<Native>,
    owner: UnsafeCell<split::Owner>,
    /// The owner's policy. Never written.
    sharing: Sharing,
    words: Queued<ChaseLev>,
}

// SAFETY: only the holder of the turn uses `owner`; the rest is made for sharing.
unsafe impl Sync for Split {}

impl Split {
    fn view<'s>(&'s self, front: &'s Front) -> split::Stack<'s, Native> {
        split::Stack {
            shared: &self.shared,
            limits: &front.limits,
            bottom: self.stack.bottom().addr(),
            slot_size: size_of::<Slot>(),
            capacity: self.stack.capacity(),
        }
    }

    /// Whether a thief may [share for the owner](crate::protocol::seize).
    fn may_seize(&self) -> bool {
        self.words.has_barriers && self.sharing == Sharing::ByGrain
    }

    /// Returns the height of the stack as other threads see it.
    fn seen_height(&self, front: &Front) -> usize {
        // There is no head before the worker starts and after it leaves. It may do either at any time.
        NonNull::new(front.seen_head()).map_or(0, |head| self.stack.index_of(head.as_ptr()))
    }

    /// Takes the turn, and gives `f` the owner's part and the view of the stack. Then wakes workers for the tasks that
    /// `f` has shared.
    fn enter<R>(
        own: Own<'_, Self>,
        front: &Front,
        home: &Home,
        f: impl FnOnce(&mut split::Owner, &split::Stack<'_, Native>) -> R,
    ) -> R {
        let turn = own.turn.enter();
        // SAFETY: this thread has the turn, and `f` is one operation of the protocol, which runs nothing else: I5
        // there.
        let result = f(unsafe { &mut *own.owner.get() }, &own.view(front));
        drop(turn);
        home.end_turn();
        result
    }
}

/// The settings of a [`Split`] pool.
///
/// ```
/// use filch::Builder;
/// use filch::pool::{Sharing, Split, SplitSettings};
/// use filch_queue::Amount;
/// use filch_queue::lace::Moves;
///
/// // Figure 4 of the paper.
/// let as_printed = SplitSettings::default().moves(Moves::HalfStores).share(Sharing::OnRequest(Amount::Half));
/// let pool = Builder::<Split>::new().workers(2).settings(as_printed).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitSettings {
    moves: Moves,
    share: Sharing,
}

impl SplitSettings {
    /// Sets how a worker moves the boundary between its shared and its private tasks.
    pub fn moves(self, moves: Moves) -> Self {
        Self { moves, ..self }
    }

    /// Sets how many of its tasks a worker shares, and when.
    pub fn share(self, share: Sharing) -> Self {
        Self { share, ..self }
    }
}

impl Tuned for Split {
    type Settings = SplitSettings;
}

// SAFETY: the index protocol gives out each task once; the limits are the protocol's.
unsafe impl Direct for Split {
    fn make(parts: Vec<(Stack, Queued<ChaseLev>)>, &SplitSettings { moves, share }: &SplitSettings) -> Vec<Self> {
        let of = |(stack, words)| {
            let (shared, owner) = split::Owner::new(moves, share);
            let (shared, owner) = (Padded(shared), UnsafeCell::new(owner));
            Self { stack, shared, turn: Turn::new(), owner, sharing: share, words }
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
        let home = idle.home();
        Self::enter(idle.pool(), idle.front(), &home, |owner, stack| owner.begin(stack, &*home));
    }

    unsafe fn pushed(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) {
        Self::enter(own, front, home, |owner, stack| owner.pushed(stack, home, index));
    }

    unsafe fn take_back(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) -> bool {
        Self::enter(own, front, home, |owner, stack| owner.take_back(stack, home, index))
    }

    const RECALLS: bool = true;

    fn recall(own: Own<'_, Self>, front: &Front, home: &Home, index: usize, head: usize, take: impl FnOnce()) -> bool {
        Self::enter(own, front, home, |owner, stack| {
            let is_own = owner.recall(stack, home, index, head);
            if is_own {
                take();
            }
            is_own
        })
    }

    fn give(here: &Here<'_, Self>, share: Share) {
        let (index, home) = (index_of(here), here.home());
        Self::enter(here.pool(), here.front(), &home, |owner, stack| {
            let amount = match share {
                Share::Half => owner.on_request(),
                Share::All => Amount::All,
            };
            owner.give(stack, &*home, index, amount);
        });
    }

    unsafe fn joined(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) {
        own.stack.get(index).expect("a stolen task has a slot").state.reset();
        Self::enter(own, front, home, split::Owner::joined);
    }

    fn win_oldest(_: &Here<'_, Self>, victim: &Core<Self>, below: Height) -> StealIndex<usize> {
        victim.pool.shared.steal_below(below.forks_on_stack()).map(|index| index as usize)
    }

    fn shared_below(&self) -> Height {
        Height::on_stack(self.shared.shared_end() as usize)
    }

    fn has_older(&self, front: &Front, height: Height) -> bool {
        let below = height.forks_on_stack();
        // A thief that waits too long shares private tasks itself.
        let private = if self.may_seize() { below.min(self.seen_height(front) as u32) } else { 0 };
        self.shared.has_unstolen_below(below, private)
    }

    fn may_share(&self) -> bool {
        !self.shared.is_all_stolen()
    }

    fn asks_ahead(&self) -> bool {
        self.sharing == Sharing::ByGrain
    }

    fn share_for(&self, front: &Front, thief: &Home) -> Insisted {
        let height = || self.seen_height(front);
        // A stack has far fewer slots than an index can count.
        if !self.may_seize() || !self.shared.has_private(height() as u32) {
            return Insisted::Shared(0);
        }
        if !Native::barriers_are_quick() {
            return Insisted::Soon;
        }
        // SAFETY: this thread has the turn.
        let share = || unsafe { &mut *self.owner.get() }.seized(&self.view(front), thief, height());
        let shared = self.turn.seize(thief.index as u32, &front.limits, clock::now, share).unwrap_or(0);
        if shared > 0 {
            thief.counters.seizures.bump();
        }
        Insisted::Shared(shared)
    }

    fn may_have_tasks(own: Own<'_, Self>) -> bool {
        !own.shared.is_all_stolen()
    }

    fn wants_work(here: &Here<'_, Self>, _: usize) -> bool {
        let hungry = here.home().common.dormitory.sleepers().hungry() as usize;
        // A thief that has stolen all will come for the next task too.
        here.front().limits.is_asked() || here.pool().shared.shared_now() < hungry.max(1)
    }
}
