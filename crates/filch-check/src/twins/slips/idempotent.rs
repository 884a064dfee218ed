//! Mistakes in the idempotent pools.

use filch_queue::{IdempotentDeque, IdempotentFifo, IdempotentLifo, Queue};

use super::GROWING;
use crate::harm::Harm;
use crate::scenarios::queues::Client;
use crate::sites::{Place, Slip};
use crate::tso::Tso;
use crate::twins::mutant::{Mutant, slip};

const LIFO: &str = "filch-queue/src/idempotent/lifo.rs";
const FIFO: &str = "filch-queue/src/idempotent/fifo.rs";
const DEQUE: &str = "filch-queue/src/idempotent/deque.rs";

/// Mistakes of a put, which fills a slot, grows the array, and announces the task.
fn puts<Q: Queue<Tso, Params: Default>>(slot: Place<'_>, announces: Place<'_>) -> Vec<Mutant> {
    vec![
        slip::<Q>(
            "anchor-before-slot",
            Slip::swapped(slot, announces),
            Client::new(1, 0, "+", &[1]),
            Harm::Panic,
            "a thief takes a task that is not there yet",
        ),
        slip::<Q>(
            "array-before-copy",
            Slip::swapped((GROWING, "grow", "new.write"), (GROWING, "grow", "current.store")),
            Client::new(1, 1, "+", &[1]),
            Harm::Panic,
            "a thief reads the new array before its task has been copied",
        ),
    ]
}

fn no_tag<Q: Queue<Tso, Params: Default>>(announces: Place<'_>) -> Mutant {
    slip::<Q>(
        "no-tag",
        Slip::altered(announces, |anchor| anchor - 1),
        Client::new(1, 1, "-+", &[1]),
        Harm::Lost,
        "a thief sleeps while the slot is emptied and filled again, and takes the old task for the new one",
    )
}

pub(super) fn mutants() -> Vec<Mutant> {
    let lifo = (LIFO, "push", "anchor.store");
    let deque = (DEQUE, "push", "anchor.store");
    let mut all = puts::<IdempotentLifo>((LIFO, "push", "array().publish"), lifo);
    all.push(no_tag::<IdempotentLifo>(lifo));
    all.extend(puts::<IdempotentDeque>((DEQUE, "push", "ring().publish"), deque));
    all.push(no_tag::<IdempotentDeque>(deque));
    all.push(slip::<IdempotentDeque>(
        "reduced-head",
        Slip::altered((DEQUE, "steal", "compare_exchange"), |anchor| anchor & !(2 << 44)),
        Client::new(2, 2, "++", &[2, 1]),
        Harm::Lost,
        "head is kept modulo the size of the old array, and the next thief looks there in the new one",
    ));
    all.extend(puts::<IdempotentFifo>((FIFO, "push", "ring().publish"), (FIFO, "push", "tail.store")));
    all.push(slip::<IdempotentFifo>(
        "overfull-by-one",
        Slip::altered((FIFO, "head", "head.load"), |head| head + 1),
        Client::new(1, 0, "++", &[]),
        Harm::Lost,
        "a put overwrites the oldest task",
    ));
    all
}
