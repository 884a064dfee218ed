//! What the lines of probes, checkers and simulations say, for experiments that are not programs on schedulers: one
//! file each.

mod bound;
mod fences;
mod leaps;
mod litmus;
mod mutants;
mod store_buffer;

use crate::experiment::probe::Probe;

/// All, by the names that experiments use.
pub(crate) static ALL: [(&str, &Probe); 6] = [
    ("bound", &bound::PROBE),
    ("fences", &fences::PROBE),
    ("leaps", &leaps::PROBE),
    ("litmus", &litmus::PROBE),
    ("mutants", &mutants::PROBE),
    ("store-buffer", &store_buffer::PROBE),
];
