//! The job queue by exchanges.

mod plot;
mod table;

use crate::experiment::Experiment;

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![table::experiment(), plot::experiment()]
}

/// The job system as in its source: a thief takes half of the jobs, up to sixteen, and runs the oldest first.
const SOURCE: &str = "wsq:steal=half:first=oldest";
