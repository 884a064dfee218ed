//! Stands in for timelines of processes without the feature `timeline`.

use std::sync::Arc;

use super::environment::variable;
use super::error::BuildError;
use crate::shared::common::Common;
use crate::unwind::warn;

/// Stands in for a timeline of a global pool, which needs the feature `timeline`.
///
/// ```
/// assert!(filch::inside::host::TimelineFile::by_environment().is_ok());
/// ```
#[derive(Debug)]
pub struct TimelineFile;

impl TimelineFile {
    /// Warns that a timeline, if the environment asks for one, needs the feature.
    ///
    /// # Errors
    /// [`BuildError::Variable`] if the variable is not text.
    pub fn by_environment() -> Result<Self, BuildError> {
        if variable("FILCH_TIMELINE")?.is_some() {
            warn(format_args!("FILCH_TIMELINE records nothing without the feature `timeline` of the crate filch"));
        }
        Ok(Self)
    }

    pub(crate) fn record(self, _: &Arc<Common>) {}
}
