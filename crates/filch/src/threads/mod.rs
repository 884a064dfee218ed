//! Thread pools: their settings, the start and end of their threads, and the way in from outside.
//!
//! Invariant: a pool's workers are freed only after its threads have left them.

pub(crate) mod builder;
pub(crate) mod defaults;
pub(crate) mod enter;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod global;
pub(crate) mod policies;
pub(crate) mod restart;
pub(crate) mod running;
pub(crate) mod start;
pub(crate) mod thread_pool;
#[cfg_attr(not(feature = "timeline"), path = "no_timeline_file.rs")]
pub(crate) mod timeline_file;
pub(crate) mod workers;
