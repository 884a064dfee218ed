//! Smoke, order, overflow or growth, wrap-around, a late thief, stampede, stress, ebb and flow, starvation, drop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use fastrand::Rng;
use filch_queue::as_new::Trial;
use filch_queue::{Capacity, Delivery, Full, Order, Owner, Progress, Queue, Steal, StealOrder, Stealable, Task, Thief};

use crate::watchdog::{Patience, watched};
use crate::{is_tried, long, number, task, times};

macro_rules! tests {
    ($queue:ty) => {
        $crate::battery::tests!(
            $queue: smoke, owner_order, thief_order, hint_sees_work, least_capacity, overflow_or_growth, wrap_around, late_thief, stampede,
            stress, stress_in_a_tiny_queue, ebb_and_flow, last_task, starvation, drop_with_tasks_inside,
            sides_outlive_each_other
        );
    };
    ($queue:ty: $($test:ident),*) => {
        $(#[test]
        fn $test() {
            $crate::run::<$queue, filch_memory::Native>($crate::battery::$test::<$queue>);
        })*
    };
}
pub(crate) use tests;

const THIEVES: usize = times(3, 2);

fn make<Q: Queue>(capacity: usize, thieves: usize) -> (Q::Owner, Vec<Q::Thief>) {
    Q::make(capacity, thieves, &Q::Params::default())
}

/// Returns whether a steal may wait until the owner pops.
fn waits<Q: Queue>() -> bool {
    Q::PROMISES.steal_progress == Progress::WaitsForOwner
}

/// Steals while the owner does nothing; one whose thieves wait for it polls first.
fn steal<Q: Queue>(owner: &mut Q::Owner, thief: &mut Q::Thief) -> Steal<Task> {
    if waits::<Q>() {
        owner.poll();
    }
    thief.steal()
}

/// Steals everything that can be stolen while the owner only polls.
fn steal_all<Q: Queue>(owner: &mut Q::Owner, thief: &mut Q::Thief) -> Vec<usize> {
    let mut stolen = Vec::new();
    let mut failures = 0;
    let patience = Patience::new();
    // An owner may need several polls to share everything: each failure may be a request.
    while failures < 8 {
        match steal::<Q>(owner, thief) {
            Steal::Task(task) => {
                stolen.push(number(task));
                failures = 0;
            }
            // The answer will come, as long as there are tasks.
            Steal::Pending if Q::PROMISES.answers_by_clock && owner.len_hint() > 0 => patience.wait("the clock"),
            _ => failures += 1,
        }
        owner.poll();
    }
    while let Some(task) = thief.quiesce() {
        stolen.push(number(task));
    }
    stolen
}

/// Ends a test: tries the queue that it has used and emptied.
fn is_as_new<Q: Queue>(capacity: usize, owner: &mut Q::Owner, thieves: &mut [Q::Thief]) {
    if is_tried(capacity) {
        Trial::new::<Q, _>(capacity, &Q::Params::default()).passes(owner, thieves);
    }
}

fn drain<Q: Queue>(owner: &mut Q::Owner) -> Vec<usize> {
    core::iter::from_fn(|| owner.pop()).map(number).collect()
}

pub(crate) fn smoke<Q: Queue>() {
    let (mut owner, mut thieves) = make::<Q>(4, 2);
    assert_eq!(owner.pop(), None);
    assert!(!thieves[0].steal().is_task());
    assert_eq!(owner.len_hint(), 0);
    for round in 0..3 {
        owner.push(task(round)).unwrap();
        assert!(owner.len_hint() >= 1);
        assert_eq!(owner.pop().map(number), Some(round));
        assert_eq!(owner.pop(), None);
        assert!(!thieves[1].steal().is_task());
        assert_eq!(owner.len_hint(), 0);
    }
    is_as_new::<Q>(4, &mut owner, &mut thieves);
}

pub(crate) fn owner_order<Q: Queue>() {
    const TASKS: usize = times(100, 20);
    let (mut owner, mut thieves) = make::<Q>(TASKS, 1);
    for n in 0..TASKS {
        owner.push(task(n)).unwrap();
    }
    let popped = drain::<Q>(&mut owner);
    match Q::PROMISES.order {
        Order::Lifo => assert!(popped.into_iter().eq((0..TASKS).rev())),
        Order::Fifo => assert!(popped.into_iter().eq(0..TASKS)),
    }
    is_as_new::<Q>(TASKS, &mut owner, &mut thieves);
}

