//! Task pools: where a worker keeps the tasks that it has forked, and how thieves take them.
//!
//! * [`Split`], the default: Lace's direct task stack on a split deque. A task lives in its slot until it is joined, and
//!   push and pop touch nothing shared.
//! * [`Wool`]: the direct task stack of Wool. Its oldest tasks are public, each with a state word that owner and thieves
//!   swap for it; the others are private.
//! * [`Queued`]: any word queue of [`filch_queue`]. A task lives on its forker's frame, and its address in the queue.
//! * [`Heartbeat`]: the same, except that a task stays private until its owner, on a beat, promotes its oldest to the queue.
//!
//! A pool is chosen by type and costs no dynamic dispatch:
//!
//! ```
//! use filch::ThreadPool;
//! use filch::pool::{Pool, Queued};
//! use filch::Worker;
//! use filch_queue::ChaseLev;
//!
//! fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
//!     a + b
//! }
//!
//! let split = ThreadPool::new(2)?;
//! let chase_lev = ThreadPool::builder().pool::<Queued<ChaseLev>>().workers(2).build()?;
//! assert_eq!(split.run(|w| fib(w, 15)), 610);
//! assert_eq!(chase_lev.run(|w| fib(w, 15)), 610);
//! # Ok::<(), filch::BuildError>(())
//! ```
//!
//! What can be set of a pool is a type of its own, [`Pool::Settings`](Plumbing::Settings), which
//! [`Builder::settings`](crate::Builder::settings) takes: [`QueueSettings`], [`HeartbeatSettings`], [`WoolSettings`], or nothing.

mod direct;
mod heartbeat;
mod loot;
mod queued;
mod saving;
mod split;
mod wool;

pub(crate) use direct::{
    Popped, UnwindFn, abandon, join, join_near, lends, poll, pop_and_run, push, push_unadmitted, resume,
};
pub use heartbeat::{Beat, Clock, Heartbeat, HeartbeatSettings, Period, Request};
pub use loot::QueueSettings;
pub use queued::Queued;
pub(crate) use queued::{Hand, deal_alike, deal_any, steal_by};
pub use split::Split;
pub use wool::{Wool, WoolSettings};

use std::fmt::Debug;
use std::io;
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::Steal;

use crate::front::{Front, Operations};
use crate::job::{Body, Job, Slot};
use crate::protocol::state::{JobState, MAX_WORKERS};
use crate::wait::Wait;
use crate::worker::Core;

/// Room for tasks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// For so many.
    pub(crate) tasks: usize,
    /// Somebody has asked for it: a queue that grows begins with so much.
    pub(crate) is_asked: bool,
}

/// What can be set of a pool with a task stack of its own: [`Plumbing::Settings`].
#[doc(hidden)]
pub trait Tuned {
    type Settings: Clone + Debug + Default + Send + Sync;
}

