//! Operations of a task on its worker, by a handle or by closures: fork and join, yield, announce blocking.
//!
//! Invariant: code outside all pools may call the functions in closure style; they then use the global pool.

pub(crate) mod blocking;
pub(crate) mod current;
pub(crate) mod fork_all;
pub(crate) mod handle;
pub(crate) mod join;
pub(crate) mod join_context;
pub mod levels;
#[cfg(feature = "scale")]
pub(crate) mod record;
