//! Thread pools: how they are built, entered, nested and dropped.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use common::{EveryPool, pool, wait_for, watchdog};
use filch::pool::{Heartbeat, Pool, QueueSettings, Queued, Request, Split};
use filch::{BuildError, Builder, MIN_STACK_SIZE, ThreadPool, Wait, Worker};
use filch_queue::pdq::{one_step, sender};
use filch_queue::{ChaseLev, PdqS, PdqSAtOnce, Queue};

fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}

fn count(total: &AtomicUsize) {
    total.fetch_add(1, SeqCst);
}

fn fib_by_closures(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(move || fib_by_closures(n - 1), move || fib_by_closures(n - 2));
    a + b
}

#[test]
fn settings_out_of_range_are_refused() {
    let workers = |n| ThreadPool::builder().workers(n).build();
    assert!(matches!(workers(0), Err(BuildError::Workers(0))));
    let too_many = filch::MAX_WORKERS + 1;
    assert!(matches!(workers(too_many), Err(BuildError::Workers(n)) if n == too_many));
    let capacity = |n| ThreadPool::builder().workers(1).task_capacity(n).build();
    assert!(matches!(capacity(0), Err(BuildError::Capacity(0))));
    let too_large = filch::MAX_TASK_CAPACITY + 1;
    assert!(matches!(capacity(too_large), Err(BuildError::Capacity(n)) if n == too_large));
    let transitive = Builder::<Queued<ChaseLev>>::new().workers(1).wait(Wait::Transitive).build();
    assert!(matches!(transitive, Err(BuildError::Wait(Wait::Transitive))));
    for error in [workers(0).err(), workers(too_many).err(), capacity(0).err(), transitive.err()] {
        assert!(!error.unwrap().to_string().is_empty());
    }
}

#[test]
fn every_pool_waits_by_every_strategy() {
    let _watchdog = watchdog("a strategy");
    struct Compute;
    impl EveryPool for Compute {
        fn with<P: Pool>(&self) {
            for &wait in Wait::EVERY {
                if wait == Wait::Transitive && !P::TRANSITIVE {
                    continue;
                }
                for workers in [1, 2, 8] {
                    for capacity in [3, 1 << 12] {
                        let builder = Builder::<P>::new().workers(workers).wait(wait).task_capacity(capacity);
                        let pool = builder.build().unwrap();
                        assert_eq!((pool.workers(), pool.wait()), (workers, wait));
                        assert_eq!(pool.run(|w| fib(w, 18)), 2584);
                        assert_eq!(pool.install(|| fib_by_closures(18)), 2584);
                    }
                }
            }
        }
    }
    Compute.every();
}

/// Forks in the iterator, the branches and the fold of a list.
fn forking_list(lengths: usize) -> u64 {
    let items = (0..lengths).map(|i| (i, fib_by_closures(6)));
    let each = |(i, item): (usize, u64)| {
        let large = [filch::fork_all(0..i, |j| fib_by_closures(j as u64 % 5), 0, |sum, next| sum + next); 9];
        (large, item)
    };
    filch::fork_all(items, each, 0, |sum, (large, item)| sum + large[8] + item + fib_by_closures(3))
}

#[test]
fn every_part_of_a_list_of_forks_may_fork_in_closure_style() {
    let _watchdog = watchdog("a list of forks");
    struct Lists;
    impl EveryPool for Lists {
        fn with<P: Pool>(&self) {
            // Of fib(0) to fib(4), again and again.
            let below = |i: usize| (0..i).map(|j| [0, 1, 1, 2, 3][j % 5]).sum::<u64>();
            let sum = |lengths: usize| (0..lengths).map(|i| below(i) + 8 + 2).sum::<u64>();
            for workers in [1, 2, 8] {
                for capacity in [3, 1 << 12] {
                    let pool = Builder::<P>::new().workers(workers).task_capacity(capacity).build().unwrap();
                    for lengths in [0, 1, 2, 40] {
                        assert_eq!(pool.install(|| forking_list(lengths)), sum(lengths));
                        let inside = |w: Worker<'_, P>| (forking_list(lengths), fib(w, 5), forking_list(lengths));
                        let below = pool.run(|mut w| w.join(inside, inside));
                        assert_eq!(below, ((sum(lengths), 5, sum(lengths)), (sum(lengths), 5, sum(lengths))));
                    }
                }
            }
            assert_eq!(forking_list(20), sum(20), "from outside");
        }
    }
    Lists.every();
}

