//! Mistakes in the deques of which a part is shared, or all is claimed by one word: Hendler–Shavit, Lace, the split
//! queue with a lock, WSQ.

use filch_queue::dsq::{Copying, Params};
use filch_queue::lace::{Moves, Policies};
use filch_queue::{Dsq, HendlerShavit, Lace, Wsq};

use super::SPIN_LOCK;
use crate::harm::Harm;
use crate::scenarios::queues::Client;
use crate::sites::Slip;
use crate::twins::mutant::{Mutant, buffer, no_task, slip, slipped};

const HENDLER_SHAVIT: &str = "filch-queue/src/hendler_shavit.rs";
const LACE: &str = "filch-queue/src/lace/mod.rs";
const INDEX: &str = "filch-queue/src/lace/index.rs";
const DSQ: &str = "filch-queue/src/dsq.rs";
const WSQ: &str = "filch-queue/src/wsq/mod.rs";
const WSQ_FORM: &str = "filch-queue/src/wsq/form.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    [hendler_shavit(), lace(), dsq(), wsq()].concat()
}

fn hendler_shavit() -> Vec<Mutant> {
    vec![
        slip::<HendlerShavit>(
            "halve-by-store",
            Slip::by_store((HENDLER_SHAVIT, "take_back", "compare_exchange_weak")),
            Client::new(1, 1, "-", &[1]),
            no_task(Harm::Twice),
            "a steal between the owner's load and its store of the range is undone",
        ),
        slip::<HendlerShavit>(
            "widen-by-store",
            Slip::by_store((HENDLER_SHAVIT, "widen", "compare_exchange")),
            Client::new(4, 3, "+----", &[1]),
            no_task(Harm::Twice),
            "a steal between the owner's load and its store of the range is undone",
        ),
        slip::<HendlerShavit>(
            "no-empty-test",
            Slip::altered((HENDLER_SHAVIT, "push", "ring.put"), |_| 0),
            Client::new(1, 1, "+-", &[1]),
            Harm::Panic,
            "a push overwrites a slot that its thief has won and not read",
        ),
        slip::<HendlerShavit>(
            "copy-before-swap",
            Slip::swapped((HENDLER_SHAVIT, "claim", "compare_exchange"), (HENDLER_SHAVIT, "take", "ring.take")),
            Client::new(1, 1, "-+", &[1]),
            Harm::Twice,
            "the range comes back to its old value with another task in the slot",
        ),
        slip::<HendlerShavit>(
            "single-try",
            Slip::misread_on_failure((HENDLER_SHAVIT, "take_back", "compare_exchange_weak"), |_| 0),
            Client::new(4, 4, "---", &[1]),
            Harm::NotEmpty,
            "a pop that loses its swap says that nothing is there, though the thief took one of two",
        ),
    ]
}

fn lace() -> Vec<Mutant> {
    let halves = Policies { moves: Moves::HalfStores, ..Policies::default() };
    vec![
        slipped::<Lace>(
            ("no-fence-in-shrink", Slip::left_out((INDEX, "lower", "M::fence"))),
            &halves,
            Client::new(2, 2, ".--", &[2]),
            buffer(1),
            no_task(Harm::Twice),
            "the owner reads tail before its half store of split arrives, and a thief wins what the owner has taken back",
        ),
        slipped::<Lace>(
            ("grow-by-whole-store", Slip::by_store((INDEX, "raise", "M::store_high"))),
            &halves,
            Client::new(4, 4, "..---", &[3, 1]),
            buffer(0),
            no_task(Harm::Twice),
            "a steal between the owner's load and its store of the whole word is undone",
        ),
        slip::<Lace>(
            "no-empty-test",
            Slip::altered((LACE, "push", "ring.put"), |_| 0),
            Client::new(1, 1, "+-", &[1]),
            Harm::Panic,
            "a push overwrites a slot that its thief has won and not read",
        ),
        slip::<Lace>(
            "shrink-by-store",
            Slip::by_store((INDEX, "lower", "fetch_sub")),
            Client::new(1, 1, "-", &[1]),
            no_task(Harm::Twice),
            "a steal between the owner's load and its store of the index word is undone",
        ),
        slip::<Lace>(
            "stale-tail",
            Slip::stale((INDEX, "tail", "word.load"), (INDEX, "lower", "fetch_sub")),
            Client::new(1, 1, "-", &[1]),
            no_task(Harm::Twice),
            "the owner takes a task that was stolen between its look at tail and its lowering of split",
        ),
        slip::<Lace>(
            "copy-before-swap",
            Slip::swapped((INDEX, "steal_several", "compare_exchange"), (LACE, "take", "ring.take")),
            Client::new(1, 1, "--+", &[1]),
            Harm::Twice,
            "the index word comes back to its old value with another task in the slot",
        ),
        slip::<Lace>(
            "grow-by-store",
            Slip::by_store((INDEX, "raise", "fetch_add")),
            Client::new(3, 1, "-++--", &[3]),
            no_task(Harm::Twice),
            "a steal between the owner's load and its store of the index word is undone",
        ),
        slip::<Lace>(
            "no-second-adjustment",
            Slip::stale((INDEX, "tail", "word.load"), (INDEX, "lower", "fetch_sub")),
            Client::new(4, 4, ".--", &[4]),
            no_task(Harm::Twice),
            "split is lowered below tail, and the owner takes stolen tasks for private ones",
        ),
    ]
}