/// A kind of task pool. Sealed: the kinds are those of this module.
///
/// # Safety
/// Implementations give each job out once, to its owner or to one thief, and keep the invariants of [`Front`].
#[doc(hidden)]
pub unsafe trait Plumbing: Sized + Send + Sync + 'static {
    /// What the owner keeps in hand.
    type Cursor: Copy;

    /// What can be set of such a pool; `()` if nothing can.
    type Settings: Clone + Debug + Default + Send + Sync;

    /// Whether it helps thieves that a signal has the worker answer them.
    const ANSWERS_SIGNALS: bool = false;

    /// The largest number of workers.
    const MAX_WORKERS: usize = MAX_WORKERS;

    /// The cold operations on a front of this pool.
    const OPERATIONS: &'static Operations;

    /// Whether a thief may keep tasks for others to take.
    const KEEPS: bool = false;

    /// Why there cannot be such pools: a sentence. `by_signal`: whether workers answer thieves in a signal's handler.
    fn refusal(_: &Self::Settings, _wait: Wait, _by_signal: bool) -> Option<&'static str> {
        None
    }

    /// The pools of `workers` workers, each with such room if it is bounded.
    fn create(workers: usize, room: Room, settings: &Self::Settings) -> io::Result<Vec<Self>>;

    /// Starts what the pools of one thread pool need besides its workers.
    fn start(_: &mut [Self], _: &Self::Settings) -> io::Result<()> {
        Ok(())
    }

    fn cursor(head: *mut Slot) -> Self::Cursor;

    fn head(cursor: Self::Cursor) -> *mut Slot;

    /// The head of the empty stack.
    fn bottom(&self) -> *mut Slot;

    /// The front for closure style, if `head` is exact.
    fn front(core: &Core<Self>) -> &Front;

    /// # Safety
    /// `front` is a front of the current thread's worker, of a pool of this type, and `cursor` is exact for it.
    unsafe fn join<A: Body, B: Body>(front: &Front, cursor: Self::Cursor, a: A, b: B) -> (A::Out, B::Out);

    fn wants_work(front: &Front, cursor: Self::Cursor) -> bool;

    /// Tries to take `victim`'s oldest task, and asks for work if none is shared.
    ///
    /// # Safety
    /// The current thread is the worker `thief`.
    unsafe fn steal(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>>;

    /// As [`Plumbing::steal`], by a worker that is idle: it may take several tasks, and keep all but one where others find them.
    ///
    /// # Safety
    /// As [`Plumbing::steal`], and nothing lies on its stack.
    unsafe fn haul(thief: &Core<Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        // SAFETY: the caller's promise.
        unsafe { Self::steal(thief, victim) }
    }

    /// One of those that the worker has kept.
    ///
    /// # Safety
    /// The current thread is the worker, and nothing lies on its stack.
    unsafe fn pop_kept(_: &Core<Self>) -> Option<NonNull<Job>> {
        None
    }

    /// Asks `victim` to share work, if it may have some.
    fn ask(thief: &Core<Self>, victim: &Core<Self>);

    /// Shares on behalf of `victim`, which has been asked and does not answer; how many tasks.
    fn insist(_thief: &Core<Self>, _victim: &Core<Self>) -> u32 {
        0
    }

    /// The worker, which was idle, runs something.
    ///
    /// # Safety
    /// The current thread is the worker, and nothing lies on its stack.
    unsafe fn begins(_: &Core<Self>) {}

    /// Makes whatever the worker has available to thieves, and tells sleepers: it is about to sleep itself, and will answer nobody.
    ///
    /// # Safety
    /// As [`Plumbing::steal_own`].
    unsafe fn share_all(_: &Core<Self>, _: &Front, _: *mut Slot) {}

    /// After a worker's announcement of its sleep, and a fence, and before its last look: whatever else it takes that the look sees all
    /// work of whose owners have not seen the announcement.
    fn settles(_: &Core<Self>) {}

    /// Whether a worker is fast to [settle](Plumbing::settles): otherwise no guest should be one for a short while.
    fn settles_fast(&self) -> bool {
        true
    }

    /// Whether there is something to steal from `victim`, good enough for a last look before sleep.
    ///
    /// # Safety
    /// The current thread is the worker `thief`.
    unsafe fn has_work(thief: &Core<Self>, victim: &Core<Self>) -> bool;

    /// Takes one of the worker's own forks as a thief would, so that its join will find it stolen. For a worker that yields in the
    /// middle of a branch.
    ///
    /// # Safety
    /// The current thread is the worker `core`; `front` is a current one of its fronts, and `head` is exact if it is a stack
    /// front.
    unsafe fn steal_own(core: &Core<Self>, front: &Front, head: *mut Slot) -> Option<NonNull<Job>>;

    /// Whether the worker has forked something that nobody has stolen. A snapshot.
    ///
    /// # Safety
    /// As [`Plumbing::steal_own`].
    unsafe fn has_own(core: &Core<Self>, front: &Front, head: *mut Slot) -> bool;

    /// Whether the worker may have forks of its own that nobody has stolen.
    ///
    /// # Safety
    /// As [`Plumbing::steal_own`].
    unsafe fn may_have_own(core: &Core<Self>, front: &Front, head: *mut Slot) -> bool {
        // SAFETY: the caller's promise.
        unsafe { Self::has_own(core, front, head) }
    }

    /// The number of tasks below `head`.
    fn height(core: &Core<Self>, front: &Front, head: *mut Slot) -> usize;

    /// The state of the task at `index` if a thief has it, or had it; `None` from the first one on that nobody has stolen, and if the
    /// pool is not a stack that others can read.
    fn stolen_at(&self, index: usize) -> Option<&JobState<Native>>;

    /// The peak depth so far.
    fn peak_depth(&self) -> usize;

    /// Starts [`Plumbing::peak_depth`] afresh. The pool should be idle.
    fn forget_peak(&self);
}

/// A kind of task pool: a type parameter of [`ThreadPool`](crate::ThreadPool) and [`Worker`](crate::Worker).
///
/// The trait is sealed; [`Split`], [`Wool`], [`Queued`] and [`Heartbeat`] implement it. What can be set of such a pool is its
/// `Settings`, for [`Builder::settings`](crate::Builder::settings): nothing of a `Split`, [`WoolSettings`], [`QueueSettings`],
/// [`HeartbeatSettings`].
pub trait Pool: Plumbing {
    /// Whether thieves can follow stolen tasks through the pool, which
    /// [transitive leapfrogging](crate::Wait::Transitive) needs.
    const TRANSITIVE: bool;
}
