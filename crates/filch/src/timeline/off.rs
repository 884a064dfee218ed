//! What stands for timelines without their feature: workers say what they do, and nobody records it.

#[path = "activity.rs"]
#[expect(dead_code, unreachable_pub, reason = "nobody reads it")]
mod activity;

pub(crate) use activity::{Act, Activity, Note};
