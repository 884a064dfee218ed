//! The table of mutants.
//!
//! What must always hold: the control differs from the mutant in the mistake alone, or in δ.

use filch::inside::protocol::grain;
use filch_queue::lace::Moves;

use super::mutant::{Harm, Mutant, protocol};
use super::{one_exposed, pdq, search, slips, wsq};
use crate::scenarios::{passing, seize};
use crate::tso::Tso;

/// All mutants, by twin.
pub fn mutants() -> Vec<Mutant> {
    [search::mutants(), seize(), passing(), one_exposed::mutants(), pdq::mutants(), wsq::mutants(), slips::mutants()]
        .into_iter()
        .flatten()
        .collect()
}

fn seize() -> Vec<Mutant> {
    use seize::Mistake;
    let program = |mistake| seize::program::<Tso>("+|+", &[2], (Moves::Updates, grain::Params::FINE), mistake);
    let shows = "a task that has not been written is shared";
    vec![protocol("seize", ("rises-early", Mistake::RisesEarly), "+|+, one thief", Harm::Race, shows, program)]
}

fn passing() -> Vec<Mutant> {
    use passing::Mistake;
    let program = |mistake| passing::kept::<Tso>(1, mistake);
    let (client, shows) = ("a kept job, one other thief", "the end of a kept job wakes whoever had kept it");
    vec![protocol("runtime", ("wakes-the-keeper", Mistake::WakesTheKeeper), client, Harm::Hang, shows, program)]
}
