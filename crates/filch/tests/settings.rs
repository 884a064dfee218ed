//! Settings of pools: with any of them every program is right and every pool ends; contradictions are refused.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ThreadId};
use std::time::Duration;

use common::{EveryPool, Thrown, WORKERS, payload_of, picked, throw, thrown_by, times, wait_for, watchdog};
use filch::jobs::{JobWorker, Jobs};
use filch::pool::{
    Clock, First, Haul, Heartbeat, HeartbeatSettings, Period, Pool, QueueSettings, Queued, Request, Sharing, Split,
    SplitSettings, Wool, WoolSettings,
};
use filch::worklist::Worklist;
use filch::{BuildError, Builder, Idle, Interrupts, Leaps, OnLoss, Victims, Wait, Worker};
use filch_queue::{
    Amount, ChaseLev, Dsq, Lace, Locked, PdqRAsync, Promises, Queue, StealMany, Task, dsq, for_each_queue, lace, pdq,
};

fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}

/// Sums over leaves that take a while each, so that a worker that waits for one falls asleep.
fn slow_sum<P: Pool>(mut w: Worker<'_, P>, from: u64, to: u64) -> u64 {
    if to - from == 1 {
        thread::sleep(Duration::from_micros(300));
        return from;
    }
    let middle = u64::midpoint(from, to);
    let (a, b) = w.join(move |w| slow_sum(w, from, middle), move |w| slow_sum(w, middle, to));
    a + b
}

/// Each order in which thieves try victims, and once without a second try after a lost race.
fn orders() -> impl Iterator<Item = (Victims, OnLoss)> {
    Victims::EVERY.iter().map(|&victims| (victims, OnLoss::TryAgain)).chain([(Victims::Random, OnLoss::GiveUp)])
}

#[test]
fn every_pool_steals_in_every_order_and_need_not_sleep() {
    let _watchdog = watchdog("an order");
    struct Compute;
    impl EveryPool for Compute {
        fn with<P: Pool>(&self) {
            for (victims, on_loss) in orders() {
                for (idle, callers_work) in [(Idle::Sleep, true), (Idle::Spin, true), (Idle::Spin, false)] {
                    for workers in WORKERS {
                        let pool = Builder::<P>::new().workers(workers).victims(victims).on_loss(on_loss).idle(idle);
                        let pool = pool.caller_works(callers_work).build().unwrap();
                        assert_eq!(pool.run(|w| fib(w, times(16, 6) as u64)), times(987, 8) as u64);
                        let sum = pool.install(|| filch::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b));
                        assert_eq!(sum, 499_500);
                        if idle == Idle::Spin {
                            // The last worker may sleep, for callers.
                            let awake = workers - usize::from(callers_work);
                            assert_eq!(pool.stats().workers[..awake].iter().map(|worker| worker.parks).sum::<u64>(), 0);
                        }
                    }
                }
            }
        }
    }
    Compute.every();
}

/// Those of the papers included: 1, and as many as have proved right.
#[test]
fn every_pool_waits_with_any_number_of_leaps() {
    let _watchdog = watchdog("a leap");
    struct Compute;
    impl EveryPool for Compute {
        fn with<P: Pool>(&self) {
            let leaps = [1, 1000].map(|leaps| Leaps::After(NonZeroU32::new(leaps).unwrap()));
            for leaps in leaps.into_iter().chain([Leaps::Adaptive]) {
                let strategies = [Wait::LeapfrogRandom, Wait::Transitive].into_iter();
                for wait in strategies.filter(|&wait| wait != Wait::Transitive || P::TRANSITIVE) {
                    let pool = Builder::<P>::new().workers(3).wait(wait).leaps(leaps).build().unwrap();
                    assert_eq!(pool.run(|w| fib(w, times(16, 6) as u64)), times(987, 8) as u64);
                    assert_eq!(pool.run(|w| slow_sum(w, 0, times(64, 8) as u64)), times(2016, 28) as u64);
                }
            }
        }
    }
    Compute.every();
}