#[test]
fn a_heartbeat_pool_promotes_on_a_beat_and_not_before() {
    let _watchdog = watchdog("a beat");
    fn alone<P: Pool>() {
        let pool = Builder::<P>::new().workers(1).build().unwrap();
        assert_eq!(pool.run(|w| fib(w, 15)), 610);
        let total = pool.stats().total();
        assert_eq!((total.grows, total.shrinks, total.requests), (0, 0, 0), "there is no thief to promote for");
    }
    alone::<Heartbeat<ChaseLev>>();
    alone::<Heartbeat<ChaseLev, Request>>();
    for _ in 0..20 {
        let pool = Builder::<Heartbeat<ChaseLev>>::new().workers(2).build().unwrap();
        assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
        let total = pool.stats().total();
        assert_eq!(total.grows, 1, "the first fork finds a beat due");
        assert_eq!(total.shrinks + total.steals, 1, "taken back or stolen: {total}");
    }
}

#[test]
fn workers_know_their_numbers_names_and_hooks() {
    let _watchdog = watchdog("a hook");
    let (started, exited) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let note = |list: &Arc<Mutex<Vec<usize>>>| {
        let list = Arc::clone(list);
        move |index| list.lock().unwrap().push(index)
    };
    let builder = ThreadPool::builder().workers(4).thread_name(|i| format!("number {i}"));
    let pool = builder.on_start(note(&started)).on_exit(note(&exited)).build().unwrap();
    pool.run(|mut w| {
        assert_eq!(w.workers(), 4);
        let seen = w.fork_all(
            0..200,
            |w, _| (w.index(), thread::current().name().map(str::to_owned)),
            HashSet::new(),
            |mut seen, who| {
                seen.insert(who);
                seen
            },
        );
        for (index, name) in seen {
            assert!(index < 4);
            assert_eq!(name, Some(format!("number {index}")));
        }
    });
    drop(pool);
    for list in [started, exited] {
        let mut list = list.lock().unwrap().clone();
        list.sort_unstable();
        assert_eq!(list, [0, 1, 2, 3], "each worker once");
    }
}

#[test]
fn many_threads_call_at_once() {
    let _watchdog = watchdog("a call from outside");
    for workers in [1, 2, 8] {
        let pool = pool(workers, Wait::default());
        thread::scope(|s| {
            for caller in 0..16 {
                let pool = &pool;
                s.spawn(move || {
                    for round in 0..30 {
                        match (caller + round) % 3 {
                            0 => assert_eq!(pool.run(|w| fib(w, 10)), 55),
                            1 => assert_eq!(pool.install(|| fib_by_closures(10)), 55),
                            _ => assert_eq!(pool.run(|_| caller), caller),
                        }
                    }
                });
            }
        });
    }
}

/// An idle worker's request stands while it finds jobs from outside and its own spawned ones, sleeps, and wakes: a task
/// dealt to it meanwhile is run all the same, by it or by others.
#[test]
fn what_is_dealt_to_a_worker_that_does_something_else_is_run() {
    fn check<Q: Queue>(params: Q::Params) {
        const { assert!(Q::STANDS) };
        const ROUNDS: usize = if cfg!(miri) { 3 } else { 300 };
        let (jobs, leaves) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let settings = QueueSettings::<Q>::of(params);
        let pool = &Builder::<Queued<Q>>::new().workers(4).settings(settings).build().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (0..ROUNDS).for_each(|_| pool.install(|| filch::join(|| count(jobs), || count(jobs))).0));
            for _ in 0..ROUNDS {
                pool.scope(|s| {
                    (0..3).for_each(|_| s.spawn(|_| count(jobs)));
                    (0..8).for_each(|_| s.spawn(|_| _ = filch::join(|| count(leaves), || count(leaves))));
                });
            }
        });
        // Only who sleeps is there to meet the caller's branch; who fell asleep idle for all would be dealt the other.
        for _ in 0..ROUNDS / 3 {
            let begun = &AtomicBool::new(false);
            let meets = || {
                while !begun.load(SeqCst) {
                    filch::poll();
                    thread::yield_now();
                }
            };
            pool.install(|| filch::join(meets, || begun.store(true, SeqCst)));
            // Most often long enough for workers to fall asleep.
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((jobs.load(SeqCst), leaves.load(SeqCst)), (ROUNDS * (2 + 3), ROUNDS * 16));
    }
    let _watchdog = watchdog("a worker to which a task was dealt");
    check::<PdqS>(sender::Params { gap: Duration::ZERO, ..sender::Params::default() });
    check::<PdqSAtOnce>(one_step::Params { gap: Duration::ZERO });
}

