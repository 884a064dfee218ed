//! Known mistakes. One at a call site is made in the [shipped source](crate::sites::Slip); for one of logic there is a twin, the algorithm
//! once more, compact, whose mistakes can be switched on one at a time.
//!
//! A checker that finds nothing has to prove that it could. [`mutants`] lists for each mistake a small client and a machine on
//! which the checker must find it, and on which the same program without the mistake must pass. The shortest history that shows
//! each lies in the folder `traces`.
//!
//! What must always hold: a twin reads like its paper, and its mistakes change nothing else.

pub mod abp;
pub mod adws;
pub mod bwos;
pub mod bwos_f;
pub mod chase_lev;
pub mod chase_lev_asym;
pub mod dsq;
mod fence_free;
pub mod ff_cl;
pub mod ff_the;
pub mod hendler_shavit;
pub mod idempotent;
pub mod lace;
pub mod lineage;
mod mutant;
mod mutants;
pub mod one_exposed;
pub mod pdq;
pub mod search;
mod slips;
pub mod termination;
pub mod the;
pub mod thep;
mod twin;
pub mod wool;
pub mod wsq;

pub use mutant::{Harm, Mutant};
pub use mutants::mutants;
