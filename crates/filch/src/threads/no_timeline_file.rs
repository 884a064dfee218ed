//! Stands in for timelines of processes without the feature `timeline`.

use std::sync::Arc;

use super::environment::variable;
use super::error::BuildError;
use crate::shared::common::Common;
use crate::unwind::warn;

/// Warns that a timeline, if the environment asks for one, needs the feature.
pub(crate) struct TimelineFile;

impl TimelineFile {
    pub(crate) fn by_environment() -> Result<Self, BuildError> {
        if variable("FILCH_TIMELINE")?.is_some() {
            warn(format_args!("FILCH_TIMELINE records nothing without the feature `timeline` of the crate filch"));
        }
        Ok(Self)
    }

    pub(crate) fn record(self, _: &Arc<Common>) {}
}
