//! The answers when another thread comes first, at every point where that can happen.

use std::sync::mpsc::channel;
use std::thread;

use filch_queue::as_new::{Endings, Trial};
use filch_queue::{
    Adws, CrossTaking, Delegation, Delivery, Dsq, Full, Owner, PadWs, Progress, Queue, Revocation, Steal, Stealable,
    Task, The, Thief, pad_ws,
};

use crate::gated::{Gate, Gated, install, remove};
use crate::{answers_waiting, number, task};

macro_rules! tests {
    ($queue:ty) => {
        #[test]
        fn overtaken_thief() {
            $crate::run::<$queue, $crate::gated::Gated>($crate::raced::overtaken_thief::<$queue>);
        }

        #[test]
        fn interrupted_thief() {
            $crate::run::<$queue, $crate::gated::Gated>($crate::raced::interrupted_thief::<$queue>);
        }

        #[test]
        fn interrupted_owner() {
            $crate::run::<$queue, $crate::gated::Gated>($crate::raced::interrupted_owner::<$queue>);
        }
    };
}
pub(crate) use tests;

/// More than any operation takes.
const STEPS: usize = 200;

/// The results of an act that was stopped, and of what happened meanwhile.
struct Interrupted<A, B> {
    act: A,
    meanwhile: B,
    /// Whether the act reached that step.
    has_stopped: bool,
}

/// Runs `act` on a thread that stops before the given step while `meanwhile` runs.
fn interrupt<A: Send, B>(
    before: usize,
    act: impl FnOnce() -> A + Send,
    meanwhile: impl FnOnce() -> B,
) -> Interrupted<A, B> {
    thread::scope(|s| {
        let (arrived, arrival) = channel();
        let (go_on, gate) = channel();
        let thread = s.spawn(move || {
            install(Gate { before, arrived, go_on: gate });
            let act = act();
            remove();
            act
        });
        let has_stopped = arrival.recv().is_ok();
        let meanwhile = meanwhile();
        drop(go_on);
        Interrupted { act: thread.join().expect("the act panicked"), meanwhile, has_stopped }
    })
}

/// Returns whether every operation ends, whatever happens to other threads.
fn is_free<Q: Queue<Gated>>() -> bool {
    // The memory with gates consists of locks: nothing that Miri could find would be the queue's fault.
    !cfg!(miri) && matches!(Q::PROMISES.steal_progress, Progress::LockFree | Progress::OwnerDependent)
}

/// Makes a queue with many tasks, and two thieves, which have asked for some.
fn full<Q: Queue<Gated>>() -> (Q::Owner, [Q::Thief; 2]) {
    let (mut owner, thieves) = Q::make(16, 2, &Q::Params::default());
    (0..16).for_each(|n| owner.push(task(n)).expect("there is room"));
    let Ok(mut thieves): Result<[Q::Thief; 2], _> = thieves.try_into() else { unreachable!("there are two") };
    for thief in &mut thieves {
        thief.steal();
        owner.poll();
    }
    (owner, thieves)
}

/// A thief that another overtakes does not report an empty queue: there are enough tasks for both.
pub(crate) fn overtaken_thief<Q: Queue<Gated>>() {
    if !is_free::<Q>() || Q::PROMISES.steal_progress == Progress::OwnerDependent {
        return;
    }
    let (_owner, [mut alone, _]) = full::<Q>();
    if std::iter::from_fn(|| alone.steal().task()).take(3).count() < 3 {
        return;
    }
    for before in 0..STEPS {
        let (_owner, [mut first, mut second]) = full::<Q>();
        let overtaken = interrupt(before, || first.steal(), || second.steal());
        assert!(overtaken.meanwhile.is_task(), "stopped before {before}: the other gets {:?}", overtaken.meanwhile);
        let answer = overtaken.act;
        assert!(matches!(answer, Steal::Task(_) | Steal::Retry), "stopped before {before}: {answer:?}");
        if !overtaken.has_stopped {
            return;
        }
    }
    panic!("a steal does not end");
}

