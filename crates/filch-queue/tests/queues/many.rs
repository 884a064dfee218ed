//! Thieves that take several tasks at once: in order, none lost, none twice, no more than asked for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use filch_queue::as_new::{Side, Trial};
use filch_queue::model::{Disagreement, Model};
use filch_queue::{Delivery, Full, Owner, Queue, Steal, StealMany, StealOrder, Stealable, Task, Thief};
use proptest::prelude::*;

use crate::watchdog::Patience;
use crate::{is_tried, number, task, times};

macro_rules! tests {
    ($queue:ty) => {
        $crate::many::tests!($queue: order_and_limit, nothing_for_nothing, stress, agrees_with_the_model);
    };
    ($queue:ty: $($test:ident),*) => {
        $(#[test]
        fn $test() {
            $crate::run::<$queue, filch_memory::Native>($crate::many::$test::<$queue>);
        })*

        #[test]
        #[cfg_attr(miri, ignore = "opens files")]
        fn answers() {
            let name = module_path!().rsplit("::").next().expect("a module has a name");
            $crate::run::<$queue, filch_memory::Native>(|| $crate::answers::answers_to_many::<$queue>(name));
        }
    };
}
pub(crate) use tests;

const THIEVES: usize = times(3, 2);

fn make<Q: Queue>(capacity: usize) -> (Q::Owner, Vec<Q::Thief>) {
    Q::make(capacity, THIEVES, &Q::Params::default())
}

/// Ends a test: tries the queue that it has used and emptied.
fn is_as_new<Q: Queue<Thief: StealMany<Task>>>(capacity: usize, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
    if is_tried(capacity) {
        let thieves = thieves.iter_mut().map(|thief| Side::Several(thief));
        Trial::of_many::<Q, _>(capacity, &Q::Params::default()).passes(owner, thieves);
    }
}

/// Steals, and checks the answer against the new loot.
fn steal_many(thief: &mut impl StealMany<Task>, max: usize, loot: &mut Vec<Task>) -> Steal<usize> {
    let before = loot.clone();
    let answer = thief.steal_many(max, loot);
    let count = loot.len() - before.len();
    assert!(loot.starts_with(&before), "the earlier loot is gone");
    assert_eq!(count, answer.task().unwrap_or(0), "{count} tasks are new, and the answer is {answer:?}");
    assert!(count <= max, "{count} tasks are more than {max}");
    assert_ne!(answer, Steal::Task(0), "a success has at least one task");
    answer
}

pub(crate) fn order_and_limit<Q: Queue<Thief: StealMany<Task>>>() {
    const TASKS: usize = times(100, 20);
    for max in [1, 2, 7, TASKS, usize::MAX] {
        let (mut owner, mut thieves) = make::<Q>(TASKS);
        for n in 0..TASKS {
            owner.push(task(n)).unwrap();
        }
        let (mut loot, mut failures) = (Vec::new(), 0);
        // Each failure may be a request, and an owner may delay its answer.
        while failures < 8 || (loot.is_empty() && Q::PROMISES.answers_by_clock) {
            let thief = loot.len() % THIEVES;
            failures = if steal_many(&mut thieves[thief], max, &mut loot).is_task() { 0 } else { failures + 1 };
            owner.poll();
        }
        let mut loot: Vec<usize> = loot.into_iter().map(number).collect();
        match Q::PROMISES.steals {
            StealOrder::OldestFirst | StealOrder::OldestShared => assert!(loot.is_sorted(), "{loot:?}"),
            StealOrder::NewestFirst => assert!(loot.is_sorted_by(|a, b| a > b), "{loot:?}"),
            StealOrder::Unordered => {}
        }
        assert!(!loot.is_empty());
        if Q::PROMISES.stealable == Stealable::All {
            assert_eq!(loot.len(), TASKS);
        }
        loot.extend(thieves.iter_mut().flat_map(|thief| core::iter::from_fn(|| thief.quiesce())).map(number));
        loot.extend(core::iter::from_fn(|| owner.pop()).map(number));
        loot.sort_unstable();
        assert!(loot.into_iter().eq(0..TASKS));
        is_as_new::<Q>(TASKS, &mut owner, &mut thieves);
    }
}

pub(crate) fn nothing_for_nothing<Q: Queue<Thief: StealMany<Task>>>() {
    let (mut owner, mut thieves) = make::<Q>(4);
    let mut loot = Vec::new();
    assert!(!steal_many(&mut thieves[0], 4, &mut loot).is_task(), "the queue is empty");
    owner.push(task(0)).unwrap();
    assert!(!steal_many(&mut thieves[0], 0, &mut loot).is_task(), "nothing was asked for");
    assert_eq!(owner.pop(), Some(task(0)));
    is_as_new::<Q>(4, &mut owner, &mut thieves);
}

