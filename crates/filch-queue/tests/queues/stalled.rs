//! A thief that stops for good, at every point where it can, holds up nobody; when it goes on, no task is missing.

use std::sync::mpsc::channel;
use std::thread;

use filch_queue::{Delivery, Full, Owner, Progress, Queue, Stealable, Thief};

use crate::gated::{Gate, Gated, install, remove};
use crate::{number, task};

macro_rules! tests {
    ($queue:ty) => {
        #[test]
        fn stalled_thief() {
            $crate::run::<$queue, $crate::gated::Gated>($crate::stalled::stalled_thief::<$queue>);
        }
    };
}
pub(crate) use tests;

/// More than any steal takes.
const STEPS: usize = 64;

pub(crate) fn stalled_thief<Q: Queue<Gated>>() {
    // The memory with gates is made of locks: nothing that Miri could find would be the queue's.
    if Q::PROMISES.steal_progress != Progress::LockFree || cfg!(miri) {
        return;
    }
    let stalls = (0..STEPS).take_while(|&before| stall_before::<Q>(before)).count();
    assert!((1..STEPS).contains(&stalls), "a steal has some steps, and not many: {stalls}");
}

/// Stalls a thief before its given step; `false` if its steal has no such step.
fn stall_before<Q: Queue<Gated>>(before: usize) -> bool {
    const TASKS: usize = 64;
    let (mut owner, mut thieves) = Q::make(4, 2, &Q::Params::default());
    let mut other = thieves.remove(1);
    let mut thief = thieves.remove(0);
    let mut taken = Vec::new();

    for n in 0..4 {
        owner.push(task(n)).unwrap();
    }
    let (arrived, arrival) = channel();
    let (go_on, gate) = channel();
    let stalled = thread::spawn(move || {
        install(Gate { before, arrived, go_on: gate });
        let stolen = thief.steal().task();
        remove();
        stolen.into_iter().chain(core::iter::from_fn(|| thief.quiesce())).map(number).collect::<Vec<_>>()
    });
    let is_stalled = arrival.recv().is_ok();

    let mut stolen = 0;
    for n in 4..TASKS {
        owner.push(task(n)).unwrap_or_else(|Full(task)| taken.push(number(task)));
        if let Some(task) = other.steal().task() {
            taken.push(number(task));
            stolen += 1;
        }
        if n % 4 == 0 {
            taken.extend(owner.pop().map(number));
        }
    }
    taken.extend(core::iter::from_fn(|| owner.pop()).map(number));
    if Q::PROMISES.stealable != Stealable::AllButNewest {
        assert!(stolen > 0, "the other thief gets nothing");
    }

    drop(go_on);
    taken.extend(stalled.join().expect("the stalled thief panicked"));
    taken.extend(core::iter::from_fn(|| owner.pop()).map(number));
    taken.sort_unstable();
    if Q::PROMISES.delivery == Delivery::AtLeastOnce {
        taken.dedup();
    }
    assert!(taken.into_iter().eq(0..TASKS), "stalled before step {before}");
    is_stalled
}
