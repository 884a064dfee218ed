//! PadWS delegates in the owner's block alone: a thief that collects a grant looks for an open block before it asks.
//!
//! Invariant: while a block is open, its tasks go to thieves without the owner, which grants nothing.

use std::sync::{Arc, Mutex};

use filch_queue::{Counts, Owner, PadWs, Queue, Steal, Thief, pad_ws};

use super::cost::{Cost, scenario};
use super::queues::{lock, task};
use crate::Program;
use crate::c11::Loom;
use crate::scenario::{Checker, Scenario};
use crate::tso::Tso;

/// What the threads do.
pub const CLIENT: &str = "a grant below an open block";

/// Returns a program in which a thief collects the first task of a block that has been opened since, while the owner,
/// in the next block, polls and pushes.
///
/// # Panics
/// If blocks do not have two entries.
pub fn program<M: Checker>(params: &pad_ws::Params) -> Program {
    let (mut owner, mut thieves) = <PadWs as Queue<M>>::make(4, 1, params);
    let mut thief = thieves.remove(0);
    let counts = Arc::new(Counts::default());
    owner.count_in(&counts);
    let push = |owner: &mut pad_ws::Owner<M>, id| assert!(owner.push(task(id)).is_ok(), "there is room");
    push(&mut owner, 1);
    assert_eq!(thief.steal(), Steal::Pending);
    owner.poll();
    assert_eq!(counts.grants.get(), 1, "the only task is in the owner's block");
    // The third task leaves the block of the first two.
    (2..=3).for_each(|id| push(&mut owner, id));
    let ended = Arc::new((Mutex::new(None), Mutex::new(None)));
    let [first, second] = [0; 2].map(|_| Arc::clone(&ended));
    let own = move || {
        owner.poll();
        push(&mut owner, 4);
        *lock(&first.0) = Some(owner);
    };
    let steal = move || {
        assert_eq!(thief.steal(), Steal::Task(task(1)), "it was granted");
        *lock(&second.1) = Some(thief);
    };
    Program {
        threads: vec![("owner".into(), Box::new(own)), ("thief".into(), Box::new(steal))],
        finally: Box::new(move || {
            assert_eq!(counts.grants.get(), 1, "the owner granted a task while an older block was open");
            let mut owner = lock(&ended.0).take().expect("the owner has ended");
            let mut thief = lock(&ended.1).take().expect("the thief has ended");
            assert_eq!(thief.steal(), Steal::Task(task(2)), "the rest of the open block");
            let popped: Vec<_> = std::iter::from_fn(|| owner.pop()).collect();
            assert_eq!(popped, [task(4), task(3)], "what the thief has left");
        }),
    }
}

/// Returns the scenario, for blocks of two entries.
pub(super) fn of(params: pad_ws::Params) -> Scenario {
    scenario("padws", CLIENT, Cost::Quick, move || program::<Tso>(&params), move || program::<Loom>(&params))
}
