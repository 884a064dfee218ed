//! Mistakes in the deques whose owner fences or has its thieves do it: THE, ABP, Chase–Lev, and that with an asymmetric
//! fence.

use filch_queue::{Abp, ChaseLev, ChaseLevAsym, The};

use super::{GROWING, SPIN_LOCK, THE};
use crate::harm::Harm;
use crate::scenarios::{queues::Client, tree};
use crate::sites::Slip;
use crate::tso::Tso;
use crate::twins::mutant::{Mutant, buffer, slip, slipped_protocol};

const ABP: &str = "filch-queue/src/abp.rs";
const CHASE_LEV: &str = "filch-queue/src/chase_lev.rs";
const ASYM: &str = "filch-queue/src/chase_lev_asym.rs";

/// The same mutant with store buffers of one entry.
fn on_buffer(mutant: Mutant) -> Mutant {
    Mutant { processor: buffer(1), ..mutant }
}

pub(super) fn mutants() -> Vec<Mutant> {
    [the(), abp(), chase_lev(), chase_lev_asym()].concat()
}

fn the() -> Vec<Mutant> {
    vec![
        on_buffer(slip::<The>(
            "no-fence-in-pop",
            Slip::left_out((THE, "pop", "M::fence")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "pop's load of H overtakes its store of T, and neither side sees the other",
        )),
        on_buffer(slip::<The>(
            "no-fence-in-steal",
            Slip::left_out((THE, "steal", "M::fence")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief's load of T overtakes its store of H, and neither side sees the other",
        )),
        slip::<The>(
            "no-spare-slot",
            Slip::altered((THE, "make_room", "index.load"), |head| head + 1),
            Client::new(1, 0, "+++", &[1]),
            Harm::Lost,
            "a push goes by a claim that is given back, and overwrites the oldest task",
        ),
        slip::<The>(
            "slot-after-unlock",
            Slip::swapped((THE, "steal", "ring.read"), (SPIN_LOCK, "drop", "locked.store")),
            Client::new(1, 1, "++", &[1, 1]),
            Harm::Lost,
            "the slot is used again before the thief has read it",
        ),
        slip::<The>(
            "conflict-off-by-one",
            Slip::altered((THE, "head_of_pop", "index.load"), |head| head.wrapping_sub(1)),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "the owner sees a thief's claim one task too late, and both take the last",
        ),
        slip::<The>(
            "head-first",
            Slip::swapped((THE, "pop", "tail.store"), (THE, "head_of_pop", "index.load")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "the owner looks for claims before it raises its flag",
        ),
    ]
}

fn abp() -> Vec<Mutant> {
    vec![
        on_buffer(slip::<Abp>(
            "no-fence-in-pop",
            Slip::left_out((ABP, "pop", "M::fence")),
            Client::new(2, 2, "-", &[2]),
            Harm::Twice,
            "pop's load of top overtakes its store of bot, and owner and thief take one task",
        )),
        slip::<Abp>(
            "no-tag",
            Slip::altered((ABP, "reset", "age.swap"), |age| age - (1 << 32)),
            Client::new(1, 1, "-+", &[1]),
            Harm::Twice,
            "a thief sleeps while the deque is emptied and filled again, and takes the old task at the new top",
        ),
        slip::<Abp>(
            "bot-after-age",
            Slip::swapped((ABP, "reset", "bot.store"), (ABP, "reset", "age.swap")),
            Client::new(2, 2, "-", &[2]),
            Harm::Twice,
            "between the two stores of a reset, a thief finds tasks that have all been taken",
        ),
        slip::<Abp>(
            "bot-before-slot",
            Slip::swapped((ABP, "push", "deq.write"), (ABP, "push", "bot.store")),
            Client::new(1, 0, "+", &[1]),
            Harm::Panic,
            "a thief takes a task that is not there yet",
        ),
    ]
}

fn chase_lev() -> Vec<Mutant> {
    vec![
        on_buffer(slip::<ChaseLev>(
            "no-fence-in-pop",
            Slip::left_out((CHASE_LEV, "pop", "M::fence")),
            Client::new(2, 2, "-", &[2]),
            Harm::Twice,
            "pop's load of top overtakes its store of bottom, and owner and thief take one task",
        )),
        Mutant {
            processor: buffer(4),
            ..slipped_protocol(
                "chase-lev",
                ("no-fence-in-pop-of-a-tree", Slip::left_out((CHASE_LEV, "pop", "M::fence"))),
                "two neighbours, two workers",
                Harm::Panic,
                "each worker looks for the parent of the other's vertex while the other's store of it waits in a store buffer",
                tree::neighbours::<Tso, ChaseLev>,
            )
        },
        slip::<ChaseLev>(
            "no-swap-for-last",
            Slip::left_out((CHASE_LEV, "pop_last", "compare_exchange")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief that has seen the last task swaps top after the owner has taken it",
        ),
        slip::<ChaseLev>(
            "overfull-by-one",
            Slip::altered((CHASE_LEV, "make_room", "top.load"), |top| top + 1),
            Client::new(1, 0, "++", &[]),
            Harm::Lost,
            "a push overwrites the oldest task",
        ),
        slip::<ChaseLev>(
            "top-first",
            Slip::swapped((CHASE_LEV, "pop", "bottom.store"), (CHASE_LEV, "pop", "top.load")),
            Client::new(2, 2, "-", &[2]),
            Harm::Twice,
            "pop goes by a top that thieves have left behind, and takes the last task without a swap",
        ),
        slip::<ChaseLev>(
            "bottom-first",
            Slip::swapped((CHASE_LEV, "steal_if", "top.load"), (CHASE_LEV, "steal_if", "bottom.load")),
            Client::new(2, 2, "--", &[1]),
            Harm::Twice,
            "a thief goes by a bottom that the owner has left behind",
        ),
        slip::<ChaseLev>(
            "published-before-copy",
            Slip::swapped((GROWING, "grow", "new.write"), (GROWING, "grow", "current.store")),
            Client::new(1, 1, "+", &[1]),
            Harm::Panic,
            "a thief reads the new array before its task has been copied",
        ),
    ]
}

fn chase_lev_asym() -> Vec<Mutant> {
    vec![
        on_buffer(slip::<ChaseLevAsym>(
            "no-heavy-barrier",
            Slip::left_out((ASYM, "steal", "M::heavy_barrier")),
            Client::new(2, 2, "-", &[2]),
            Harm::Twice,
            "pop's load of top overtakes its store of bottom, and owner and thief take one task",
        )),
        on_buffer(slip::<ChaseLevAsym>(
            "barrier-first",
            Slip::swapped((ASYM, "steal", "shared.top.load"), (ASYM, "steal", "M::heavy_barrier")),
            Client::new(2, 2, "-", &[1, 1]),
            Harm::Twice,
            "the barrier is over when pop stores bottom, and a thief goes by a top that pop did not see",
        )),
        slip::<ChaseLevAsym>(
            "no-swap-for-last",
            Slip::left_out((ASYM, "pop_last", "compare_exchange")),
            Client::new(1, 1, "-", &[1]),
            Harm::Twice,
            "a thief that has seen the last task swaps top after the owner has taken it",
        ),
    ]
}