/// As Lace's paper prints it for x86.
#[test]
fn split_moved_by_half_stores_loses_no_task() {
    let _watchdog = watchdog("half stores");
    fn computes<P: Pool>(settings: &P::Settings) {
        for workers in [1, 2, 8] {
            let pool = Builder::<P>::new().workers(workers).settings(settings.clone()).build().unwrap();
            for _ in 0..times(20, 1) {
                assert_eq!(pool.run(|w| fib(w, times(16, 6) as u64)), times(987, 8) as u64);
            }
            let sum = pool.install(|| filch::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b));
            assert_eq!(sum, 499_500);
        }
    }
    let moves = lace::Moves::HalfStores;
    let policies = [Amount::Half, Amount::One, Amount::All].map(Sharing::OnRequest);
    for share in policies.into_iter().chain([Sharing::ByGrain]) {
        computes::<Split>(&SplitSettings::default().moves(moves).share(share));
    }
    computes::<Queued<Lace>>(&QueueSettings::of(lace::Policies { moves, ..lace::Policies::default() }));
}

/// A worker that never sleeps needs no wake-up to find any kind of work, and dropping the pool waits for spawned jobs.
/// If callers work, only the last worker sleeps, for which each call and each job may be.
#[test]
fn workers_that_never_sleep_find_all_work() {
    let _watchdog = watchdog("a pool that spins");
    let done = AtomicUsize::new(0);
    let count = || _ = done.fetch_add(1, SeqCst);
    for (&wait, callers_work) in Wait::EVERY.iter().flat_map(|wait| [(wait, false), (wait, true)]) {
        let pool = Builder::<filch::pool::Split>::new().workers(2).wait(wait).idle(Idle::Spin);
        let pool = pool.caller_works(callers_work).build().unwrap();
        done.store(0, SeqCst);
        pool.install(|| {
            filch::scope(|s| {
                for _ in 0..100 {
                    s.spawn(|_| count());
                }
            });
        });
        assert_eq!(done.load(SeqCst), 100);
        let (sender, receiver) = std::sync::mpsc::channel();
        for n in 0..10 {
            let sender = sender.clone();
            pool.spawn(move || sender.send(n).unwrap());
        }
        let stats = pool.stats();
        drop((pool, sender));
        assert_eq!(receiver.into_iter().count(), 10, "{stats:?}");
        let sleeps = stats.workers.iter().map(|worker| worker.parks > 0);
        assert!(sleeps.eq([false, callers_work]), "{stats:?}");
        assert!(callers_work || stats.total().wakeups == 0, "{stats:?}");
    }
}

/// In a pool that spins a caller runs its call itself, and is the last worker meanwhile.
#[test]
fn callers_work_in_a_pool_that_spins() {
    let _watchdog = watchdog("callers in a pool that spins");
    for workers in [1, 2, 3] {
        let pool = filch::ThreadPool::builder().workers(workers).idle(Idle::Spin).build().unwrap();
        let here = std::thread::current().id();
        for _ in 0..100 {
            let at = pool.install(|| (std::thread::current().id(), filch::current_index()));
            assert_eq!(at, (here, Some(workers - 1)));
            assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
        }
    }
}

/// A worker waits for a call into another pool, whose workers do not sleep either.
#[test]
fn pools_that_never_sleep_call_each_other() {
    let _watchdog = watchdog("a call between pools");
    let pools = [(); 2].map(|()| Builder::<Queued<ChaseLev>>::new().workers(2).idle(Idle::Spin).build().unwrap());
    let sum = pools[0].run(|w| {
        let here = fib(w, 12);
        here + pools[1].run(|w| fib(w, 12)) + pools[0].install(|| 1)
    });
    assert_eq!(sum, 2 * 144 + 1);
}

/// Runs a job and all its descendants: this many generations, with two children per job.
fn family<'s, Q: Queue>(w: &mut JobWorker<'s, '_, Q>, generations: u32, born: &'s AtomicUsize) {
    born.fetch_add(1, SeqCst);
    if generations > 0 {
        for _ in 0..2 {
            w.spawn(move |w| family(w, generations - 1, born));
        }
    }
}

#[test]
fn worklists_and_jobs_steal_in_every_order_and_need_not_nap() {
    let _watchdog = watchdog("a list");
    for ((victims, on_loss), idle) in orders().flat_map(|order| Idle::EVERY.iter().map(move |&idle| (order, idle))) {
        for workers in WORKERS {
            let list = Worklist::new(workers).victims(victims).on_loss(on_loss).idle(idle);
            let generations = times(10, 4) as u32;
            let count = list.run(
                [generations],
                |_| 0,
                |worker, count, left| {
                    *count += 1;
                    if left > 0 {
                        (0..2).for_each(|_| worker.push(left - 1));
                    }
                },
            );
            assert_eq!(count.states.iter().sum::<usize>(), (2 << generations) - 1);
            let born = AtomicUsize::new(0);
            let jobs = Jobs::new(workers).queue::<Lace>(lace::Policies::default()).victims(victims);
            let jobs = jobs.on_loss(on_loss).idle(idle);
            assert!(jobs.run(|w| family(w, generations, &born)).is_complete);
            assert_eq!(born.into_inner(), (2 << generations) - 1);
        }
    }
}

