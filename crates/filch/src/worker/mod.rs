//! A worker: its state, its task pool, what it has spawned, and how it waits for others.
//!
//! A [`home`] is the part that does not depend on the type of the pool; a [`core`](mod@core) is the whole worker. The
//! [`plumbing`] is the interface that both use of a pool.
//!
//! Invariant: only a worker's own thread uses the parts of it that are neither atomic nor constant.

pub(crate) mod core;
pub(crate) mod detached;
pub(crate) mod home;
pub(crate) mod latch;
pub(crate) mod notes;
pub(crate) mod order;
pub(crate) mod patience;
pub(crate) mod per_worker;
pub(crate) mod plumbing;
pub(crate) mod stats;
#[cfg(feature = "scale")]
pub(crate) mod strands;
#[cfg(not(feature = "scale"))]
#[path = "strands/off.rs"]
pub(crate) mod strands;
pub(crate) mod trails;
pub(crate) mod turns;
mod wake_ups;
