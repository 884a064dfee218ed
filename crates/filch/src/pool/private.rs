//! The private deque on the direct task stack: no thread but the owner touches a task before the owner gives it away.
//!
//! **Papers.** Those of [`protocol::private`](private).
//!
//! **Idea.** Tasks lie in the slots of a per-worker array, from fork to join, as on [`Split`](super::Split): push and
//! pop are the same instructions. What differs is how a thief gets a task: the owner hands each over.
//!
//! **Fields.** `stack`: slots, written by the owner; a thief reads the slots that it was given and leaves the results
//! there. `request`: where thieves ask this worker, on its own cache line. `desks`: where each worker finds the answer
//! to its own request, one array for all workers. `owner`: the owner's part. `words`: a Chase–Lev deque for forks by
//! code that does not know the head.
//!
//! **Invariants.** Those of the protocol.

use std::cell::UnsafeCell;
use std::sync::Arc;

use filch_memory::Native;
use filch_queue::lace::index::StealIndex;
use filch_queue::{ChaseLev, Padded};

use super::direct::{Direct, Share, index_of};
use super::queued::Queued;
use super::stack::Stack;
use crate::fork::{front::Front, here::Here, own::Own, slot::Slot};
use crate::protocol::order::Height;
use crate::protocol::private::{self, Desk, Request};
use crate::shared::handles::Polling;
use crate::worker::plumbing::{Plumbing, Tuned};
use crate::worker::{core::Core, home::Home};

/// The private deque of Acar, Charguéraud and Rainey (2013) on a direct task stack, with which *Lace* (van Dijk and van
/// de Pol, 2014) compares.
///
/// A thief asks a worker that has tasks, and gets the oldest at the worker's next push, pop or [poll](crate::poll). A
/// push and a pop cost the same as on [`Split`](crate::pool::Split), and no shared task has to be taken back. But each
/// steal needs the owner; so a task that runs long, or blocks, keeps its worker's other forks from thieves. A thief
/// that has looked for its answer some two thousand times looks elsewhere. The stack is reserved address space; if it
/// is full, further tasks are kept aside, invisible to thieves.
///
/// Requires the feature `pools`.
///
/// ```
/// use filch::{Builder, pool::PrivateStack};
///
/// let pool = Builder::<PrivateStack>::new().workers(2).build()?;
/// assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), filch::BuildError>(())
/// ```
#[derive(Debug)]
pub struct PrivateStack {
    stack: Stack,
    request: Padded<Request<Native>>,
    desks: Arc<[Padded<Desk<Native>>]>,
    owner: UnsafeCell<private::Owner>,
    words: Queued<ChaseLev>,
}

// SAFETY: only the worker's own thread uses `owner`; the rest is made for sharing.
unsafe impl Sync for PrivateStack {}

impl PrivateStack {
    /// Gives `f` the owner's part and the view of the stack, of which `front` is the front. Then wakes workers for the
    /// tasks that `f` has made available.
    fn enter<R>(
        own: Own<'_, Self>,
        front: &Front,
        home: &Home,
        f: impl FnOnce(&mut private::Owner, &private::Stack<'_, Native>) -> R,
    ) -> R {
        let Self { stack, request, desks, .. } = own.seen();
        let view = private::Stack {
            request,
            limits: &front.limits,
            desks,
            bottom: stack.bottom().addr(),
            slot_size: size_of::<Slot>(),
            capacity: stack.capacity(),
        };
        // SAFETY: only this thread uses the owner's part, and `f` is one operation of the protocol, which runs nothing
        // else: I5 there.
        let result = f(unsafe { &mut *own.owner.get() }, &view);
        home.end_turn();
        result
    }
}

impl Tuned for PrivateStack {
    type Settings = ();
}

// SAFETY: the protocol gives out each task once; the limits are the protocol's.
unsafe impl Direct for PrivateStack {
    fn make(parts: Vec<(Stack, Queued<ChaseLev>)>, (): &()) -> Vec<Self> {
        let desks: Arc<[_]> = parts.iter().map(|_| Padded::default()).collect();
        let of = |(stack, words)| {
            let (request, desks, owner) = (Padded::default(), Arc::clone(&desks), UnsafeCell::default());
            Self { stack, request, desks, owner, words }
        };
        parts.into_iter().map(of).collect()
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn words(&self) -> &Queued<ChaseLev> {
        &self.words
    }

    unsafe fn pushed(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) {
        Self::enter(own, front, home, |owner, stack| owner.poll(stack, home, index + 1));
    }

    unsafe fn take_back(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) -> bool {
        Self::enter(own, front, home, |owner, stack| owner.take_back(stack, home, index))
    }

    fn give(here: &Here<'_, Self>, _: Share) {
        let (home, head) = (here.home(), index_of(here));
        Self::enter(here.pool(), here.front(), &home, |owner, stack| owner.poll(stack, &*home, head));
    }

    unsafe fn joined(own: Own<'_, Self>, front: &Front, home: &Home, index: usize) {
        own.stack.get(index).expect("a stolen task has a slot").state.reset();
        Self::enter(own, front, home, |owner, _| owner.joined(index));
    }

    fn win_oldest(here: &Here<'_, Self>, victim: &Core<Self>, _: Height) -> StealIndex<usize> {
        let (own, home) = (here.pool(), here.home());
        let won = if std::ptr::eq(here.core(), victim) {
            let take =
                |head| Self::enter(own, here.front(), &home, |owner, stack| owner.take_oldest(stack, &*home, head));
            here.is_on_stack().then(|| index_of(here)).and_then(take)
        } else {
            let mut polling = Polling::default();
            let waits = || {
                // Again each time, since the owner may have overwritten the last request unseen.
                Self::ask(here.core(), victim);
                Self::poll(here);
                polling.wait(|| home.want_answer(victim.home.index))
            };
            own.desks[home.index].steal(&victim.pool.request, home.index as u32, waits)
        };
        won.map_or(StealIndex::AllStolen, StealIndex::Index)
    }

    fn shared_below(&self) -> Height {
        if self.request.is_open() { Height::TOP } else { Height::GROUND }
    }

    fn has_older(&self, _: &Front, _: Height) -> bool {
        // A thief gets no fork before its owner answers, and a job may have to run before that.
        false
    }

    fn may_share(&self) -> bool {
        self.request.is_open()
    }

    fn rest(here: &Here<'_, Self>) {
        let home = here.home();
        Self::enter(here.pool(), home.stack_front(), &home, private::Owner::rest);
    }

    fn may_have_tasks(_: Own<'_, Self>) -> bool {
        // Only the head tells how many there are.
        true
    }

    fn wants_work(here: &Here<'_, Self>, _: usize) -> bool {
        // A thief has asked, or there is nothing to ask for.
        here.front().limits.is_wanted() || !here.pool().request.is_open()
    }
}
