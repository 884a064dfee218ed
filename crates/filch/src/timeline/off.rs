//! Stands for timelines without their feature: workers report their activities, and nobody records them.

#[path = "activity.rs"]
#[expect(dead_code, unreachable_pub, reason = "nobody reads it")]
mod activity;

pub(crate) use activity::{Act, Activity, Note};
