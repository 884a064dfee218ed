//! In the place of timelines without their feature: what workers do is known, and nobody records it.

#[path = "activity.rs"]
#[expect(dead_code, unreachable_pub, reason = "nobody reads it")]
mod activity;

pub(crate) use activity::{Act, Activity, Note};