#[test]
fn free_functions_use_the_global_pool() {
    let _watchdog = watchdog("the global pool");
    assert_eq!(fib_by_closures(15), 610);
    let large = filch::join(|| [1_u64; 30], || [2_u64; 30]);
    assert_eq!(large, ([1; 30], [2; 30]));
    assert_eq!(filch::map_reduce(0..1000_u64, 0, |i| i, |a, b| a + b), 499_500);
    assert!(ThreadPool::global().workers() >= 1);
    assert!(filch::scope(|_| filch::inside::host::workers_here()).is_some(), "on one of its workers");
}

#[test]
fn two_pools_of_one_worker_install_into_each_other() {
    let _watchdog = watchdog("mutual install");
    fn alternate(here: &ThreadPool, there: &ThreadPool, depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let (a, b) = filch::join(
            || there.install(|| alternate(there, here, depth - 1)),
            || there.run(|mut w| w.join(|_| alternate(there, here, depth - 1), |_| 0).0),
        );
        a + b
    }
    for &wait in Wait::EVERY {
        let (one, two) = (pool(1, wait), pool(1, wait));
        thread::scope(|s| {
            let from = |here, there| move || assert_eq!(ThreadPool::install(here, || alternate(here, there, 6)), 64);
            s.spawn(from(&one, &two));
            s.spawn(from(&two, &one));
            s.spawn(from(&one, &two));
        });
    }
}

#[test]
fn dropping_a_pool_finishes_spawned_jobs() {
    let _watchdog = watchdog("a drop with work in flight");
    fn spread(left: usize, ran: &Arc<AtomicUsize>) {
        ran.fetch_add(1, SeqCst);
        for _ in 0..2 * usize::from(left > 0) {
            let ran = Arc::clone(ran);
            filch::spawn(move || spread(left - 1, &ran));
        }
    }
    for workers in [1, 2, 8] {
        for _ in 0..20 {
            let ran = Arc::new(AtomicUsize::new(0));
            let pool = pool(workers, Wait::default());
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                pool.spawn(move || spread(4, &ran));
            }
            drop(pool);
            assert_eq!(ran.load(SeqCst), 10 * 31);
        }
    }
}

#[test]
fn a_task_may_drop_its_own_pool() {
    let _watchdog = watchdog("a pool dropped by its own task");
    for workers in [1, 4] {
        let (sender, exits) = channel();
        let sender = Mutex::new(sender);
        let on_exit = move |index| sender.lock().unwrap().send(index).unwrap();
        let pool = Arc::new(ThreadPool::builder().workers(workers).on_exit(on_exit).build().unwrap());
        let slot = Arc::new(OnceLock::new());
        let (kept, ready) = (Arc::clone(&pool), Arc::clone(&slot));
        pool.spawn(move || {
            wait_for("the signal", || ready.get().is_some());
            assert!(Arc::into_inner(kept).is_some(), "the last handle is here");
            filch::spawn(|| ());
            assert_eq!(filch::join(|| 1, || 2), (1, 2), "the worker still works");
        });
        drop(pool);
        slot.set(()).unwrap();
        let mut exited: Vec<usize> = (0..workers).map(|_| exits.recv_timeout(common::PATIENCE).unwrap()).collect();
        exited.sort_unstable();
        assert!(exited.into_iter().eq(0..workers));
    }
}

/// A worker calls the hook, and cannot wait for its own thread.
#[test]
fn a_hook_may_fork_and_drop_its_own_pool() {
    let _watchdog = watchdog("a pool dropped by its hook");
    fn dropped_at_start<P: Pool>(workers: usize) {
        let (sender, exits) = channel();
        let place: Arc<OnceLock<Mutex<Option<ThreadPool<P>>>>> = Arc::default();
        let start = Arc::clone(&place);
        let builder = Builder::<P>::new().workers(workers).on_start(move |_| {
            assert_eq!(filch::join(|| 1, || 2), (1, 2));
            wait_for("the pool", || start.get().is_some());
            drop(start.get().and_then(|pool| pool.lock().unwrap().take()));
        });
        let pool = builder.on_exit(move |index| sender.send(index).unwrap()).build().unwrap();
        assert!(place.set(Mutex::new(Some(pool))).is_ok());
        let mut exited: Vec<usize> = (0..workers).map(|_| exits.recv_timeout(common::PATIENCE).unwrap()).collect();
        exited.sort_unstable();
        assert!(exited.into_iter().eq(0..workers));
    }
    for workers in [1, 3] {
        dropped_at_start::<Split>(workers);
        dropped_at_start::<Queued<ChaseLev>>(workers);
    }
}