pub(crate) fn thief_order<Q: Queue>() {
    const TASKS: usize = times(100, 20);
    let (mut owner, mut thieves) = make::<Q>(TASKS, 1);
    for n in 0..TASKS {
        owner.push(task(n)).unwrap();
    }
    let stolen = steal_all::<Q>(&mut owner, &mut thieves[0]);
    let popped = drain::<Q>(&mut owner);
    if Q::PROMISES.stealable == Stealable::All {
        assert_eq!(popped, []);
    }
    match Q::PROMISES.steals {
        StealOrder::OldestFirst => assert!(stolen.iter().copied().eq(0..stolen.len())),
        StealOrder::OldestShared => assert!(stolen.is_sorted()),
        StealOrder::NewestFirst => assert!(stolen.iter().copied().eq((TASKS - stolen.len()..TASKS).rev())),
        StealOrder::Unordered => {}
    }
    let mut all = [stolen, popped].concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..TASKS));
    is_as_new::<Q>(TASKS, &mut owner, &mut thieves);
}

/// A worker that is about to sleep must see a task that was pushed before.
pub(crate) fn hint_sees_work<Q: Queue>() {
    let (mut owner, mut thieves) = make::<Q>(8, 1);
    for round in 0..4 {
        for n in 0..6 {
            owner.push(task(n)).unwrap();
        }
        for n in 0..6 {
            assert!(thieves[0].has_work_hint(), "round {round}: {} tasks are there", 6 - n);
            let taken = if n % 2 == 0 { steal::<Q>(&mut owner, &mut thieves[0]).task() } else { None };
            // The last task may have been set aside for the thief.
            assert!(taken.or_else(|| owner.pop()).or_else(|| steal::<Q>(&mut owner, &mut thieves[0]).task()).is_some());
        }
        assert_eq!(owner.pop(), None);
        assert!(!thieves[0].has_work_hint(), "the owner has just found the queue empty");
    }
    is_as_new::<Q>(8, &mut owner, &mut thieves);
}

/// A queue made without room has room for one task.
pub(crate) fn least_capacity<Q: Queue>() {
    let (mut owner, mut thieves) = make::<Q>(0, 1);
    for n in 0..3 {
        owner.push(task(n)).expect("there is room for one");
        assert_eq!(owner.pop().map(number), Some(n));
    }
    is_as_new::<Q>(0, &mut owner, &mut thieves);
}

pub(crate) fn overflow_or_growth<Q: Queue>() {
    const ASKED: usize = 4;
    let (mut owner, mut thieves) = make::<Q>(ASKED, 1);
    let mut pushed = 0;
    let refused = loop {
        match owner.push(task(pushed)) {
            Ok(()) => pushed += 1,
            Err(Full(refused)) => break Some(number(refused)),
        }
        if pushed == times(1000, 40) {
            break None;
        }
    };
    if Q::PROMISES.capacity == Capacity::Grows {
        assert_eq!(refused, None);
    } else {
        assert_eq!(refused, Some(pushed));
        assert!(pushed >= ASKED);
        // A refusal leaves the queue as it was, however often it is repeated.
        assert_eq!(owner.push(task(pushed)), Err(Full(task(pushed))));
    }
    let mut all = steal_all::<Q>(&mut owner, &mut thieves[0]);
    all.extend(drain::<Q>(&mut owner));
    all.sort_unstable();
    assert!(all.into_iter().eq(0..pushed));
    is_as_new::<Q>(ASKED, &mut owner, &mut thieves);
}

pub(crate) fn wrap_around<Q: Queue>() {
    const TASKS: usize = times(200, 30);
    for capacity in 1..=4 {
        let (mut owner, mut thieves) = make::<Q>(capacity, 1);
        let mut taken = Vec::new();
        for n in 0..TASKS {
            if owner.push(task(n)).is_err() {
                // An array must first be found empty.
                taken.extend(drain::<Q>(&mut owner));
                owner.push(task(n)).expect("an empty queue has room");
            }
            if n % 3 != 0 {
                let stolen = steal::<Q>(&mut owner, &mut thieves[0]).task();
                taken.extend(stolen.or_else(|| owner.pop()).map(number));
            }
        }
        taken.extend(drain::<Q>(&mut owner));
        taken.extend(core::iter::from_fn(|| thieves[0].quiesce()).map(number));
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..TASKS), "capacity {capacity}");
        is_as_new::<Q>(capacity, &mut owner, &mut thieves);
    }
}

