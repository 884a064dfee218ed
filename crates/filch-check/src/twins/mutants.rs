//! The table of mutants.
//!
//! What must always hold: the control differs from the mutant in the mistake alone, or in δ.

use filch::inside::protocol::grain;
use filch_queue::lace::Moves;

use super::mutant::{Harm, Mutant, protocol};
use super::{one_exposed, pdq, search, slips, wsq};
use crate::Program;
use crate::scenarios::{order, passing, seize};
use crate::tso::Tso;

/// All mutants, by twin.
pub fn mutants() -> Vec<Mutant> {
    [
        search::mutants(),
        seize(),
        order(),
        passing(),
        one_exposed::mutants(),
        pdq::mutants(),
        wsq::mutants(),
        slips::mutants(),
    ]
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

fn order() -> Vec<Mutant> {
    use order::Mistake;
    let late = |mistake| order::program::<Tso>("s+0-", &[(1, 0)], &[1], mistake);
    let newer = |mistake| order::program::<Tso>("++s--", &[(1, 2)], &[], mistake);
    let lowered = |mistake| order::program::<Tso>("+se-|+1-", &[(2, 1)], &[1], mistake);
    let fork = |mistake| order::program::<Tso>("+s+g|1--", &[(2, 1)], &[1, 1], mistake);
    let job = |mistake| order::program::<Tso>("s+sg|1-", &[(2, 1)], &[1, 1], mistake);
    let mutant = |mistake: (&'static str, Mistake), client, shows, program: fn(Mistake) -> Program| {
        protocol("order", mistake, client, Harm::Hang, shows, program)
    };
    vec![
        mutant(
            ("looks-late", Mistake::LooksLate),
            "a job, then a fork that waits for it",
            "a fork that appears after the look at the jobs may be younger than one of them",
            late,
        ),
        mutant(
            ("no-floor", Mistake::NoFloor),
            "a private fork that waits for a job spawned above it",
            "the owner runs what is newer before it joins a fork",
            newer,
        ),
        mutant(
            ("lowers-in-silence", Mistake::LowersInSilence),
            "a job that outlives the fork below it, then a fork that waits for it",
            "thieves have to know which jobs have become older than all forks",
            lowered,
        ),
        mutant(
            ("any-fork", Mistake::AnyFork),
            "a fork, a job, a fork that waits for it, two thieves",
            "the fork that is left after a lost race may be younger than a job",
            fork,
        ),
        mutant(
            ("any-job", Mistake::AnyJob),
            "a job, a fork, a job that waits for it, two thieves",
            "the job that is left after a lost race may be younger than a fork",
            job,
        ),
    ]
}

fn passing() -> Vec<Mutant> {
    use passing::Mistake;
    let program = |mistake| passing::kept::<Tso>(1, mistake);
    let (client, shows) = ("a kept job, one other thief", "the end of a kept job wakes whoever had kept it");
    vec![protocol("runtime", ("wakes-the-keeper", Mistake::WakesTheKeeper), client, Harm::Hang, shows, program)]
}
