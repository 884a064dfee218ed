//! Known mistakes. One at a call site is made in the [shipped source](crate::sites::Slip). For one of logic, which no
//! operation of the shipped source expresses, there is a twin: the algorithm once more, compact, with a mistake that
//! can be switched on.
//!
//! They prove that the checker can find mistakes. For each, [`mutants`] lists a small client and a machine on which the
//! checker must find it, and on which the same program without the mistake must pass. The folder `traces` has the
//! shortest history of each.
//!
//! What must always hold: a twin reads like its paper, and its mistake changes nothing else.

mod mutant;
mod mutants;
pub mod one_exposed;
pub mod pdq;
pub mod search;
mod slips;
mod twin;
pub mod wsq;

pub use mutant::Mutant;
pub use mutants::mutants;
