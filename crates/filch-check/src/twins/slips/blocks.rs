//! Mistakes in the queues of blocks, BWoS and PadWS, and in the one that grants its tasks: ADWS.

use core::num::NonZeroUsize;

use filch_queue::{Adws, BlockSize, BwosF, BwosL, PadWs, pad_ws};

use crate::harm::Harm;
use crate::scenarios::delegated;
use crate::scenarios::queues::Client;
use crate::sites::Slip;
use crate::tso::Tso;
use crate::twins::mutant::{Mutant, buffer, slip, slipped, slipped_protocol};

const BLOCKS: &str = "filch-queue/src/blocks.rs";
const BWOS_F: &str = "filch-queue/src/bwos_f.rs";
const PAD_WS: &str = "filch-queue/src/pad_ws.rs";
const ADWS: &str = "filch-queue/src/adws.rs";
const DELEGATION: &str = "filch-queue/src/delegation.rs";

pub(super) fn mutants() -> Vec<Mutant> {
    [bwos_l(), padws(), bwos_f(), adws()].concat()
}

/// Blocks of so many entries.
fn of(entries: usize) -> BlockSize {
    BlockSize::Entries(NonZeroUsize::new(entries).expect("a block has entries"))
}

fn bwos_l() -> Vec<Mutant> {
    let row = |name, slip, entries, client, harm, shows| {
        slipped::<BwosL>((name, slip), &of(entries), client, buffer(0), harm, shows)
    };
    vec![
        row(
            "reclaimed-without-done",
            Slip::altered((BLOCKS, "is_settled", "done.load"), |_| 1),
            1,
            Client::new(1, 2, "+", &[1]),
            Harm::Lost,
            "the owner writes an entry that a thief has won and not copied",
        ),
        row(
            "opened-from-zero",
            Slip::altered((BLOCKS, "leave_open", "spos.store"), |mark| mark >> 32 << 32),
            2,
            Client::new(2, 3, "--++---", &[1]),
            Harm::Twice,
            "a block that the owner took back in part is opened with what thieves have taken of it",
        ),
        row(
            "takeover-by-store",
            Slip::by_store((BLOCKS, "take_over", "spos.swap")),
            1,
            Client::new(1, 2, "--", &[1]),
            Harm::Twice,
            "a steal between the owner's load and its store is undone",
        ),
        row(
            "done-before-copy",
            Slip::swapped((BLOCKS, "steal", "entries.read"), (BLOCKS, "steal", "done.fetch_add")),
            1,
            Client::new(1, 2, "+", &[1]),
            Harm::Lost,
            "the owner writes an entry that a thief says it has copied, and has not",
        ),
    ]
}

fn padws() -> Vec<Mutant> {
    let in_blocks = |entries| pad_ws::Params { block_size: of(entries), ..pad_ws::Params::default() };
    let row = |name, slip, entries, client, harm, shows| {
        slipped::<PadWs>((name, slip), &in_blocks(entries), client, buffer(0), harm, shows)
    };
    let twos = in_blocks(2);
    vec![
        slipped_protocol(
            "padws",
            // The block above the open one.
            ("asked-without-looking", Slip::altered((BLOCKS, "oldest_open", "sblk.load"), |sblk| sblk + 1).by(1)),
            delegated::CLIENT,
            Harm::Panic,
            "the owner grants a task of its own block while an older block is open",
            move || delegated::program::<Tso>(&twos),
        ),
        row(
            "reset-without-done",
            Slip::altered((BLOCKS, "is_settled", "done.load"), |_| 1),
            1,
            Client::new(1, 1, ".+", &[2]),
            Harm::Lost,
            "a granted entry is written again before it is copied",
        ),
        row(
            "no-skip",
            // The block below the one that the owner is in when it pops.
            Slip::altered((BLOCKS, "open_below", "sblk.load"), |_| 6),
            1,
            Client::new(3, 3, ".+---", &[1]),
            Harm::Lost,
            "a block that was granted as a whole hides an open one below it",
        ),
        row(
            "asked-too-early",
            // In the place of an answer that has yet to come, that the request is settled.
            Slip::altered(
                (PAD_WS, "collect", "desk.answer"),
                |answer| if answer >> 32 == 0 { 1 << 32 } else { answer },
            ),
            2,
            Client::new(2, 2, "..", &[2]),
            Harm::Lost,
            "the answer to the second request overwrites that to the first, which nobody has taken",
        ),
    ]
}

fn bwos_f() -> Vec<Mutant> {
    let row = |name, slip, (before, owner, thieves): (usize, &str, &[usize]), harm, shows| {
        let client = Client::new(1, before, owner, thieves);
        slipped::<BwosF>((name, slip), &of(1), client, buffer(0), harm, shows)
    };
    vec![
        row(
            "committed-before-entry",
            Slip::swapped((BWOS_F, "push", "entries.write"), (BWOS_F, "push", "committed.store")),
            (1, "+", &[1]),
            Harm::Panic,
            "a thief reads an entry that is counted and not written",
        ),
        row(
            "reclaimed-without-stolen",
            Slip::altered((BWOS_F, "begin_block", "stolen.load"), |mark| mark >> 32 << 32 | 1),
            (2, "-+-+", &[1]),
            Harm::Lost,
            "the owner writes an entry that a thief has won and not copied",
        ),
        row(
            "takeover-by-store",
            Slip::by_store((BWOS_F, "take_over", "reserved.swap")),
            (2, "--", &[1]),
            Harm::Twice,
            "a steal between the owner's load and its store is undone",
        ),
        row(
            "not-topped-up",
            Slip::left_out((BWOS_F, "take_over", "stolen.fetch_add")),
            (2, "--+-", &[]),
            Harm::NoRoom,
            "a block that the owner has taken over never counts as copied, and is never used again",
        ),
    ]
}

/// An answer, with the kind that says that its task is taken.
fn as_taken(answer: u64) -> u64 {
    answer & !(3 << 30)
}

/// The same of one that says that it is being copied.
fn copying_as_taken(answer: u64) -> u64 {
    if answer >> 30 & 3 == 3 { as_taken(answer) } else { answer }
}

fn adws() -> Vec<Mutant> {
    let row = |name, slipped, capacity, owner, thieves: &[usize], shows| {
        slip::<Adws>(name, slipped, Client::new(capacity, 1, owner, thieves), Harm::Lost, shows)
    };
    vec![
        row(
            "cells-ignored",
            Slip::altered((ADWS, "make_room", "desk.answer"), as_taken),
            1,
            ".+",
            &[2],
            "a push overwrites a task that was granted and not taken",
        ),
        row(
            "copying-ignored",
            Slip::altered((ADWS, "make_room", "desk.answer"), copying_as_taken),
            1,
            ".+",
            &[2],
            "a push overwrites a task that is being copied",
        ),
        row(
            "no-copying",
            Slip::altered((DELEGATION, "take", "compare_exchange"), as_taken),
            1,
            ".+",
            &[2],
            "a push overwrites a task that counts as taken and has not been copied",
        ),
        row(
            "ended-while-copying",
            Slip::altered((ADWS, "collect", "desk.answer"), copying_as_taken),
            2,
            ".+.",
            &[2, 2],
            "the end of the copy overwrites the answer to the next request",
        ),
    ]
}
