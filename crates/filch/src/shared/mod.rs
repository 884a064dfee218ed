//! What the workers of a pool share: their common state, their policies, and who works when.
//!
//! Invariant: every thread may use all of this at any time, so each part is atomic, locked or constant.

pub(crate) mod common;
pub(crate) mod elsewhere;
pub(crate) mod guest;
pub(crate) mod handles;
pub(crate) mod job_counts;
pub(crate) mod late;
pub(crate) mod near;
pub(crate) mod on_demand;
pub(crate) mod policy;
pub(crate) mod stand_ins;