/// Bursts of pushes and pops, and thieves that ask for different numbers.
pub(crate) fn stress<Q: Queue<Thief: StealMany<Task>>>() {
    const TASKS: usize = times(200_000, 20);
    for (capacity, burst, count) in [(1, 3, THIEVES), (2, 3, THIEVES), (4, 7, 1), (4, 7, THIEVES), (64, 50, THIEVES)] {
        let (mut owner, mut thieves) = make::<Q>(capacity);
        thieves.truncate(count);
        let taken: Arc<Vec<AtomicUsize>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
        let take = |task| _ = taken[number(task)].fetch_add(1, Ordering::Relaxed);
        let (done, start) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(count + 1)));
        let thieves: Vec<_> = thieves
            .into_iter()
            .enumerate()
            .map(|(index, mut thief)| {
                let (done, start, taken) = (Arc::clone(&done), Arc::clone(&start), Arc::clone(&taken));
                thread::spawn(move || {
                    let patience = Patience::new();
                    let mut loot = Vec::new();
                    let mut max = index;
                    start.wait();
                    loop {
                        let was_done = done.load(Ordering::Acquire);
                        max = max % 5 + 1;
                        let answer = steal_many(&mut thief, max, &mut loot);
                        assert!(Q::PROMISES.may_answer(&answer), "{answer:?} is not an answer of this queue");
                        // With other thieves, even one bag may be out of order: they may get each other's tasks.
                        if count == 1 && Q::PROMISES.steals == StealOrder::OldestFirst {
                            assert!(loot.is_sorted());
                        }
                        loot.drain(..).for_each(|task| _ = taken[number(task)].fetch_add(1, Ordering::Relaxed));
                        match answer {
                            Steal::Task(_) => {}
                            Steal::Empty | Steal::Aborted | Steal::Pending if was_done => break,
                            _ => patience.wait("the owner to finish"),
                        }
                    }
                    while let Some(task) = thief.quiesce() {
                        taken[number(task)].fetch_add(1, Ordering::Relaxed);
                    }
                    thief
                })
            })
            .collect();
        start.wait();
        let mut next = 0;
        while next < TASKS {
            let mut left = (next * 7 % burst + 1).min(TASKS - next);
            // Every other burst at once; what finds no room, one by one.
            if left.is_multiple_of(2) {
                let tasks: Vec<Task> = (next..next + left).map(task).collect();
                let pushed = owner.push_many(&tasks);
                (next, left) = (next + pushed, left - pushed);
            }
            for _ in 0..left {
                if let Err(Full(refused)) = owner.push(task(next)) {
                    assert_eq!(number(refused), next);
                    take(refused);
                    owner.pop().into_iter().for_each(take);
                }
                next += 1;
            }
            for _ in 0..next % burst {
                owner.pop().into_iter().for_each(take);
            }
        }
        done.store(true, Ordering::Release);
        let patience = Patience::new();
        while !thieves.iter().all(thread::JoinHandle::is_finished) {
            owner.poll();
            patience.wait("the thieves to finish");
        }
        core::iter::from_fn(|| owner.pop()).for_each(take);
        let mut thieves: Vec<_> = thieves.into_iter().map(|thief| thief.join().expect("a thief panicked")).collect();
        let most = if Q::PROMISES.delivery == Delivery::ExactlyOnce { 1 } else { 1 + THIEVES };
        for (n, taken) in taken.iter().enumerate() {
            let taken = taken.load(Ordering::Relaxed);
            assert!((1..=most).contains(&taken), "task {n} was taken {taken} times");
        }
        is_as_new::<Q>(capacity, &mut owner, &mut thieves);
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Push,
    Pop,
    Steal(usize, usize),
    Poll,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => Just(Operation::Push),
        2 => Just(Operation::Pop),
        2 => (0..THIEVES, 0_usize..6).prop_map(|(thief, max)| Operation::Steal(thief, max)),
        1 => Just(Operation::Poll),
    ]
}

fn follow<Q: Queue<Thief: StealMany<Task>>>(
    capacity: usize,
    operations: &[Operation],
) -> Result<(), Disagreement<Task>> {
    let (mut owner, mut thieves) = make::<Q>(capacity);
    let mut model = Model::new(Q::PROMISES, capacity);
    for (n, operation) in operations.iter().enumerate() {
        match *operation {
            Operation::Push => model.push(task(n), owner.push(task(n)))?,
            Operation::Pop => model.pop(owner.pop())?,
            // Nothing is asked for, so the answer says nothing about the content.
            Operation::Steal(thief, 0) => {
                let answer = steal_many(&mut thieves[thief], 0, &mut Vec::new());
                assert!(!answer.is_task());
            }
            Operation::Steal(thief, max) => {
                let mut loot = Vec::new();
                match steal_many(&mut thieves[thief], max, &mut loot) {
                    Steal::Task(_) => loot.into_iter().try_for_each(|task| model.steal(Steal::Task(task)))?,
                    other => model.steal(other.map(|_| task(0)))?,
                }
            }
            Operation::Poll => owner.poll(),
        }
    }
    crate::answers_waiting::<Q, _>(&mut owner);
    for thief in &mut thieves {
        while let Some(task) = thief.quiesce() {
            model.steal(Steal::Task(task))?;
        }
    }
    while !model.is_empty() {
        let popped = owner.pop();
        model.pop(popped)?;
        assert!(popped.is_some(), "{} tasks are lost", model.len());
    }
    model.pop(owner.pop())?;
    // Where each answer takes time, not after every case.
    if !Q::PROMISES.answers_by_clock || operations.len().is_multiple_of(16) {
        is_as_new::<Q>(capacity, &mut owner, &mut thieves);
    }
    Ok(())
}

pub(crate) fn agrees_with_the_model<Q: Queue<Thief: StealMany<Task>>>() {
    agrees(follow::<Q>);
}

/// Checks random cases: a capacity and operations. Compiled once for all queues.
fn agrees(follow: fn(usize, &[Operation]) -> Result<(), Disagreement<Task>>) {
    let cases = times(256, 1) as u32;
    // Failures are shrunk and printed; nothing is written next to the sources.
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(capacity in 1_usize..9, operations in prop::collection::vec(operation(), 0..times(200, 30)))| {
        if let Err(disagreement) = follow(capacity, &operations) {
            return Err(TestCaseError::fail(disagreement.to_string()));
        }
    });
}
