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
//! Each worker has one, and what it does it does to workers: this file and `core.rs` need each other.
//!
//! What can be set of a pool is a type of its own, [`Pool::Settings`](Plumbing::Settings), which
//! [`Builder::settings`](crate::Builder::settings) takes: [`QueueSettings`], [`HeartbeatSettings`], [`WoolSettings`], or nothing.

mod direct;
mod frames;
mod heartbeat;
mod loot;
mod queued;
mod split;
mod wool;

pub use heartbeat::{Beat, Clock, Heartbeat, HeartbeatSettings, Period, Request};
pub use loot::QueueSettings;
pub use queued::Queued;
pub use split::Split;
pub use wool::{Wool, WoolSettings};

use std::fmt::Debug;
use std::io;
use std::ptr::NonNull;

use filch_memory::Native;
use filch_queue::Steal;

use crate::core::Core;
use crate::front::{Front, Meanwhile, Popped};
use crate::here::{Here, IdleHere, Known};
use crate::job::Body;
use crate::policy::Wait;
use crate::protocol::state::{JobState, MAX_WORKERS};
use crate::slot::{Job, Slot};

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

/// A kind of task pool. Sealed: the kinds are those of this module. What a worker does with its own pool takes a [`Here`], which only the
/// worker itself can have.
///
/// # Safety
/// Implementations give each job out once, to its owner or to one thief, and keep the invariants of [`Front`].
#[doc(hidden)]
pub unsafe trait Plumbing: Known + Send + Sync {
    /// What can be set of such a pool; `()` if nothing can.
    type Settings: Clone + Debug + Default + Send + Sync;

    /// Whether it helps thieves that a signal has the worker answer them.
    const ANSWERS_SIGNALS: bool = false;

    /// The largest number of workers.
    const MAX_WORKERS: usize = MAX_WORKERS;

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

    /// The head of the empty stack.
    fn bottom(&self) -> *mut Slot;

    /// The front for closure style, if the head is exact.
    fn front(core: &Core<Self>) -> &Front;

    /// Fork and join in handle style.
    fn join<A: Body<In = Self>, B: Body<In = Self>>(here: Here<'_, Self>, a: A, b: B) -> (A::Out, B::Out);

    /// Whether somebody would take a task forked in handle style.
    fn wants_work(here: &Here<'_, Self>) -> bool;

    /// The cold half of a push on the task stack: of the task in the front's scratch slot, to the slot at the head.
    ///
    /// # Safety
    /// There is a task, and here is at the stack front, which did not admit it.
    unsafe fn push_on_stack(_: &Here<'_, Self>) {
        unreachable!("the pool has no task stack")
    }

    /// The cold half of a pop from the task stack, of the task at the head: takes it back, or waits for its thief.
    ///
    /// # Safety
    /// That is the newest task on the stack, and the stack front, at which here is, did not admit the pop.
    unsafe fn pop_from_stack(_: Here<'_, Self>, _: Meanwhile) -> Popped {
        unreachable!("the pool has no task stack")
    }

    /// Forks through the pool's word queue; `false` if that is full.
    ///
    /// # Safety
    /// The job stays where it is until it was taken back or settled.
    unsafe fn push_word(here: &Here<'_, Self>, job: NonNull<Job>) -> bool;

    /// Takes the newest job forked through the word queue back; `false` if it was stolen.
    ///
    /// # Safety
    /// `job` is the newest one that was pushed there and not joined.
    unsafe fn take_word_back(here: &Here<'_, Self>, job: NonNull<Job>) -> bool;

    /// Whether somebody would take a task that the limits do not admit, on the front at which here is.
    fn wants_more(here: &Here<'_, Self>) -> bool;

    /// Answers thieves.
    fn poll(here: &Here<'_, Self>);

    /// [`Plumbing::poll`] from a signal's handler; `false` if that is not possible now, or never. The signal may have interrupted anything,
    /// this pool's own code included.
    fn interrupt(_: &Here<'_, Self>) -> bool {
        false
    }

    /// Tries to take `victim`'s oldest task, and asks for work if none is shared.
    fn steal(here: &Here<'_, Self>, victim: &Core<Self>) -> Steal<NonNull<Job>>;

    /// As [`Plumbing::steal`], by a worker that is idle: it may take several tasks, and keep all but one where others find them.
    fn haul(idle: &IdleHere<'_, '_, Self>, victim: &Core<Self>) -> Steal<NonNull<Job>> {
        Self::steal(idle, victim)
    }

    /// One of those that the worker has kept.
    fn pop_kept(_: &IdleHere<'_, '_, Self>) -> Option<NonNull<Job>> {
        None
    }

    /// Asks `victim` to share work, if it may have some.
    fn ask(thief: &Core<Self>, victim: &Core<Self>);

    /// How many of a worker's newest tasks thieves leave to it.
    fn kept_back(&self) -> usize {
        0
    }

    /// Shares on behalf of `victim`, which has been asked and does not answer; how many tasks.
    fn insist(_: &Here<'_, Self>, _victim: &Core<Self>) -> u32 {
        0
    }

    /// The worker, which was idle, runs something.
    fn begins(_: &IdleHere<'_, '_, Self>) {}

    /// Makes whatever the worker has available to thieves, and tells sleepers: it is about to sleep itself, and will answer nobody.
    fn share_all(_: &Here<'_, Self>) {}

    /// After a worker's announcement of its sleep, and a fence, and before its last look: whatever else it takes that the look sees all
    /// work of whose owners have not seen the announcement.
    fn settles(_: &Core<Self>) {}

    /// Whether a worker is fast to [settle](Plumbing::settles): otherwise no guest should be one for a short while.
    fn settles_fast(&self) -> bool {
        true
    }

    /// Whether there is something to steal from `victim`, good enough for a last look before sleep.
    fn has_work(here: &Here<'_, Self>, victim: &Core<Self>) -> bool;

    /// Takes one of the worker's own forks as a thief would, so that its join will find it stolen. For a worker that yields in the
    /// middle of a branch.
    fn steal_own(here: &Here<'_, Self>) -> Option<NonNull<Job>>;

    /// Whether the worker has forked something that nobody has stolen. A snapshot.
    fn has_own(here: &Here<'_, Self>) -> bool;

    /// Whether the worker may have forks of its own that nobody has stolen.
    fn may_have_own(here: &Here<'_, Self>) -> bool {
        Self::has_own(here)
    }

    /// The number of tasks below the head; 0 without a task stack.
    fn height(_: &Here<'_, Self>) -> usize {
        0
    }

    /// The state of the task at `index` if a thief has it, or had it; `None` from the first one on that nobody has stolen, and if the
    /// pool is not a stack that others can read.
    fn stolen_at(&self, _index: usize) -> Option<&JobState<Native>> {
        None
    }

    /// The peak depth so far; 0 without a task stack.
    fn peak_depth(&self) -> usize {
        0
    }

    /// Starts [`Plumbing::peak_depth`] afresh, as of when the worker has nothing on its stack.
    fn forget_peak(&self) {}
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