/// The capacity of queues whose owners are interrupted.
const CAPACITY: usize = 4;

/// An owner takes all that it can while a thief is anywhere in a steal: no task is missing, and none comes twice.
pub(crate) fn interrupted_thief<Q: Queue<Gated>>() {
    if !is_free::<Q>() {
        return;
    }
    for pushed in 0..4 {
        for has_asked in [false, true] {
            for before in 0..STEPS {
                let (mut owner, mut thieves) = Q::make(CAPACITY, 1, &Q::Params::default());
                let mut taken = Vec::new();
                (0..pushed).for_each(|n| owner.push(task(n)).expect("there is room"));
                if has_asked {
                    taken.extend(thieves[0].steal().task());
                    owner.poll();
                }
                let pops = || core::iter::from_fn(|| owner.pop()).collect::<Vec<_>>();
                let interrupted = interrupt(before, || thieves[0].steal().task(), pops);
                taken.extend(interrupted.meanwhile.into_iter().chain(interrupted.act));
                answers_waiting::<Q, _>(&mut owner);
                taken.extend(core::iter::from_fn(|| thieves[0].quiesce()));
                taken.extend(core::iter::from_fn(|| owner.pop()));
                let mut taken: Vec<usize> = taken.into_iter().map(number).collect();
                taken.sort_unstable();
                if Q::PROMISES.delivery == Delivery::AtLeastOnce {
                    taken.dedup();
                }
                assert!(taken.iter().copied().eq(0..pushed), "stopped before {before}: {taken:?} of {pushed}");
                if !interrupted.has_stopped {
                    break;
                }
            }
        }
    }
}

/// What an owner does while thieves take all they can.
#[derive(Clone, Copy, Debug)]
enum Act {
    Push,
    Pop,
    Poll,
}

/// Thieves take what they can while the owner is anywhere in an operation: no task is missing, none comes twice, and
/// the queue is as good as new.
pub(crate) fn interrupted_owner<Q: Queue<Gated>>() {
    if !is_free::<Q>() || Q::PROMISES.answers_by_clock {
        return;
    }
    let trial = Trial::new::<Q, Gated>(CAPACITY, &Q::Params::default());
    let trial = (&trial, &trial.of_new(2));
    for act in [Act::Push, Act::Pop, Act::Poll] {
        for (pushed, popped) in (0..6).flat_map(|pushed| (0..=pushed.min(2)).map(move |popped| (pushed, popped))) {
            let steps = (0..STEPS).take_while(|&before| interrupts::<Q>(trial, act, pushed, popped, before)).count();
            assert!(steps < STEPS, "an operation does not end");
        }
    }
}

