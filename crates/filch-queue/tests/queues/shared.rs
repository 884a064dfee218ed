//! Owners that do other work for long, and poll: thieves get all their tasks, down to the last.

use core::num::NonZeroUsize;
use std::sync::Arc;
#[cfg(feature = "std")]
use std::time::Duration;

#[cfg(feature = "std")]
use filch_queue::lace::{Moves, Policies};
use filch_queue::{
    Adws, BlockSize, ChaseLev, Counts, Dsq, HendlerShavit, Lace, OneExposed, Owner, PadWs, PdqR, PdqR2, PdqR2Async,
    PdqRAsync, Queue, Steal, StealMany, Task, Thief, Wsq, WsqPacked, pad_ws,
};
#[cfg(feature = "std")]
use filch_queue::{
    Amount, PdqS, PdqSAtOnce, PdqSOneStep, PdqSTold,
    pdq::{one_step, sender},
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

/// Delegation is for the owner's block: a thief that has collected does not ask while another block is open.
#[test]
fn an_owner_grants_nothing_while_an_older_block_is_open() {
    let counts = Arc::new(Counts::default());
    let params =
        pad_ws::Params { block_size: BlockSize::Entries(NonZeroUsize::MIN.saturating_add(1)), ..Default::default() };
    let (mut owner, mut thieves) = <PadWs as Queue>::make(8, 1, &params);
    let thief = &mut thieves[0];
    owner.count_in(&counts);
    owner.push(task(0)).expect("there is room");
    assert_eq!(thief.steal(), Steal::Pending);
    // This push grants the first task, and the last two open the blocks of the first four.
    (1..5).for_each(|n| owner.push(task(n)).expect("there is room"));
    for n in 0..4 {
        assert_eq!((thief.steal(), counts.grants.get()), (Steal::Task(task(n)), 1));
        owner.poll();
    }
    // Nothing is open any more.
    assert_eq!(thief.steal(), Steal::Pending);
    owner.poll();
    assert_eq!((thief.steal(), counts.grants.get()), (Steal::Task(task(4)), 2));
}

#[test]
fn answers_to_requests_are_counted() {
    fn is_counted<Q: Queue>() {
        let counts = Arc::new(Counts::default());
        let (mut owner, mut thieves) = Q::make(8, 1, &Q::Params::default());
        owner.count_in(&counts);
        owner.poll();
        owner.push(task(0)).expect("there is room");
        assert_eq!(thieves[0].steal(), Steal::Pending);
        assert_eq!(owner.pop(), Some(task(0)));
        assert_eq!(thieves[0].steal(), Steal::Empty);
        owner.push(task(1)).expect("there is room");
        assert_eq!(thieves[0].steal(), Steal::Pending);
        owner.poll();
        let counted = counts.read();
        assert_eq!((counted.polls, counted.declined, counted.grants), (2, 1, 1), "{}", Q::PROMISES.name);
        assert_eq!(thieves[0].steal(), Steal::Task(task(1)));
    }
    is_counted::<PdqR>();
    is_counted::<PdqR2>();
    is_counted::<PdqRAsync>();
    is_counted::<PdqR2Async>();
}

#[test]
fn moves_of_the_split_point_are_counted() {
    let counts = Arc::new(Counts::default());
    let (mut owner, mut thieves) = <Lace as Queue>::make(8, 1, &Default::default());
    owner.count_in(&counts);
    (0..4).for_each(|n| owner.push(task(n)).expect("there is room"));
    assert_eq!(counts.read().grows, 0, "the first task is shared because there is no other");
    assert_eq!(thieves[0].steal(), Steal::Task(task(0)));
    assert_eq!(thieves[0].steal(), Steal::Empty);
    owner.poll();
    assert_eq!((counts.read().grows, counts.read().shrinks), (1, 0));
    // Two of the three are shared, and the owner takes back one, and then the last one.
    assert_eq!([owner.pop(), owner.pop(), owner.pop()], [Some(task(3)), Some(task(2)), Some(task(1))]);
    assert_eq!((counts.read().grows, counts.read().shrinks), (1, 2));
    assert_eq!((owner.pop(), counts.read().shrinks), (None, 2));
}

/// The paper's shrinks are its fences: one counts even if thieves have taken all before the owner has moved split.
#[cfg(feature = "std")]
#[test]
fn a_shrink_that_comes_too_late_is_counted() {
    use std::sync::mpsc::channel;

    use crate::gated::{Gate, Gated, install, remove};

    for moves in [Moves::Updates, Moves::HalfStores] {
        // The thief comes before the owner's look at tail, between that and the move of split, and after the move.
        for (before, shrinks, popped) in [(0, 0, None), (1, 1, None), (2, 1, Some(task(0)))] {
            let counts = Arc::new(Counts::default());
            let policies = Policies { moves, ..Policies::default() };
            let (mut owner, mut thieves) = <Lace as Queue<Gated>>::make(8, 1, &policies);
            owner.count_in(&counts);
            owner.push(task(0)).expect("there is room");
            let ((arrived, arrival), (go_on, gate)) = (channel(), channel());
            let pops = std::thread::spawn(move || {
                install(Gate { before, arrived, go_on: gate });
                let popped = owner.pop();
                remove();
                popped
            });
            arrival.recv().expect("a pop has as many steps");
            let stolen = thieves[0].steal().task();
            drop(go_on);
            assert_eq!(
                (pops.join().expect("no panic"), counts.read().shrinks),
                (popped, shrinks),
                "{moves:?} {before}"
            );
            assert_eq!(stolen.is_some(), popped.is_none());
        }
    }
}

#[cfg(feature = "std")]
#[test]
fn deals_are_counted() {
    fn is_counted<Q: Queue>(params: &Q::Params, ask: impl Fn(&mut Q::Thief), counted: (u64, u64, u64)) {
        let counts = Arc::new(Counts::default());
        let (mut owner, mut thieves) = Q::make(8, 1, params);
        owner.count_in(&counts);
        (0..4).for_each(|n| owner.push(task(n)).expect("there is room"));
        ask(&mut thieves[0]);
        owner.poll();
        let counts = counts.read();
        assert_eq!((counts.deals_tried, counts.deals, counts.grants), counted, "{}", Q::PROMISES.name);
    }
    fn all(thief: &mut impl StealMany<Task>) {
        assert_eq!(thief.steal_many(4, &mut Vec::new()), Steal::Pending);
    }
    let (gap, share) = (Duration::ZERO, Amount::All);
    // It looks at the clock alone, so it tried at each push; or it looked for a thief that had told it.
    is_counted::<PdqS>(&sender::Params { gap, share }, all, (5, 1, 4));
    is_counted::<PdqSTold>(&sender::Params { gap, share }, all, (1, 1, 4));
    let one = |thief: &mut <PdqSAtOnce as Queue>::Thief| assert_eq!(thief.steal(), Steal::Pending);
    is_counted::<PdqSAtOnce>(&one_step::Params { gap }, one, (5, 1, 1));
    let one = |thief: &mut <PdqSOneStep as Queue>::Thief| assert_eq!(thief.steal(), Steal::Pending);
    is_counted::<PdqSOneStep>(&one_step::Params { gap }, one, (1, 1, 1));
}

/// The ring has more slots than the word can count.
#[test]
fn a_wsq_takes_no_more_than_it_can_count() {
    fn fill<Q: Queue<Params = filch_queue::wsq::Params>>(capacity: usize) -> usize {
        let (mut owner, _thieves) = Q::make(capacity, 1, &filch_queue::wsq::Params { spare: 0 });
        let pushed = (0..).take_while(|n| owner.push(task(*n)).is_ok()).count();
        assert_eq!(core::iter::from_fn(|| owner.pop()).count(), pushed);
        pushed
    }
    let most = <Wsq as Queue>::MAX_CAPACITY;
    assert_eq!(fill::<Wsq>(most), most);
    assert_eq!(fill::<Wsq>(40_000), most);
}

/// As in the source: a thief asks for what its own queue certainly has room for, and one to run.
#[test]
fn a_wsq_has_room_for_what_it_knows_to_be_empty() {
    let tasks: Vec<Task> = (0..200).map(task).collect();
    let (mut owner, mut thieves) = <Wsq as Queue>::make(192, 1, &Default::default());
    assert_eq!((owner.room_for_loot(usize::MAX), owner.room_for_loot(7)), (63, 7));
    // No more than there are slots, of which 64 are spare.
    assert_eq!((owner.push_many(&tasks[..190]), owner.room_for_loot(63), owner.room_for_loot(1)), (190, 2, 1));
    assert_eq!((owner.push_many(&tasks[190..]), owner.room_for_loot(63)), (2, 0));
    assert_eq!(thieves[0].steal_many(100, &mut Vec::new()), Steal::Task(64));
    assert_eq!(owner.room_for_loot(63), 63);
    assert_eq!(owner.push_many(&tasks), 64);
    assert_eq!(core::iter::from_fn(|| owner.pop()).map(number).take(65).last(), Some(191));
}

/// The owner knows no slot to be empty, and each push looks.
#[test]
fn a_wsq_that_has_spent_the_empty_slots_goes_on() {
    let (mut owner, mut thieves) = <Wsq as Queue>::make(4, 1, &Default::default());
    for n in 0..20 {
        owner.push(task(n)).expect("there is room");
        assert_eq!(if n % 2 == 0 { owner.pop() } else { thieves[0].steal().task() }, Some(task(n)));
    }
    assert_eq!((owner.room_for_loot(3), owner.push_many(&[4, 5, 6, 7, 8].map(task))), (3, 4));
}