/// Runs a test on every queue whose thieves can take several tasks.
trait EveryLoot {
    fn with<Q: Queue<Thief: StealMany<Task>>>(&self);

    fn every(&self) {
        let all: [&[fn(&Self)]; _] = for_each_queue!(looted);
        let all = all.concat();
        assert!(all.len() >= 8);
        picked(&all, 1).for_each(|with| with(self));
    }
}

macro_rules! of_many {
    (many $with:expr) => {
        &[$with]
    };
    ($($other:tt)*) => {
        &[]
    };
}

macro_rules! looted {
    ($($lists:ident $module:ident: $queue:ty $(, $but:ident)?;)+) => {
        [$(of_many!($lists Self::with::<$queue> $(, $but)?)),+]
    };
}

use {looted, of_many};

fn looting<Q: Queue<Thief: StealMany<Task>>>(workers: usize) -> Builder<Queued<Q>> {
    Builder::<Queued<Q>>::new().workers(workers).settings(QueueSettings::default().loot(usize::MAX))
}

#[test]
fn thieves_of_several_tasks_compute_the_same() {
    let _watchdog = watchdog("a thief of several tasks");
    struct Compute;
    impl EveryLoot for Compute {
        fn with<Q: Queue<Thief: StealMany<Task>>>(&self) {
            for wait in [Wait::LeapfrogRandom, Wait::Random] {
                for (workers, capacity) in [(1, 4), (2, 2), (2, 1 << 10), (4, 5), (8, 64)] {
                    for (idle, most) in [(Idle::Sleep, usize::MAX), (Idle::Spin, 2), (Idle::Sleep, 1)] {
                        let builder = Builder::<Queued<Q>>::new().settings(QueueSettings::default().loot(most));
                        let builder = builder.workers(workers).wait(wait).task_capacity(capacity).idle(idle);
                        let pool = builder.build().unwrap();
                        assert_eq!(pool.run(|w| fib(w, times(18, 7) as u64)), times(2584, 13) as u64);
                        let sum = pool.install(|| filch::map_reduce(0..1000_u64, 0, |n| n, |a, b| a + b));
                        assert_eq!(sum, 499_500);
                    }
                }
            }
        }
    }
    Compute.every();
}

/// A worker that sleeps for a task is woken by the worker that runs it, even after several steals.
#[test]
fn owners_are_woken_by_the_worker_that_runs_a_kept_task() {
    let _watchdog = watchdog("an owner");
    struct Sleep;
    impl EveryLoot for Sleep {
        fn with<Q: Queue<Thief: StealMany<Task>>>(&self) {
            for workers in [2, 4, 8] {
                let pool = looting::<Q>(workers).build().unwrap();
                let leaves = times(200, 6) as u64;
                assert_eq!(pool.run(|w| slow_sum(w, 0, leaves)), leaves * (leaves - 1) / 2);
            }
        }
    }
    Sleep.every();
}

/// A panic goes to the join of the worker that forked the task, though another worker kept the task meanwhile.
#[test]
fn a_panic_in_a_kept_task_goes_to_its_owner() {
    let _watchdog = watchdog("a panic");
    fn leaves<P: Pool>(mut w: Worker<'_, P>, from: usize, to: usize) {
        if to - from == 1 {
            thread::sleep(Duration::from_micros(50));
            if from % 8 == 3 {
                throw(from);
            }
            return;
        }
        let middle = usize::midpoint(from, to);
        w.join(|w| leaves(w, from, middle), |w| leaves(w, middle, to));
    }
    let pool = looting::<Locked>(4).build().unwrap();
    for _ in 0..times(20, 1) {
        let thrown = thrown_by(|| pool.run(|w| leaves(w, 0, 64)));
        assert_eq!(thrown % 8, 3);
        assert_eq!(payload_of(&Thrown(thrown)), thrown);
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
    }
}

