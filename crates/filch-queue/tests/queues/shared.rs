//! Owners that do other work for long, and poll: thieves get all their tasks, down to the last.

use std::sync::Arc;

use filch_queue::{
    Adws, ChaseLev, Counts, Dsq, HendlerShavit, Lace, OneExposed, Owner, PadWs, PdqRAsync, Queue, Steal, Thief, Wsq,
    WsqPacked,
};

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
    let lefts: [(&str, Left); 14] = [
        ("dsq", left::<Dsq>),
        ("eager dsq", left::<EagerDsq>),
        ("hendler-shavit", left::<HendlerShavit>),
        ("lace", left::<Lace>),
        ("lace, all", left::<LaceAll>),
        ("lace, one", left::<LaceOne>),
        ("wsq", left::<Wsq>),
        ("wsq-packed", left::<WsqPacked>),
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

/// Each side counts in the worker's place that its handle was given.
#[test]
fn delegation_is_counted() {
    fn is_counted<Q: Queue>() {
        let [owners, first, second] = [(); 3].map(|()| Arc::new(Counts::default()));
        let (mut owner, mut thieves) = Q::make(8, 2, &Q::Params::default());
        owner.count_in(&owners);
        thieves[0].count_in(&first);
        thieves[1].count_in(&second);
        assert_eq!(thieves[0].steal(), Steal::Pending);
        owner.poll();
        (0..2).for_each(|n| owner.push(task(n)).expect("there is room"));
        // The answer was that there is nothing; it asks again.
        assert_eq!(thieves[0].steal(), Steal::Empty);
        owner.poll();
        owner.poll();
        assert_eq!(thieves[1].steal(), Steal::Task(task(0)));
        owner.poll();
        assert_eq!(owner.pop(), Some(task(1)));
        let counted = owners.read();
        assert_eq!((counted.polls, counted.declined, counted.grants, counted.revocations), (3, 1, 2, 1));
        assert_eq!((counted.retries, counted.crossings), (0, 0));
        assert_eq!((first.read().retries, first.read().crossings), (1, 0));
        assert_eq!((second.read().retries, second.read().crossings), (0, 1));
    }
    is_counted::<Adws>();
    is_counted::<PadWs>();
}
