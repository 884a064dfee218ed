//! The table of mutants: which mistake, where the checker finds it, and what that shows.
//!
//! What must always hold: the control differs from the mutant in the mistake alone, or in δ.

use filch::protocol::grain;

use super::mutant::{Harm, Mutant, buffer, protocol};
use super::{
    abp, adws, bwos, bwos_f, chase_lev, chase_lev_asym, dsq, ff_cl, ff_the, hendler_shavit, idempotent, lace, lineage,
    one_exposed, pdq, search, slips, termination, the, thep, wool, wsq,
};
use crate::scenarios::{guest, passing, runtime, seize};
use crate::tso::Tso;

/// All mutants, by twin.
pub fn mutants() -> Vec<Mutant> {
    [
        chase_lev::mutants(),
        the::mutants(),
        lace::mutants(),
        ff_the::mutants(),
        ff_cl::mutants(),
        thep::mutants(),
        termination::mutants(),
        lineage::mutants(),
        search::mutants(),
        guest(),
        seize(),
        passing(),
        waiting(),
        wool::mutants(),
        abp::mutants(),
        adws::mutants(),
        bwos::mutants(),
        bwos_f::mutants(),
        chase_lev_asym::mutants(),
        dsq::mutants(),
        hendler_shavit::mutants(),
        idempotent::mutants(),
        one_exposed::mutants(),
        pdq::mutants(),
        wsq::mutants(),
        slips::mutants(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn guest() -> Vec<Mutant> {
    use guest::Mistake;
    let row = |name, mistake, shows| {
        let program = |mistake| guest::program::<Tso>(1, false, mistake);
        protocol("guest", (name, mistake), "one guest, one job", Harm::Hang, shows, program)
    };
    vec![
        row("looks-no-more", Mistake::LooksNoMore, "a job that is posted while a guest has the seat wakes nobody"),
        row(
            "wakes-nobody",
            Mistake::WakesNobody,
            "a job that is posted between a guest's last look and its leave wakes the guest",
        ),
    ]
}

fn seize() -> Vec<Mutant> {
    use seize::Mistake;
    let row = |name, mistake, acts, harm, shows| {
        let program = move |mistake| seize::program::<Tso>(acts, &[2], grain::Params::FINE, mistake);
        protocol("seize", (name, mistake), format!("{acts}, one thief"), harm, shows, program)
    };
    vec![
        row(
            "falls-late",
            Mistake::FallsLate,
            "++|-",
            Harm::Twice,
            "a task that its owner is about to take back is shared for it",
        ),
        row("rises-early", Mistake::RisesEarly, "+|+", Harm::Race, "a task that has not been written is shared"),
        row(
            "barges",
            Mistake::Barges,
            "++|--",
            Harm::Race,
            "an owner does its own sharing while somebody does it for it",
        ),
    ]
}

fn passing() -> Vec<Mutant> {
    use passing::Mistake;
    let row = |name, mistake, shows| {
        let program = |mistake| passing::kept::<Tso>(1, mistake);
        protocol("runtime", (name, mistake), "a kept job, one other thief", Harm::Hang, shows, program)
    };
    vec![
        row(
            "forgets-the-sleeper",
            Mistake::ForgetsTheSleeper,
            "who takes a job over that another thief has kept forgets that its owner has gone to sleep",
        ),
        row("wakes-the-keeper", Mistake::WakesTheKeeper, "the end of a kept job wakes whoever had kept it"),
    ]
}

fn waiting() -> Vec<Mutant> {
    let shows = "who sleeps overlooks a task that its owner pushed without a fence, since that one had not seen that the queue was emptied";
    let program = |no_barrier| runtime::push_unfenced::<Tso>(1, no_barrier);
    let mistake = ("no-barrier-before-sleep", true);
    let mutant = protocol("waiting", mistake, "a push, one thief, one sleeper", Harm::Hang, shows, program);
    vec![Mutant { processor: buffer(2), ..mutant }]
}
