//! The scenarios of queues whose thieves can take several tasks at once.

use filch_queue::dsq::{self, Contention, Copying};
use filch_queue::lace::{Moves, Policies};
use filch_queue::wsq::{self, Form, Of, Packed, Source};
use filch_queue::{Amount, Dsq, HendlerShavit, Lace};

use super::battery::{battery, called, client, many, queue};
use super::cost::Cost::{Full, FullTso, Quick, QuickTso};
use super::only_quick_on_c11;
use super::queues::program;
use crate::c11::Loom;
use crate::tso::Tso;
use crate::{Scenario, Setting};

/// No spare slots, so that the ring has exactly its nominal size.
fn tight(_: Setting) -> wsq::Params {
    wsq::Params { spare: 0 }
}

fn greedy(_: Setting) -> dsq::Params {
    dsq::Params { steal: Amount::All, ..dsq::Params::default() }
}

fn deferred(_: Setting) -> dsq::Params {
    dsq::Params { copying: Copying::Deferred, contention: Contention::Retry, ..dsq::Params::default() }
}

fn all(_: Setting) -> Policies {
    Policies { grow: Amount::All, shrink: Amount::All, steal: Amount::All, ..Policies::default() }
}

/// The paper's x86 version.
fn halves(_: Setting) -> Policies {
    Policies { moves: Moves::HalfStores, ..Policies::default() }
}

fn halves_all(setting: Setting) -> Policies {
    Policies { moves: Moves::HalfStores, ..all(setting) }
}

fn one(_: Setting) -> Policies {
    Policies { grow: Amount::One, shrink: Amount::One, steal: Amount::One, ..Policies::default() }
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let source = only_quick_on_c11(MISSED_STORE, wsq::<Source>());
    [source, wsq::<Packed>(), dsq(), hendler_shavit(), lace()].concat()
}

/// Why a thief of the source's form may not come to its slot before the task does.
pub(super) const MISSED_STORE: &str =
    "loom leaves a store and another thread's exchange unordered, and then a thief may miss the task for ever";

fn wsq<F: Form>() -> Vec<Scenario> {
    let one_by_one = queue::<Of<F>>(
        &[
            ("+|-", &[1], 1, Quick),
            ("+|+", &[1], 1, Quick),
            ("+|+", &[1, 1], 1, QuickTso),
            ("++--", &[2], 2, QuickTso),
            ("+-+-", &[1, 1], 1, QuickTso),
            ("++|-+-", &[2], 2, QuickTso),
            ("+++-+-", &[2, 1], 2, Full),
            ("+++-+--", &[2, 2], 2, FullTso),
        ],
        tight,
        tight,
    );
    let several = many::<Of<F>>(
        3,
        &[
            ("++|-", &[1], 2, Quick),
            ("+++|-+", &[1, 1], 4, QuickTso),
            ("+++--", &[2], 4, QuickTso),
            ("+++-+--", &[2, 2], 4, FullTso),
        ],
        tight,
        tight,
    );
    let at_once = queue::<Of<F>>(
        &[
            ("2", &[1], 2, QuickTso),
            ("++|2", &[1], 2, Quick),
            ("++|2", &[1, 1], 2, QuickTso),
            ("2--2-", &[2], 2, QuickTso),
            ("2--1+-", &[1, 1], 2, QuickTso),
            ("2-2-", &[2, 1], 2, Full),
            ("3-2--+-", &[2, 2], 4, FullTso),
        ],
        tight,
        tight,
    );
    let several_at_once = many::<Of<F>>(
        3,
        &[("++|2-", &[1], 2, Quick), ("3-2-", &[2], 4, QuickTso), ("3-2-", &[2, 1], 4, FullTso)],
        tight,
        tight,
    );
    let told = battery::<Of<F>>(
        &[("+", &[1], 1, Quick), ("+-2", &[1, 1], 2, Quick)],
        |row| client(row).told(),
        (program::<Tso, Of<F>>, program::<Loom, Of<F>>),
        tight,
        tight,
    );
    [one_by_one, several, at_once, several_at_once, told].concat()
}

