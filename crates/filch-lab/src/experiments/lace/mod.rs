//! The split deque.

mod fig5;

use crate::experiment::Experiment;

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![fig5::experiment()]
}