/// Stops an owner before the given step of an act, after some pushes and pops; returns whether the act has that step.
fn interrupts<Q: Queue<Gated>>(
    (trial, new): (&Trial, &Endings),
    act: Act,
    pushed: usize,
    own: usize,
    before: usize,
) -> bool {
    let (mut owner, mut thieves) = Q::make(CAPACITY, 2, &Q::Params::default());
    let (mut taken, mut next) = (Vec::new(), 0);
    let mut push = |owner: &mut Q::Owner, taken: &mut Vec<Task>| {
        owner.push(task(next)).unwrap_or_else(|Full(task)| taken.push(task));
        next += 1;
    };
    // Where owners answer, one thief has asked.
    taken.extend(thieves[0].steal().task());
    (0..pushed).for_each(|_| push(&mut owner, &mut taken));
    if pushed % 2 == 1 {
        // It wants nothing any more, but the owner does not know that yet.
        taken.extend(thieves[0].steal().task());
        answers_waiting::<Q, _>(&mut owner);
        taken.extend(thieves[0].quiesce());
    }
    taken.extend((0..own).filter_map(|_| owner.pop()));
    let steals = || {
        let mut loot = Vec::new();
        let mut failures = 0;
        while failures < 4 {
            for thief in &mut thieves {
                let stolen = thief.steal().task();
                failures = if stolen.is_some() { 0 } else { failures + 1 };
                loot.extend(stolen);
            }
        }
        loot
    };
    let mut popped = None;
    let acts = || match act {
        Act::Push => push(&mut owner, &mut taken),
        Act::Pop => popped = owner.pop(),
        Act::Poll => owner.poll(),
    };
    let interrupted = interrupt(before, acts, steals);
    let is_found_empty = matches!(act, Act::Pop) && popped.is_none();
    taken.extend(interrupted.meanwhile.into_iter().chain(popped));
    let what = format!("{act:?} after {pushed} pushes and {own} pops, stopped before {before}");
    if is_found_empty && taken.len() == pushed {
        let is_seen = thieves.iter().any(Thief::has_work_hint);
        assert!(!is_seen, "{what}: the owner has just found the queue empty");
    }
    // Tasks pushed from here on come back, to a thief that asks, too.
    let gone = taken.len();
    (0..3).for_each(|_| push(&mut owner, &mut taken));
    let is_enough = gone + 1 >= taken.len();
    if is_enough && !matches!(Q::PROMISES.stealable, Stealable::AllButNewest | Stealable::OtherBlocks) {
        let served = (0..16).find_map(|_| {
            owner.poll();
            thieves[0].steal().task()
        });
        assert!(served.is_some(), "{what}: a thief gets nothing any more");
        taken.extend(served);
    }
    answers_waiting::<Q, _>(&mut owner);
    for _ in 0..thieves.len() {
        taken.extend(thieves.iter_mut().flat_map(|thief| core::iter::from_fn(|| thief.quiesce())));
        taken.extend(core::iter::from_fn(|| owner.pop()));
        owner.poll();
    }
    let mut taken: Vec<usize> = taken.into_iter().map(number).collect();
    taken.sort_unstable();
    if Q::PROMISES.delivery == Delivery::AtLeastOnce {
        taken.dedup();
    }
    assert!(taken.iter().copied().eq(0..next), "{what}: {taken:?} of {next}");
    trial.passes_like(new, &mut owner, &mut thieves);
    interrupted.has_stopped
}

/// Another thief may take a thief's task, and may not have copied it yet: this means neither that work has run out nor
/// that trying again at once would help.
#[test]
fn a_task_that_another_thief_takes_or_copies_is_pending() {
    fn pends<Q: Queue<Gated>>(params: &Q::Params) {
        let is_one_of_both = |answer: Steal<Task>| matches!(answer, Steal::Task(_) | Steal::Pending);
        let granted = || {
            let (mut owner, thieves) = Q::make(8, 2, params);
            let Ok([mut first, second]): Result<[Q::Thief; 2], _> = thieves.try_into() else {
                unreachable!("there are two")
            };
            owner.push(task(0)).unwrap();
            assert_eq!(first.steal(), Steal::Pending);
            owner.poll();
            (owner, first, second)
        };
        let ends = |mut owner: Q::Owner, thieves: [Q::Thief; 2], stolen: [Steal<Task>; 2]| {
            let quiesced = thieves.into_iter().filter_map(|mut thief| thief.quiesce());
            let mut all: Vec<Task> = stolen.into_iter().filter_map(Steal::task).chain(quiesced).collect();
            all.extend(core::iter::from_fn(|| owner.pop()));
            assert_eq!(all, [task(0)]);
        };
        let mut has_pended = [false; 2];
        // One of the two is interrupted, and the other steals meanwhile.
        for (is_meanwhile, has_pended) in [false, true].into_iter().zip(&mut has_pended) {
            for before in 0..STEPS {
                let (owner, mut first, mut second) = granted();
                let (stopped, other) = if is_meanwhile { (&mut second, &mut first) } else { (&mut first, &mut second) };
                let raced = interrupt(before, || stopped.steal(), || other.steal());
                let seen = if is_meanwhile { raced.meanwhile } else { raced.act };
                assert!(is_one_of_both(seen), "{before}: {seen:?}");
                *has_pended |= seen == Steal::Pending;
                ends(owner, [first, second], [raced.act, raced.meanwhile]);
                if !raced.has_stopped {
                    break;
                }
            }
        }
        assert_eq!(has_pended, [true; 2], "each of them was late");
    }
    if !cfg!(miri) {
        let delegation = Delegation { cross_taking: CrossTaking::Each, ..Delegation::default() };
        pends::<Adws>(&delegation);
    }
}

