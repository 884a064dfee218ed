//! A word queue for each worker, its handles dealt out; and how a thief of any queue tries.
//!
//! What must always hold: a thief that has tried leaves nothing behind that only it could take.

use std::sync::Arc;

use filch_memory::Native;
use filch_queue::{Owner, Progress, Queue, Steal, Stealable, Task, Thief};

/// Tries to take a task by `attempt`, and answers the worker's own thieves: stealing is what it does in every loop in which it waits.
///
/// Where thieves get nothing without an answer of the owner, waits for one a while, and then withdraws the request. Afterwards nothing
/// is outstanding that only this thief could take, so it may sleep, or run something else; where a request cannot be withdrawn, the
/// owner revokes what it has granted.
pub(crate) fn steal_by<Q: Queue<Native>>(
    owner: &mut Q::Owner,
    thief: &mut Q::Thief,
    mut attempt: impl FnMut(&mut Q::Thief) -> Steal<Task>,
) -> Steal<Task> {
    // Longer than it takes an owner that runs to come to its next fork, or to deal, on average; under Miri, where it may take any time,
    // no longer than a test can wait.
    const PATIENCE: u32 = if cfg!(miri) { 1 << 4 } else { 1 << 11 };
    const PAUSES: u32 = PATIENCE / 4;
    owner.poll();
    let mut stolen = attempt(thief);
    if matches!(Q::PROMISES.stealable, Stealable::OnRequest) {
        for round in 1..=PATIENCE {
            if stolen != Steal::Pending {
                return stolen;
            }
            if round % PAUSES == 0 {
                // The owner may be waiting for this processor, and can answer only while the request stands.
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            owner.poll();
            stolen = attempt(thief);
        }
        if stolen == Steal::Pending {
            stolen = thief.quiesce().map_or(Steal::Pending, Steal::Task);
        }
    }
    stolen
}

/// A worker's end of its own queue, and its thief handles on the others', by worker; its own place holds nothing.
pub(crate) type Hand<Q> = (<Q as Queue<Native>>::Owner, Vec<Option<<Q as Queue<Native>>::Thief>>);

/// A queue for each worker, and its handles dealt out, for tasks of any kind.
pub(crate) fn deal_any<Q: Queue<Native>>(workers: usize, capacity: usize, params: &Q::Params) -> Vec<Hand<Q>> {
    const {
        // One that has gone home, or waits for the thief.
        let waits = matches!(Q::PROMISES.steal_progress, Progress::WaitsForOwner);
        assert!(!waits, "a thief of the queue may wait for an owner that does not come back to it");
    };
    let mut thieves: Vec<Vec<Option<Q::Thief>>> = (0..workers).map(|_| Vec::with_capacity(workers)).collect();
    let owners: Vec<Q::Owner> = (0..workers)
        .map(|victim| {
            let (owner, handles) = Q::make(capacity, workers - 1, params);
            let mut handles = handles.into_iter();
            for (thief, row) in thieves.iter_mut().enumerate() {
                row.push(if thief == victim { None } else { handles.next() });
            }
            owner
        })
        .collect();
    owners.into_iter().zip(thieves).collect()
}

/// A queue for each worker, and one handle on each for all thieves.
pub(crate) fn deal_alike<Q: Queue<Native>>(
    workers: usize,
    capacity: usize,
    params: &Q::Params,
) -> (Vec<Q::Owner>, Arc<[Q::Thief]>) {
    assert!(Q::THIEVES_ALIKE, "each thief needs a handle of its own");
    let make = |_| Q::make(capacity, 1, params);
    let (owners, thieves): (Vec<Q::Owner>, Vec<Vec<Q::Thief>>) = (0..workers).map(make).unzip();
    (owners, thieves.into_iter().flatten().collect())
}
