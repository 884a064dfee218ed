//! Task pools: where a worker keeps its forked tasks, and how thieves take them.
//!
//! * [`Split`], the default: Lace's direct task stack on a split deque. A task stays in its slot until it is joined,
//!   and push and pop touch nothing shared.
//! * [`Wool`]: the direct task stack of Wool. Its oldest tasks are public, each with a state word on which owner and
//!   thieves compete; the others are private.
//! * [`Queued`]: any word queue of [`filch_queue`]. A task is on its forker's frame, and its address in the queue.
//! * [`Heartbeat`]: the same, except that tasks stay private until their owner, on a beat, promotes the oldest to the
//!   queue.
//!
//! A type selects the pool, without dynamic dispatch:
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
//! Each kind of pool has its own type of settings, for
//! [`Builder::settings`](crate::Builder::settings): [`SplitSettings`], [`WoolSettings`],
//! [`QueueSettings`] or [`HeartbeatSettings`].

mod direct;
mod frames;
mod heartbeat;
mod loot;
mod plumbing;
mod queued;
mod split;
mod wool;

pub use heartbeat::{Beat, Clock, Heartbeat, HeartbeatSettings, Period, Request};
pub use loot::QueueSettings;
pub use queued::Queued;
pub use split::{Sharing, Split, SplitSettings};
pub use wool::{Wool, WoolSettings};

pub(crate) use plumbing::{Insisted, Plumbing, Room, Tuned};

pub use crate::policy::{First, Haul};

/// A kind of task pool: a type parameter of [`ThreadPool`](crate::ThreadPool) and [`Worker`](crate::Worker).
///
/// The trait is sealed; [`Split`], [`Wool`], [`Queued`] and [`Heartbeat`] implement it. Its `Settings` are for
/// [`Builder::settings`](crate::Builder::settings): [`SplitSettings`], [`WoolSettings`], [`QueueSettings`] or
/// [`HeartbeatSettings`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind of task pool",
    label = "neither `Split`, `Wool`, `Queued<…>` nor `Heartbeat<…>`",
    note = "a queue makes a pool when wrapped, as in `filch::pool::Queued<filch_queue::ChaseLev>`",
    note = "a function for every kind has a type parameter: `fn f<P: filch::pool::Pool>(w: Worker<'_, P>)`"
)]
pub trait Pool: Plumbing {
    /// Whether thieves can follow stolen tasks through the pool, as [transitive leapfrogging](crate::Wait::Transitive)
    /// requires.
    const TRANSITIVE: bool;
}
