//! One or two thieves that stop at any point block no other thread. When they continue, after several laps of the
//! others, no task is missing, and the queue is as good as new.

use std::sync::mpsc::channel;
use std::thread;

use filch_queue::as_new::Trial;
use filch_queue::{Delivery, Full, Owner, Progress, Queue, Stealable, Thief};

use crate::gated::{Gate, Gated, install, remove};
use crate::{answers_waiting, number, task};

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
    match Q::PROMISES.steal_progress {
        // The memory with gates consists of locks: nothing that Miri could find would be the queue's fault.
        _ if cfg!(miri) => {}
        Progress::LockFree => stalls::<Q>(false),
        // An attempt asks, and the next one collects.
        Progress::OwnerDependent => [false, true].into_iter().for_each(stalls::<Q>),
        Progress::Blocking | Progress::WaitsForOwner => {}
    }
}

fn stalls<Q: Queue<Gated>>(has_asked: bool) {
    let steps = (0..STEPS).take_while(|&before| stall::<Q>(&[before], has_asked)).count();
    assert!((1..STEPS).contains(&steps), "the number of steps of a steal: {steps}");
    for first in 0..steps {
        for second in 0..steps {
            stall::<Q>(&[first, second], has_asked);
        }
    }
}

/// Stalls thieves, each before the given step; returns whether the steals had all these steps.
fn stall<Q: Queue<Gated>>(before: &[usize], has_asked: bool) -> bool {
    const TASKS: usize = 64;
    const CAPACITY: usize = 4;
    let params = Q::Params::default();
    let (mut owner, mut thieves) = Q::make(CAPACITY, before.len() + 1, &params);
    let mut other = thieves.pop().expect("there is one more");
    let mut taken = Vec::new();

    for n in 0..CAPACITY {
        owner.push(task(n)).unwrap();
    }
    let stalled: Vec<_> = before
        .iter()
        .zip(thieves)
        .map(|(&before, mut thief)| {
            if has_asked {
                taken.extend(thief.steal().task().map(number));
                owner.poll();
            }
            let (arrived, arrival) = channel();
            let (go_on, gate) = channel();
            let thread = thread::spawn(move || {
                install(Gate { before, arrived, go_on: gate });
                let stolen = thief.steal().task();
                remove();
                (thief, stolen)
            });
            // One after the other, so that runs are reproducible.
            let is_stalled = arrival.recv().is_ok();
            (thread, go_on, is_stalled)
        })
        .collect();
    let are_stalled = stalled.iter().all(|&(_, _, is_stalled)| is_stalled);

    let mut stolen = 0;
    for n in CAPACITY..TASKS {
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
    if Q::PROMISES.stealable != Stealable::AllButNewest && !Q::PROMISES.answers_by_clock {
        assert!(stolen > 0, "the other thief gets nothing");
    }

    let mut thieves = vec![other];
    for (thread, go_on, _) in stalled {
        drop(go_on);
        let (thief, stolen) = thread.join().expect("the stalled thief panicked");
        taken.extend(stolen.map(number));
        thieves.push(thief);
    }
    answers_waiting::<Q, _>(&mut owner);
    for _ in 0..thieves.len() {
        taken.extend(thieves.iter_mut().flat_map(|thief| core::iter::from_fn(|| thief.quiesce())).map(number));
        taken.extend(core::iter::from_fn(|| owner.pop()).map(number));
        owner.poll();
    }
    taken.sort_unstable();
    if Q::PROMISES.delivery == Delivery::AtLeastOnce {
        taken.dedup();
    }
    assert!(taken.into_iter().eq(0..TASKS), "stalled before {before:?}");
    if !Q::PROMISES.answers_by_clock {
        Trial::new::<Q, Gated>(CAPACITY, &params).passes(&mut owner, &mut thieves);
    }
    are_stalled
}