/// A thief that slept for several laps of the others finds as much as in a new queue, or nearly, since blocks begin
/// elsewhere: with the owner alone or with another thief, and with or without an earlier request of the late thief.
pub(crate) fn late_thief<Q: Queue>() {
    for (with_another, has_asked) in [(false, false), (true, false), (false, true), (true, true)] {
        let [in_new, in_old] = [0, times(5, 2)].map(|rounds| stolen_after::<Q>(rounds, with_another, has_asked));
        assert!(2 * in_old >= in_new, "{in_old} instead of {in_new} tasks; {with_another} {has_asked}");
    }
}

/// Returns how many tasks a thief gets that comes after this many rounds.
fn stolen_after<Q: Queue>(rounds: usize, with_another: bool, has_asked: bool) -> usize {
    const TASKS: usize = times(64, 8);
    let (mut owner, mut thieves) = make::<Q>(TASKS, 2);
    let mut taken = Vec::new();
    let mut next = 0;
    let mut push = |owner: &mut Q::Owner, taken: &mut Vec<usize>| {
        // Tasks granted to the late thief may be in the way.
        owner.push(task(next)).unwrap_or_else(|Full(task)| taken.push(number(task)));
        next += 1;
    };
    if has_asked {
        push(&mut owner, &mut taken);
        taken.extend(steal::<Q>(&mut owner, &mut thieves[0]).task().map(number));
    }
    for n in 0..rounds * TASKS {
        push(&mut owner, &mut taken);
        let stolen = if with_another && n % 2 == 1 { steal::<Q>(&mut owner, &mut thieves[1]).task() } else { None };
        taken.extend(stolen.or_else(|| owner.pop()).map(number));
    }
    taken.extend(drain::<Q>(&mut owner));
    for thief in &mut thieves {
        taken.extend(core::iter::from_fn(|| thief.quiesce()).map(number));
    }
    for _ in 0..TASKS {
        push(&mut owner, &mut taken);
    }
    let mut stolen = steal_all::<Q>(&mut owner, &mut thieves[0]);
    let count = stolen.len();
    taken.append(&mut stolen);
    taken.extend(drain::<Q>(&mut owner));
    taken.extend(core::iter::from_fn(|| thieves[1].quiesce()).map(number));
    taken.extend(drain::<Q>(&mut owner));
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..next));
    is_as_new::<Q>(TASKS, &mut owner, &mut thieves);
    count
}

/// How often each task was taken.
struct Ledger {
    taken: Vec<AtomicUsize>,
}

impl Ledger {
    fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Self { taken: (0..tasks).map(|_| AtomicUsize::new(0)).collect() })
    }

    fn take(&self, n: usize) {
        self.taken[n].fetch_add(1, Ordering::Relaxed);
    }

    fn close<Q: Queue>(&self) {
        let most = match Q::PROMISES.delivery {
            Delivery::ExactlyOnce => 1,
            Delivery::AtLeastOnce => {
                let taken: usize = self.taken.iter().map(|taken| taken.load(Ordering::Relaxed)).sum();
                let tasks = self.taken.len();
                println!(
                    "{tasks} tasks, {} takes too many: {:.3} %",
                    taken - tasks,
                    (taken - tasks) as f64 * 100.0 / tasks as f64
                );
                usize::MAX
            }
        };
        for (n, taken) in self.taken.iter().enumerate() {
            let taken = taken.load(Ordering::Relaxed);
            assert!((1..=most).contains(&taken), "task {n} was taken {taken} times");
        }
    }
}

/// Thieves that steal until the owner has finished and nothing is left for them.
struct Gang<T> {
    done: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<(T, Vec<usize>)>>,
}

impl<T: Thief<Task> + Send + 'static> Gang<T> {
    fn start<Q: Queue<Thief = T>>(thieves: Vec<T>, ledger: &Arc<Ledger>) -> Self {
        let promises = Q::PROMISES;
        let done = Arc::new(AtomicBool::new(false));
        let start = Arc::new(Barrier::new(thieves.len() + 1));
        let threads = thieves
            .into_iter()
            .map(|mut thief| {
                let (done, start, ledger) = (Arc::clone(&done), Arc::clone(&start), Arc::clone(ledger));
                thread::spawn(move || {
                    let patience = Patience::new();
                    let mut loot = Vec::new();
                    start.wait();
                    loop {
                        let was_done = done.load(Ordering::Acquire);
                        let answer = thief.steal();
                        assert!(promises.may_answer(&answer), "{answer:?} is not an answer of this queue");
                        match answer {
                            Steal::Task(task) => loot.push(number(task)),
                            Steal::Retry => patience.wait("a thief that always loses"),
                            Steal::Empty | Steal::Aborted | Steal::Pending if was_done => break,
                            Steal::Empty | Steal::Aborted | Steal::Pending => patience.wait("the owner to finish"),
                        }
                    }
                    loot.extend(core::iter::from_fn(|| thief.quiesce()).map(number));
                    loot.iter().for_each(|&n| ledger.take(n));
                    (thief, loot)
                })
            })
            .collect();
        start.wait();
        Self { done, threads }
    }

    /// Dismisses the thieves and takes what they left; returns what each of them stole, in order. The queue, which was
    /// made for `capacity` tasks, is then as good as new.
    fn finish<Q: Queue<Thief = T>>(self, capacity: usize, owner: &mut Q::Owner, ledger: &Ledger) -> Vec<Vec<usize>> {
        self.done.store(true, Ordering::Release);
        let patience = Patience::new();
        while !self.threads.iter().all(thread::JoinHandle::is_finished) {
            owner.poll();
            patience.wait("the thieves to finish");
        }
        drain::<Q>(owner).into_iter().for_each(|n| ledger.take(n));
        let ended = self.threads.into_iter().map(|thread| thread.join().expect("a thief panicked"));
        let (mut thieves, loot): (Vec<T>, Vec<_>) = ended.unzip();
        is_as_new::<Q>(capacity, owner, &mut thieves);
        loot
    }
}

