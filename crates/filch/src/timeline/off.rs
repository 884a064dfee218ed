//! In the place of timelines without their feature: what workers do is known, and nobody records it.

#[path = "activity.rs"]
#[expect(dead_code, unreachable_pub, reason = "nobody reads it")]
mod activity;

use std::sync::Arc;

pub(crate) use activity::{Act, Activity, Note};

use crate::build_error::BuildError;
use crate::environment::variable;
use crate::home::Home;
use crate::registry::Common;
use crate::unwind::warn;

pub(crate) mod exit {
    pub(crate) use super::TimelineFile;
}

/// Says that a timeline that the environment asks for needs the feature.
pub(crate) struct TimelineFile;

impl TimelineFile {
    pub(crate) fn by_environment() -> Result<Self, BuildError> {
        if variable("FILCH_TIMELINE")?.is_some() {
            warn(format_args!("FILCH_TIMELINE records nothing without the feature `timeline` of the crate filch"));
        }
        Ok(Self)
    }

    pub(crate) fn records(self, _: &Arc<Common>) {}
}

impl Home {
    #[inline(always)]
    pub(crate) fn notes(&self, _: Note) {}

    #[inline(always)]
    pub(crate) fn turns(&self, _begins: bool, _: Activity) {}
}
