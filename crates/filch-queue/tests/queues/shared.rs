//! Owners that do other work for long, and poll: thieves get all their tasks, down to the last.

use filch_queue::{Adws, ChaseLev, Dsq, HendlerShavit, Lace, OneExposed, Owner, PdqRAsync, Queue, Steal, Thief, Wsq};

use crate::tuned::{EagerAdws, EagerDsq, LaceAll, LaceOne, TightWsq};
use crate::{number, task};

/// Returns the tasks left of `tasks` when a thief steals and the owner polls in turn.
fn left<Q: Queue>(tasks: usize) -> Vec<usize> {
    // More than a thief needs that has to ask first.
    const LOOKS: usize = 4;
    let (mut owner, mut thieves) = Q::make(16, 1, &Q::Params::default());
    (0..tasks).for_each(|n| owner.push(task(n)).expect("there is room"));
    let mut failures = 0;
    while failures < LOOKS {
        failures = if let Steal::Task(_) = thieves[0].steal() { 0 } else { failures + 1 };
        owner.poll();
    }
    core::iter::from_fn(|| owner.pop()).map(number).collect()
}

#[test]
fn an_owner_that_polls_keeps_nothing() {
    type Left = fn(usize) -> Vec<usize>;
    let lefts: [(&str, Left); 13] = [
        ("dsq", left::<Dsq>),
        ("eager dsq", left::<EagerDsq>),
        ("hendler-shavit", left::<HendlerShavit>),
        ("lace", left::<Lace>),
        ("lace, all", left::<LaceAll>),
        ("lace, one", left::<LaceOne>),
        ("wsq", left::<Wsq>),
        ("tight wsq", left::<TightWsq>),
        ("one-exposed", left::<OneExposed>),
        ("adws", left::<Adws>),
        ("eager adws", left::<EagerAdws>),
        ("pdq-r-async", left::<PdqRAsync>),
        ("chase-lev", left::<ChaseLev>),
    ];
    for tasks in 1..=9 {
        for (name, left) in lefts {
            assert_eq!(left(tasks), [], "{name}, {tasks} tasks");
        }
    }
}