/// Many thieves rush to a full queue; each sees the order that the queue promises.
pub(crate) fn stampede<Q: Queue>() {
    const TASKS: usize = times(20_000, 60);
    let (mut owner, thieves) = make::<Q>(TASKS, THIEVES);
    let ledger = Ledger::new(TASKS);
    for n in 0..TASKS {
        owner.push(task(n)).unwrap();
    }
    let gang = Gang::start::<Q>(thieves, &ledger);
    let mut popped = Vec::new();
    while let Some(task) = owner.pop() {
        popped.push(number(task));
        ledger.take(number(task));
    }
    for loot in gang.finish::<Q>(TASKS, &mut owner, &ledger) {
        // Nothing is pushed meanwhile, so a thief's tasks come in the order of their numbers.
        match Q::PROMISES.steals {
            // Tasks may come back.
            _ if Q::PROMISES.delivery == Delivery::AtLeastOnce => {}
            StealOrder::OldestFirst | StealOrder::OldestShared => assert!(loot.is_sorted()),
            StealOrder::NewestFirst => assert!(loot.is_sorted_by(|a, b| a > b)),
            StealOrder::Unordered => {}
        }
    }
    if Q::PROMISES.delivery == Delivery::ExactlyOnce {
        match Q::PROMISES.order {
            Order::Lifo => assert!(popped.is_sorted_by(|a, b| a > b)),
            Order::Fifo => assert!(popped.is_sorted()),
        }
    }
    ledger.close::<Q>();
}

/// Random bursts of pushes and pops; the queue becomes empty and full again and again.
fn random_bursts<Q: Queue>(capacity: usize, burst: u64, seed: u64, tasks: usize) {
    let (mut owner, thieves) = make::<Q>(capacity, THIEVES);
    let ledger = Ledger::new(tasks);
    let gang = Gang::start::<Q>(thieves, &ledger);
    let mut choices = Rng::with_seed(seed);
    // Some hundred times in all, since beside other programs each of them may last a time slice.
    let one_in = (2 * tasks as u64 / (burst - 1) / 400).max(64);
    let mut next = 0;
    while next < tasks {
        for _ in 0..choices.u64(..burst) {
            if next < tasks {
                if let Err(Full(refused)) = owner.push(task(next)) {
                    assert_eq!(number(refused), next);
                    ledger.take(next);
                    // For an array, which must be found empty.
                    owner.pop().into_iter().for_each(|task| ledger.take(number(task)));
                }
                next += 1;
            }
        }
        for _ in 0..choices.u64(..burst) {
            let Some(task) = owner.pop() else { break };
            ledger.take(number(task));
        }
        if choices.u64(..one_in) == 0 {
            thread::yield_now();
        }
    }
    gang.finish::<Q>(capacity, &mut owner, &ledger);
    ledger.close::<Q>();
}

pub(crate) fn stress<Q: Queue>() {
    for seed in 1..=times(4, 1) {
        random_bursts::<Q>(256, 40, seed as u64, long(500_000, 100));
    }
}

pub(crate) fn stress_in_a_tiny_queue<Q: Queue>() {
    for capacity in 1..=times(4, 2) {
        random_bursts::<Q>(capacity, 6, capacity as u64, long(300_000, 20));
    }
}

