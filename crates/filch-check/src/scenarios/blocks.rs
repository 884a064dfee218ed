//! The scenarios of block-based and of delegating queues.

use std::num::{NonZeroU32, NonZeroUsize};

use filch_queue::{Adws, BlockSize, BwosF, BwosL, CrossTaking, Delegation, PadWs, Prefetch, Revocation, pad_ws};

use super::battery::{Row, called, queue};
use super::cost::Cost::{Full, FullTso, Quick, QuickTso};
use super::delegated;
use crate::Scenario;

fn entries(entries: usize) -> BlockSize {
    BlockSize::Entries(NonZeroUsize::new(entries).expect("a block has entries"))
}

/// Two blocks of two entries at capacity 2, and four of one entry at capacity 2, for the steps between blocks.
pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = Vec::new();
    let twos: &[Row] = &[
        ("+++|-", &[2], 2, Quick),
        ("+++|--+", &[2], 2, QuickTso),
        ("++|+-", &[2], 2, Quick),
        ("+++--", &[2], 2, QuickTso),
        ("+++|-+-", &[1, 1], 2, QuickTso),
        ("+++|+++", &[3], 2, QuickTso),
        ("+++|-++--", &[2, 1], 2, QuickTso),
        ("++-++--+", &[2, 1], 2, QuickTso),
        ("+++|--++-", &[3], 2, Full),
        ("+++--++--", &[2, 2], 2, FullTso),
        ("++++++---", &[2, 2], 2, FullTso),
    ];
    let ones: &[Row] = &[
        ("++|-", &[1, 1], 1, Quick),
        // A block returns to its old state.
        ("++|--++", &[1], 2, Quick),
        ("+++|--+", &[2], 2, QuickTso),
        ("++++|-+", &[3], 2, QuickTso),
        ("++-+-+", &[2], 1, QuickTso),
        ("+++|-+-+", &[1, 1], 2, QuickTso),
        ("++++--++", &[2, 1], 2, FullTso),
    ];
    all.extend(called("in twos", queue::<BwosL>(twos, |_| entries(2), |_| entries(2))));
    all.extend(called("in ones", queue::<BwosL>(ones, |_| entries(1), |_| entries(1))));
    all.extend(called("in twos", queue::<BwosF>(twos, |_| entries(2), |_| entries(2))));
    all.extend(called("in ones", queue::<BwosF>(ones, |_| entries(1), |_| entries(1))));

    let small: &[Row] = &[
        ("+|.", &[2], 1, Quick),
        ("+|.-", &[2], 2, Quick),
        ("+|..-", &[1, 1], 2, QuickTso),
        ("++-.-", &[2], 2, QuickTso),
        ("+|+.-+", &[3], 2, QuickTso),
        ("+++|--", &[2], 2, QuickTso),
        ("+++|.-+-", &[2], 2, QuickTso),
        ("++|-+-", &[2, 1], 2, FullTso),
        ("++-+++--", &[3], 2, FullTso),
        ("+++-++---", &[4], 2, FullTso),
    ];
    all.extend(called("in twos", queue::<PadWs>(small, |_| pad(2, plain()), |_| pad(2, plain()))));
    all.push(delegated::of(pad(2, plain())));
    // Delegation uses up a block while a lower one is open.
    let ones: &[Row] = &[
        ("+++", &[1], 2, Quick),
        ("++|--++", &[1], 2, Quick),
        ("++|.+--", &[2], 2, QuickTso),
        ("+++|.+---", &[1], 2, QuickTso),
        ("++|.++--", &[3], 2, FullTso),
        ("+++|.+--", &[2, 1], 2, FullTso),
    ];
    all.extend(called("in ones, eager", queue::<PadWs>(ones, |_| pad(1, eager()), |_| pad(1, eager()))));
    let eager_rows: &[Row] =
        &[("+|.-", &[1, 1], 2, QuickTso), ("++|-+-", &[2], 2, QuickTso), ("++|.-+-", &[2, 1], 2, FullTso)];
    all.extend(called("in twos, eager", queue::<PadWs>(eager_rows, |_| pad(2, eager()), |_| pad(2, eager()))));
    let reserved: &[Row] =
        &[("++|.-", &[2], 2, QuickTso), ("+|+.-+", &[2, 1], 2, QuickTso), ("+++|-.+-", &[3], 2, FullTso)];
    all.extend(called("in twos, reserved", queue::<PadWs>(reserved, |_| pad(2, strict()), |_| pad(2, strict()))));

    let rung: &[Row] = &[("+|.-", &[1, 1], 2, QuickTso), ("++|.-", &[2, 1], 2, FullTso)];
    all.extend(called("in twos, by a bell", queue::<PadWs>(rung, |_| pad(2, by_bell()), |_| pad(2, by_bell()))));

    let small: &[Row] = &[
        ("+|.", &[2], 1, Quick),
        ("+|.-", &[2], 1, Quick),
        ("+.", &[1, 1], 1, Quick),
        ("+|.+", &[2], 1, QuickTso),
        ("+|.-", &[1, 1], 1, QuickTso),
        ("++-.-", &[2], 2, QuickTso),
        ("+|.+.+", &[3], 1, QuickTso),
        ("++|.+-+", &[3], 2, Full),
        ("++|-+-", &[2, 1], 2, FullTso),
        ("++|.+-+-", &[2, 2], 2, FullTso),
    ];
    all.extend(queue::<Adws>(small, |_| plain(), |_| plain()));
    let eager_rows: &[Row] = &[("+|..+", &[2, 1], 1, FullTso), ("++|.+", &[2, 1], 2, FullTso)];
    all.extend(called("eager", queue::<Adws>(eager_rows, |_| eager(), |_| eager())));
    let reserved: &[Row] = &[("++|.-", &[2], 2, QuickTso), ("+|.+-", &[2], 1, QuickTso)];
    all.extend(called("reserved", queue::<Adws>(reserved, |_| strict(), |_| strict())));
    let rung: &[Row] = &[("+|.", &[1, 1], 1, Quick), ("++|..", &[2, 1], 2, QuickTso)];
    all.extend(called("by a bell", queue::<Adws>(rung, |_| by_bell(), |_| by_bell())));
    all
}

fn plain() -> Delegation {
    Delegation::default()
}

/// Thieves ask all the time and look everywhere.
fn eager() -> Delegation {
    Delegation { cross_taking: CrossTaking::Each, prefetch: Prefetch::Always, ..plain() }
}

/// A granted task is for its thief alone; the owner keeps one task and polls for requests only now and then.
fn strict() -> Delegation {
    Delegation {
        cross_taking: CrossTaking::Off,
        revocation: Revocation::Off,
        keep: 1,
        poll_every: NonZeroU32::new(2).expect("two"),
        ..plain()
    }
}

/// The thieves' bits are in several words.
fn by_bell() -> Delegation {
    Delegation { thieves_per_word: NonZeroU32::MIN, ..plain() }
}

fn pad(size: usize, delegation: Delegation) -> pad_ws::Params {
    pad_ws::Params { block_size: entries(size), delegation }
}
