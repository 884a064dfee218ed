//! Experiments of ours: the parts that the documents leave open.

mod asym;
mod fences;
mod mutants;

use crate::experiment::Experiment;

/// Returns all experiments of this group.
pub(super) fn all() -> Vec<Experiment> {
    vec![asym::experiment(), fences::experiment(), mutants::experiment()]
}
