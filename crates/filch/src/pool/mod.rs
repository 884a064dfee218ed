//! Task pools: where a worker keeps its forked tasks, and how thieves take them.
//!
//! * [`Split`], the default: Lace's direct task stack on a split deque. A task stays in its slot until it is joined,
//!   and push and pop touch nothing shared.
//! * [`Wool`]: the direct task stack of Wool. Its oldest tasks are public, each with a state word on which owner and
//!   thieves compete; the others are private.
//! * [`PrivateStack`]: the direct task stack as a private deque, whose owner gives a thief that asks its oldest task.
//! * [`Queued`]: a word queue of [`filch_queue`]. A task is on its forker's frame, and its address in the queue.
//! * [`Heartbeat`]: the same, except that tasks stay private until their owner, on a beat, promotes the oldest to the
//!   queue.
//!
//! `Wool`, `PrivateStack` and `Heartbeat` require the feature `pools`.
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
//! Most kinds of pools have a type of settings, for
//! [`Builder::settings`](crate::Builder::settings): [`SplitSettings`], [`WoolSettings`],
//! [`QueueSettings`] or [`HeartbeatSettings`].

mod direct;
mod frames;
#[cfg(feature = "pools")]
mod heartbeat;
mod loot;
#[cfg(feature = "pools")]
mod private;
mod queued;
#[cfg(feature = "scale")]
mod recorded;
mod split;
mod stack;
#[cfg(feature = "pools")]
mod wool;

#[cfg(feature = "pools")]
pub use heartbeat::{Beat, Clock, Heartbeat, HeartbeatSettings, Period, Request};
pub use loot::QueueSettings;
#[cfg(feature = "pools")]
pub use private::PrivateStack;
pub use queued::Queued;
#[cfg(feature = "scale")]
pub use recorded::Recorded;
pub use split::{Sharing, Split, SplitSettings};
#[cfg(feature = "pools")]
pub use wool::{Wool, WoolSettings};

pub use crate::shared::policy::{First, Haul};
pub use crate::worker::plumbing::Pool;
