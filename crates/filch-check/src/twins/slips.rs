//! Known mistakes that are made in the shipped source itself, at one call site: a fence left out, an update by load and store, two
//! stores in the other order.
//!
//! What must always hold: the control is the shipped source as it is.

use filch_queue::{Abp, ChaseLev, HendlerShavit, The};

use super::mutant::{Harm, Mutant, buffer, protocol, slipped};
use crate::scenarios::queues::Client;
use crate::scenarios::rounds;
use crate::sites::Slip;
use crate::tso::Tso;

const THE: &str = "filch-queue/src/the.rs";
const ABP: &str = "filch-queue/src/abp.rs";
const CHASE_LEV: &str = "filch-queue/src/chase_lev.rs";
const HENDLER_SHAVIT: &str = "filch-queue/src/hendler_shavit.rs";
const ROUNDS: &str = "filch/src/protocol/rounds.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    [queues(), of_rounds()].into_iter().flatten().collect()
}

fn queues() -> Vec<Mutant> {
    vec![
        slipped::<The>(
            ("no-fence-in-pop", Slip::left_out(THE, "pop", "M::fence")),
            &(),
            Client::new(1, 1, "-", &[1]),
            buffer(1),
            Harm::Twice,
            "pop's load of H overtakes its store of T, and neither side sees the other",
        ),
        slipped::<The>(
            ("no-fence-in-steal", Slip::left_out(THE, "steal", "M::fence")),
            &(),
            Client::new(1, 1, "-", &[1]),
            buffer(1),
            Harm::Twice,
            "a thief's load of T overtakes its store of H, and neither side sees the other",
        ),
        slipped::<ChaseLev>(
            ("no-fence-in-pop", Slip::left_out(CHASE_LEV, "pop", "M::fence")),
            &(),
            Client::new(2, 2, "-", &[2]),
            buffer(1),
            Harm::Twice,
            "pop's load of top overtakes its store of bottom, and owner and thief take one task",
        ),
        slipped::<Abp>(
            ("no-fence-in-pop", Slip::left_out(ABP, "pop", "M::fence")),
            &(),
            Client::new(2, 2, "-", &[2]),
            buffer(1),
            Harm::Twice,
            "pop's load of top overtakes its store of bot, and owner and thief take one task",
        ),
        slipped::<HendlerShavit>(
            ("halve-by-store", Slip::by_store(HENDLER_SHAVIT, "take_back", "compare_exchange_weak")),
            &(),
            Client::new(1, 1, "-", &[1]),
            buffer(0),
            Harm::NoTask,
            "a steal between the owner's load and its store of the range is undone",
        ),
    ]
}

fn of_rounds() -> Vec<Mutant> {
    let row = |name, threads, rounds, slip, shows| {
        let program = move |()| rounds::program::<Tso>(threads, rounds, false);
        let client = format!("{threads} threads, {rounds} rounds");
        Mutant { slip: Some(slip), ..protocol("rounds", (name, ()), client, Harm::Hang, shows, program) }
    };
    vec![
        row(
            "begun-before-counted",
            1,
            2,
            Slip::swapped(ROUNDS, "begin", "left.store", "round.store"),
            "a thread that is done before the caller has counted it is never done to the caller",
        ),
        row(
            "done-by-store",
            2,
            1,
            Slip::by_store(ROUNDS, "done", "fetch_sub"),
            "two threads take off a part each, and the count is lower by one",
        ),
    ]
}