/// A queue that is filled and emptied again: while it shrinks, the owner moves towards the thieves.
pub(crate) fn ebb_and_flow<Q: Queue>() {
    const HEIGHT: usize = times(96, 12);
    let tides = long(20_000, 5);
    let (mut owner, thieves) = make::<Q>(HEIGHT, THIEVES);
    let ledger = Ledger::new(tides * HEIGHT);
    let gang = Gang::start::<Q>(thieves, &ledger);
    for tide in 0..tides {
        for n in 0..HEIGHT {
            let n = tide * HEIGHT + n;
            owner.push(task(n)).unwrap_or_else(|Full(_)| ledger.take(n));
        }
        // Quickly: handling a task in between would drain the store buffer.
        let mut popped = [None; HEIGHT];
        popped.iter_mut().for_each(|place| *place = owner.pop());
        popped.into_iter().flatten().for_each(|task| ledger.take(number(task)));
    }
    gang.finish::<Q>(HEIGHT, &mut owner, &ledger);
    ledger.close::<Q>();
}

/// One task at a time: owner and thieves always race for the same task.
pub(crate) fn last_task<Q: Queue>() {
    random_bursts::<Q>(2, 2, 7, long(500_000, 30));
    let tasks = long(500_000, 30);
    let (mut owner, thieves) = make::<Q>(2, THIEVES);
    let ledger = Ledger::new(tasks);
    let gang = Gang::start::<Q>(thieves, &ledger);
    for n in 0..tasks {
        owner.push(task(n)).unwrap_or_else(|Full(task)| ledger.take(number(task)));
        owner.pop().into_iter().for_each(|task| ledger.take(number(task)));
    }
    gang.finish::<Q>(2, &mut owner, &ledger);
    ledger.close::<Q>();
}

/// While an owner keeps pushing and popping one task above a stock of others, every thief gets something.
///
/// A thief that has something leaves: where threads take turns on few processors, the one whose turn follows the
/// owner's would take everything every time.
pub(crate) fn starvation<Q: Queue>() {
    if Q::PROMISES.stealable == Stealable::AllButNewest {
        // A parameter sets how many are withheld, and may exceed the stock below.
        return;
    }
    let (mut owner, thieves) = make::<Q>(64, THIEVES);
    let stolen = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = thieves
        .into_iter()
        .map(|mut thief| {
            let stolen = Arc::clone(&stolen);
            thread::spawn(move || {
                let patience = Patience::new();
                while !thief.steal().is_task() {
                    patience.wait("a starving thief");
                }
                stolen.fetch_add(1, Ordering::Relaxed);
                while thief.quiesce().is_some() {}
                thief
            })
        })
        .collect();
    let patience = Patience::new();
    let mut next = 0;
    while stolen.load(Ordering::Relaxed) < THIEVES {
        for _ in 0..16 {
            let _ = owner.push(task(next));
            next += 1;
        }
        for _ in 0..15 {
            let _ = owner.pop();
        }
        patience.wait("every thief to steal something");
        if owner.len_hint() > 32 {
            while owner.pop().is_some() {}
        }
    }
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        while owner.pop().is_some() {}
        patience.wait("the thieves to finish");
    }
    let mut thieves: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    while owner.pop().is_some() {}
    is_as_new::<Q>(64, &mut owner, &mut thieves);
}

pub(crate) fn drop_with_tasks_inside<Q: Queue>() {
    for thieves_first in [false, true] {
        let (mut owner, mut thieves) = make::<Q>(16, 2);
        for n in 0..10 {
            owner.push(task(n)).unwrap();
        }
        let _ = steal::<Q>(&mut owner, &mut thieves[0]);
        if thieves_first {
            drop(thieves);
            drop(owner);
        } else {
            drop(owner);
            drop(thieves);
        }
    }
}

/// Either side works after the other is gone, and sees what was there.
pub(crate) fn sides_outlive_each_other<Q: Queue>() {
    let (mut owner, thieves) = make::<Q>(16, 2);
    for n in 0..4 {
        owner.push(task(n)).unwrap();
    }
    drop(thieves);
    assert_eq!(drain::<Q>(&mut owner).len(), 4);

    let (mut owner, mut thieves) = make::<Q>(1, 1);
    for n in 0..4 {
        let _ = owner.push(task(n));
    }
    owner.poll();
    drop(owner);
    let mut thief = thieves.remove(0);
    let (tell, told) = channel();
    watched(move || {
        _ = tell.send(core::iter::from_fn(|| thief.steal().task()).map(number).collect::<Vec<_>>());
    });
    let stolen = told.recv().expect("the thief has ended");
    if Q::PROMISES.stealable == Stealable::All && Q::PROMISES.capacity == Capacity::Grows {
        assert_eq!(stolen.len(), 4);
    }
}