/// An owner that takes nothing back leaves granted tasks to thieves.
#[test]
fn without_revocation_a_granted_task_waits_for_a_thief() {
    fn waits<Q: Queue>(params: &Q::Params) {
        let (mut owner, mut thieves) = Q::make(8, 1, params);
        owner.push(task(0)).unwrap();
        assert_eq!(thieves[0].steal(), Steal::Pending);
        owner.poll();
        for _ in 0..3 {
            assert_eq!((owner.pop(), owner.len_hint()), (None, 1));
            assert!(thieves[0].has_work_hint());
        }
        assert_eq!(thieves[0].steal(), Steal::Task(task(0)));
        assert_eq!((owner.pop(), owner.len_hint()), (None, 0));
    }
    let delegation = Delegation { revocation: Revocation::Off, ..Delegation::default() };
    waits::<Adws>(&delegation);
    waits::<PadWs>(&pad_ws::Params { delegation, ..pad_ws::Params::default() });
}

/// A thief's claim of a task that is not there hides the next task, until the thief gives it back.
#[test]
fn a_task_behind_a_claim_is_seen() {
    fn is_seen<Q: Queue<Gated>>() {
        let params = Q::Params::default();
        for before in 0..STEPS {
            let (mut owner, mut thieves) = Q::make(4, 2, &params);
            let (first, second) = thieves.split_at_mut(1);
            let pushes = || {
                owner.push(task(0)).expect("there is room");
                second[0].has_work_hint()
            };
            let claimed = interrupt(before, || first[0].steal(), pushes);
            assert!(claimed.meanwhile || claimed.act.is_task(), "stopped before {before}");
            if !claimed.has_stopped {
                return;
            }
        }
        panic!("a steal does not end");
    }
    if !cfg!(miri) {
        is_seen::<The>();
        is_seen::<Dsq>();
        #[cfg(feature = "fence-free")]
        {
            is_seen::<crate::delta::Least<filch_queue::FfThe>>();
            is_seen::<crate::delta::Least<filch_queue::ImpatientThep>>();
        }
    }
}

/// Requests fill words of 64 bits.
#[test]
fn more_thieves_than_bits_in_a_word_are_answered() {
    fn are_heard<Q: Queue>() {
        for &count in if cfg!(miri) { &[65][..] } else { &[64, 65, 128, 130] } {
            let (mut owner, mut thieves) = Q::make(2 * count, count, &Q::Params::default());
            (0..2 * count).for_each(|n| owner.push(task(n)).expect("there is room"));
            // One after the other, then all at once, the last ones first.
            let mut stolen: Vec<usize> = Vec::new();
            for thief in &mut thieves {
                let asked = thief.steal().task();
                owner.poll();
                stolen.extend(asked.or_else(|| thief.steal().task()).map(number));
            }
            assert_eq!(stolen.len(), count, "each of {count} thieves gets one");
            let asked: Vec<_> = thieves.iter_mut().rev().map(|thief| thief.steal().task()).collect();
            owner.poll();
            let collected = asked.into_iter().zip(thieves.iter_mut().rev());
            stolen.extend(collected.filter_map(|(asked, thief)| asked.or_else(|| thief.quiesce())).map(number));
            stolen.extend(core::iter::from_fn(|| owner.pop()).map(number));
            stolen.extend(thieves.iter_mut().filter_map(Thief::quiesce).map(number));
            stolen.sort_unstable();
            assert!(stolen.into_iter().eq(0..2 * count), "{count} thieves");
        }
    }
    are_heard::<Adws>();
    are_heard::<PadWs>();
}