/// A thief takes several tasks and is held up in the first. A second thief finds the others in its queue, and their
/// sleeping owner gets all results.
#[test]
fn others_steal_the_tasks_that_a_thief_keeps() {
    if cfg!(miri) {
        return; // One thief must happen to take all tasks.
    }
    let _watchdog = watchdog("kept tasks");
    const FORKS: usize = 6;
    /// Forks `FORKS` tasks, one inside the other's first branch. Nobody proceeds until all exist.
    fn forks(mut w: Worker<'_, Queued<Locked>>, left: usize, shared: &Shared) -> usize {
        if left == 0 {
            shared.all_are_there.store(true, SeqCst);
            wait_for("a steal", || shared.started.load(SeqCst) > 0);
            return 0;
        }
        let (deeper, own) = w.join(
            |w| forks(w, left - 1, shared),
            |w| {
                let me = w.index();
                if shared.started.fetch_add(1, SeqCst) == 0 {
                    shared.first_thief.store(me, SeqCst);
                    // The thief has taken the others with this one, or their owner takes them back. This task ends when
                    // they have ended.
                    wait_for("the others", || shared.ended.load(SeqCst) == FORKS - 1);
                } else if me != shared.first_thief.load(SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
                shared.ended.fetch_add(1, SeqCst);
                1
            },
        );
        deeper + own
    }
    #[derive(Default)]
    struct Shared {
        all_are_there: AtomicBool,
        started: AtomicUsize,
        ended: AtomicUsize,
        first_thief: AtomicUsize,
    }
    for _ in 0..50 {
        let pool = looting::<Locked>(3).build().unwrap();
        let shared = Shared::default();
        assert_eq!(pool.run(|w| forks(w, FORKS, &shared)), FORKS);
        assert!(shared.all_are_there.load(SeqCst));
    }
}

/// A thief that has stolen several tasks runs the last stolen first, or the first; the others follow from the newest to
/// the oldest.
#[test]
fn stolen_tasks_are_run_in_the_order_that_is_set() {
    let _watchdog = watchdog("an order of stolen tasks");
    const STOLEN: usize = 3;
    const FORKS: usize = 2 * STOLEN;
    /// Forks `FORKS` tasks, one inside the other's first branch; 1 is the newest. Proceeds when the thief has run what
    /// it takes.
    fn forks(mut w: Worker<'_, Queued<Locked>>, left: usize, is_ready: &AtomicBool, run: &Mutex<Vec<usize>>) {
        if left == 0 {
            is_ready.store(true, SeqCst);
            return wait_for("the thief", || run.lock().unwrap().len() >= STOLEN);
        }
        w.join(|w| forks(w, left - 1, is_ready, run), |_| run.lock().unwrap().push(left));
    }
    for (first, order) in [(First::Newest, [4, 5, 6]), (First::Oldest, [6, 4, 5])] {
        let haul = Haul::from(STOLEN).first(first);
        let pool = Builder::<Queued<Locked>>::new().workers(2).settings(QueueSettings::default().loot(haul));
        let pool = pool.caller_works(false).build().unwrap();
        let (has_begun, is_ready, run) = (AtomicBool::new(false), AtomicBool::new(false), Mutex::default());
        pool.run(|mut w| {
            w.join(
                |w| {
                    wait_for("the thief's first task", || has_begun.load(SeqCst));
                    forks(w, FORKS, &is_ready, &run);
                },
                |_| {
                    has_begun.store(true, SeqCst);
                    wait_for("the forks", || is_ready.load(SeqCst));
                },
            )
        });
        assert_eq!(run.into_inner().unwrap()[..STOLEN], order, "{first}");

        let list = Worklist::new(2).queue::<Locked>(()).loot(haul);
        let has_run = AtomicUsize::new(0);
        let run = list.run(
            1..=FORKS,
            |_| Vec::new(),
            |worker, run, task| {
                run.push(FORKS + 1 - task);
                if worker.index() == 1 {
                    has_run.fetch_add(1, SeqCst);
                } else {
                    wait_for("the thief", || has_run.load(SeqCst) >= STOLEN);
                }
            },
        );
        assert_eq!(run.states[1][..STOLEN], order, "{first}");
    }
}

#[test]
fn parameters_reach_the_queues() {
    let _watchdog = watchdog("a parameter");
    fn computes<P: Pool>(settings: P::Settings) -> filch::ThreadPool<P> {
        assert!(!format!("{settings:?}").is_empty());
        let pool = Builder::<P>::new().workers(2).settings(settings).build().unwrap();
        assert_eq!(pool.run(|w| fib(w, 15)), 610);
        pool
    }
    let greedy = lace::Policies { grow: Amount::All, shrink: Amount::One, steal: Amount::All, ..Default::default() };
    computes::<Queued<Lace>>(QueueSettings::of(greedy).loot(3));
    let deferred = dsq::Params { copying: dsq::Copying::Deferred, ..Default::default() };
    computes::<Queued<Dsq>>(QueueSettings::of(deferred).clone());
    computes::<Queued<PdqRAsync>>(QueueSettings::of(pdq::receiver::Params { share: Amount::All }).loot(usize::MAX));
    computes::<Wool>(WoolSettings::default().chunk(NonZeroU32::MIN).privatise_after(NonZeroU32::MIN));
    computes::<Wool<1, 1>>(WoolSettings::default().chunk(NonZeroU32::MAX));
    computes::<Heartbeat<ChaseLev, Request>>(HeartbeatSettings::default().clone());
    // One beat at each worker's first fork, and none for an hour.
    let hourly = HeartbeatSettings::<_, Clock>::of(Period(Duration::from_secs(3600)), ());
    // A worker that waits for a thief promotes what it has before it sleeps.
    let mut totals = (0..).map(|_| computes::<Heartbeat<ChaseLev>>(hourly.clone()).stats().total());
    let total = totals.find(|total| total.steals == 0).expect("an endless number of runs");
    assert!((1..=2).contains(&total.grows), "{total}");
}

#[test]
fn contradictory_settings_are_refused_with_a_reason() {
    let refused = |built: Result<_, BuildError>, words: &str| match built {
        Err(BuildError::Unfit(why)) => {
            assert!(why.contains(words), "{why}");
            assert_eq!(BuildError::Unfit(why).to_string(), why);
        }
        other => panic!("{words}: {other:?}"),
    };
    for wait in [Wait::Leapfrog, Wait::Transitive] {
        let built = looting::<Lace>(2).wait(wait).build();
        match wait {
            Wait::Transitive => assert!(matches!(built, Err(BuildError::Wait(_)))),
            _ => refused(built.map(drop), "leapfrog"),
        }
    }
    refused(looting::<PdqRAsync>(2).interrupts(Interrupts::signal()).build().map(drop), "signal");
    let never = HeartbeatSettings::<ChaseLev>::of(Period(Duration::ZERO), ());
    refused(Builder::<Heartbeat<ChaseLev>>::new().workers(2).settings(never).build().map(drop), "zero");
    // Owners that answer no requests are not interrupted.
    assert!(looting::<Locked>(2).interrupts(Interrupts::signal()).build().is_ok());
    assert!(looting::<PdqRAsync>(2).interrupts(Interrupts::flag()).build().is_ok());
}

/// A deque that notes which threads make it.
struct Noted;

static MAKERS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

// SAFETY: as the deque.
unsafe impl Queue for Noted {
    type Owner = <ChaseLev as Queue>::Owner;
    type Thief = <ChaseLev as Queue>::Thief;
    type Params = ();

    const PROMISES: Promises = <ChaseLev as Queue>::PROMISES;

    fn make(capacity: usize, thieves: usize, (): &()) -> (Self::Owner, Vec<Self::Thief>) {
        MAKERS.lock().unwrap().push(thread::current().id());
        <ChaseLev as Queue>::make(capacity, thieves, &())
    }
}

/// The system takes memory from the node of the processor that first writes to it.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the system may not tell its processors")]
#[cfg_attr(miri, ignore = "as above")]
fn the_queue_of_a_pinned_worker_is_made_by_a_thread_of_its_own() {
    let pool = |pin| drop(Builder::<Queued<Noted>>::new().workers(3).pin(pin).build().unwrap());
    let list = |pin| drop(Worklist::new(3).pin(pin).queue::<Noted>(()).start().unwrap());
    for build in [&pool as &dyn Fn(bool), &list] {
        for pin in [false, true] {
            build(pin);
            let mut makers = std::mem::take(&mut *MAKERS.lock().unwrap());
            assert_eq!((makers.len(), makers.contains(&thread::current().id())), (3, !pin));
            makers.dedup();
            assert_eq!(makers.len(), if pin { 3 } else { 1 });
        }
    }
}