fn dsq() -> Vec<Scenario> {
    let one_by_one = queue::<Dsq>(
        &[
            ("+|-", &[1], 1, Quick),
            ("+|+", &[1], 1, Quick),
            ("+++--", &[2], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("++|--", &[1, 1], 2, QuickTso),
            ("++-+--", &[2], 2, Full),
            ("+++-+--", &[2, 2], 3, FullTso),
        ],
        |_| dsq::Params::default(),
        |_| dsq::Params::default(),
    );
    let several = many::<Dsq>(
        2,
        &[("++|+-", &[1], 2, Quick), ("+++|---", &[2], 4, QuickTso), ("+++-+--", &[2, 2], 3, FullTso)],
        greedy,
        greedy,
    );
    let copied_later = queue::<Dsq>(
        &[
            ("+|+-", &[1], 1, Quick),
            ("++|+-", &[1, 1], 2, QuickTso),
            ("+++|+--", &[2], 2, QuickTso),
            ("+++-+-", &[2, 1], 2, Full),
        ],
        deferred,
        deferred,
    );
    [one_by_one, several, copied_later].concat()
}

fn hendler_shavit() -> Vec<Scenario> {
    let one_by_one = queue::<HendlerShavit>(
        &[
            ("++|-", &[1], 2, Quick),
            ("+|+-", &[1], 1, Quick),
            ("++--", &[2], 2, QuickTso),
            ("++|--", &[1, 1], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("++++--", &[2], 4, QuickTso),
            ("+++-+-", &[3], 2, QuickTso),
            ("++|+-+-", &[2, 1], 4, QuickTso),
            ("++++----", &[4], 4, Full),
            ("+++-+--+-", &[2, 2], 4, FullTso),
        ],
        |_| (),
        |_| (),
    );
    let several = many::<HendlerShavit>(
        4,
        &[
            ("++++|--", &[1], 4, Quick),
            ("++++-+-", &[2], 4, QuickTso),
            ("++++|-+-", &[1, 1], 4, QuickTso),
            ("+++-+--+-", &[2, 2], 4, FullTso),
        ],
        |_| (),
        |_| (),
    );
    [one_by_one, several].concat()
}

/// The split deque with policies other than the paper's.
fn lace() -> Vec<Scenario> {
    let half = many::<Lace>(
        3,
        &[
            ("+++|.-", &[2], 4, Quick),
            ("+++|.--", &[2, 1], 4, QuickTso),
            ("++++.---", &[3], 4, Full),
            ("+++.+--+-", &[2, 2], 4, FullTso),
        ],
        |_| Policies::default(),
        |_| Policies::default(),
    );
    let all = many::<Lace>(2, &[("++|.-+-", &[2], 2, QuickTso), ("+++|.+--", &[2, 1], 4, Full)], all, all);
    let one = queue::<Lace>(&[("+++|.-.-", &[2], 4, QuickTso), ("+++|.+--", &[2, 1], 4, Full)], one, one);
    let printed = queue::<Lace>(
        &[
            ("++|-", &[1], 2, Quick),
            ("++--", &[2], 2, Quick),
            ("++.", &[3], 2, Quick),
            ("++|--", &[1, 1], 2, QuickTso),
            ("+-+-", &[2], 1, QuickTso),
            ("+++.--", &[3], 4, QuickTso),
            ("++++++|.---", &[5], 8, QuickTso),
            ("+++-+-", &[3], 2, QuickTso),
            ("++++----", &[4], 4, Full),
            ("+++-+--+-", &[2, 2], 4, FullTso),
            ("++++-+---", &[2, 2], 4, FullTso),
        ],
        halves,
        halves,
    );
    let printed_all = many::<Lace>(2, &[("+++|.+--", &[2, 1], 4, Full)], halves_all, halves_all);
    [half, all, one, called("by half stores", [printed, printed_all].concat())].concat()
}