/// A worker with a used-up stack never steals.
#[test]
fn workers_with_tiny_stack_sizes_steal() {
    let _watchdog = watchdog("workers with small stacks");
    for bytes in [0, 1, MIN_STACK_SIZE] {
        let pool = ThreadPool::builder().workers(2).stack_size(bytes).build().unwrap();
        let is_taken = AtomicBool::new(false);
        let waits = || {
            wait_for("a steal", || {
                filch::poll();
                is_taken.load(SeqCst)
            });
        };
        pool.install(|| filch::join(waits, || is_taken.store(true, SeqCst)));
    }
}

#[test]
fn a_worker_of_another_pool_may_drop_a_pool_that_waits_for_it() {
    let _watchdog = watchdog("a pool dropped elsewhere");
    let [dropped, other] = [(); 2].map(|()| Arc::new(ThreadPool::new(1).unwrap()));
    let ((start, started), (end, ended)) = (channel(), channel());
    let asked = Arc::clone(&other);
    dropped.spawn(move || {
        started.recv().unwrap();
        end.send(asked.install(|| 1)).unwrap();
    });
    other.install(|| {
        start.send(()).unwrap();
        assert!(Arc::into_inner(dropped).is_some(), "the last handle is here");
    });
    assert_eq!(ended.try_recv(), Ok(1), "the spawned job has ended");
}

#[test]
fn scopes_borrow_and_nest() {
    let _watchdog = watchdog("a scope");
    for &wait in Wait::EVERY {
        let pool = pool(3, wait);
        let mut squares = vec![0; 1000];
        let total = AtomicUsize::new(0);
        let mut body = || {
            filch::scope(|s| {
                for (i, chunk) in squares.chunks_mut(10).enumerate() {
                    let total = &total;
                    s.spawn(move |s| {
                        for (k, square) in chunk.iter_mut().enumerate() {
                            *square = (i * 10 + k).pow(2);
                        }
                        s.spawn(move |_| {
                            filch::scope(|s| s.spawn(move |_| count(total)));
                        });
                    });
                }
                // A fork in closure style inside handle style.
                filch::join(|| total.fetch_add(0, SeqCst), || fib_by_closures(8)).1
            })
        };
        assert_eq!(pool.run(|_| body()), 21);
        assert_eq!(total.load(SeqCst), 100);
        assert!(squares.iter().enumerate().all(|(i, &square)| square == i * i));
    }
}

/// A scope accepts spawns from threads of other pools and of none.
#[test]
fn scopes_take_spawns_from_elsewhere() {
    let _watchdog = watchdog("a spawn from elsewhere");
    let (here, there) = (pool(1, Wait::Leapfrog), pool(1, Wait::Leapfrog));
    for _ in 0..50 {
        let ran = AtomicUsize::new(0);
        here.install(|| {
            filch::scope(|s| {
                there.install(|| s.spawn(|_| count(&ran)));
                thread::scope(|threads| {
                    threads.spawn(|| s.spawn(|_| count(&ran)));
                });
                s.spawn(|_| count(&ran));
            });
        });
        assert_eq!(ran.load(SeqCst), 3);
    }
}

#[test]
fn programs_are_right_on_a_full_stack() {
    let _watchdog = watchdog("a full stack");
    fn deep(mut w: Worker<'_>, depth: usize) -> usize {
        if depth == 0 { 0 } else { w.join(move |w| deep(w, depth - 1), |_| 1).0 + 1 }
    }
    for (workers, capacity) in [(1, 1), (1, 2), (2, 1), (4, 5), (8, 64)] {
        let pool = ThreadPool::builder().workers(workers).task_capacity(capacity).build().unwrap();
        for _ in 0..10 {
            assert_eq!(pool.run(|w| deep(w, 1000)), 1000);
            let sum = pool.run(|mut w| w.fork_all(0..1000_usize, |_, i| i, 0, |a, b| a + b));
            assert_eq!(sum, 499_500);
        }
        assert!(pool.stats().total().peak_depth <= capacity as u64);
    }
}