fn dsq() -> Vec<Mutant> {
    let row = |name, copying, slip, client, harm, shows| {
        let params = Params { copying, ..Params::default() };
        slipped::<Dsq>((name, slip), &params, client, buffer(0), harm, shows)
    };
    vec![
        row(
            "tail-before-copy",
            Copying::Locked,
            Slip::swapped((DSQ, "take", "ring.read"), (DSQ, "take", "tail.store(new, Ordering::Release")),
            Client::new(1, 1, "+", &[1]),
            Harm::Lost,
            "a push overwrites a task that is still being copied",
        ),
        row(
            "tail-read-first",
            Copying::Deferred,
            Slip::swapped((DSQ, "make_room", "copied.load"), (DSQ, "make_room", "tail.load(Ordering::Relaxed)")),
            Client::new(4, 3, "++", &[1, 1]),
            Harm::Lost,
            "the copy of a later claim stands in for an earlier one that is still being made",
        ),
        row(
            "only-tail",
            Copying::Deferred,
            Slip::altered((DSQ, "make_room", "copied.load"), |_| 1),
            Client::new(1, 1, "+", &[1]),
            Harm::Lost,
            "a push overwrites a task that is still being copied",
        ),
        row(
            "reacquire-unlocked",
            Copying::Locked,
            Slip::left_out((SPIN_LOCK, "try_lock", "compare_exchange")).by(0),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief goes by a split that the owner lowers meanwhile",
        ),
        row(
            "split-stays",
            Copying::Locked,
            Slip::left_out((DSQ, "reacquire", "split.store")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief takes what the owner has taken back",
        ),
    ]
}

fn wsq() -> Vec<Mutant> {
    vec![
        slip::<Wsq>(
            "take-by-store",
            Slip::by_store((WSQ_FORM, "take", "slot.swap")),
            Client::new(1, 0, "+", &[1]),
            Harm::Hang,
            "a push between a thief's load and its store of the slot is undone, and the thief waits for ever",
        ),
        slip::<Wsq>(
            "claim-by-store",
            Slip::by_store((WSQ, "claim", "compare_exchange")),
            Client::new(2, 2, "-", &[2]),
            Harm::Hang,
            "a pop between a thief's load and its store of the index word is undone",
        ),
        slip::<Wsq>(
            "reserve-by-store",
            Slip::by_store((WSQ, "reserve", "compare_exchange_weak")),
            Client::new(2, 2, "-", &[2]),
            no_task(Harm::Hang),
            "a steal between the owner's load and its store of the index word is undone",
        ),
        slip::<Wsq>(
            "reserve-beyond-the-empty",
            Slip::altered((WSQ, "look_for_empty", "slot(bottom.wrapping_add(*at) as usize).load"), |_| 0),
            Client::new(1, 1, "1", &[1]),
            no_task(Harm::Hang),
            "a push of several overwrites a task that its thief has claimed and not taken",
        ),
    ]
}
