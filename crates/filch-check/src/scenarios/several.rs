//! The scenarios of queues whose thieves can take several tasks at once.

use filch_queue::dsq::{self, Contention, Copying};
use filch_queue::lace::{Moves, Policies};
use filch_queue::wsq::{self, Form, Of, Packed, Source};
use filch_queue::{Amount, Dsq, HendlerShavit, Lace};

use super::battery::{called, many, queue};
use super::cost::Cost::{Full, FullTso, Quick, QuickTso};
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
    [wsq::<Source>(), wsq::<Packed>(), dsq(), hendler_shavit(), lace()].concat()
}

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
    [one_by_one, several].concat()
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
