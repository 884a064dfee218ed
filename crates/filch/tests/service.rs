//! What pools do besides running tasks: broadcasts, yields, handlers of panics, and waits until nothing is left.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use common::{Counted, EveryPool, WORKERS, payload_of, pool, throw, thrown_by, times, watchdog};
use filch::pool::Pool;
use filch::{Builder, ThreadPool, Wait, Worker, broadcast, current_index, join_context, yield_now};

#[test]
fn broadcasts_run_once_on_every_worker_of_every_pool() {
    let _watched = watchdog("broadcasts run once on every worker of every pool");
    struct Broadcasts;
    impl EveryPool for Broadcasts {
        fn with<P: Pool>(&self) {
            for workers in WORKERS {
                let pool = Builder::<P>::new().workers(workers).build().unwrap();
                let all: Vec<usize> = (0..workers).collect();
                let forks = |mut w: Worker<'_, P>| w.join(|w| w.index(), |_| 1).0;
                assert_eq!(pool.broadcast(forks), all, "from outside");
                assert_eq!(pool.run(|mut w| w.broadcast(forks)), all, "in handle style");
                let here = |index| {
                    assert_eq!(current_index(), Some(index));
                    index
                };
                assert_eq!(pool.install(|| broadcast(here)), all, "in closure style");
                let (a, b) = pool.install(|| filch::join(|| broadcast(here), || broadcast(here)));
                assert_eq!((a, b), (all.clone(), all), "at once");
            }
        }
    }
    Broadcasts.every();
}

#[test]
fn broadcasts_may_be_nested_and_cross_pools() {
    let _watched = watchdog("broadcasts may be nested and cross pools");
    for &wait in Wait::EVERY {
        for workers in WORKERS {
            let (one, other) = (pool(workers, wait), pool(2, wait));
            let inner = one.broadcast(|mut w| w.broadcast(|w| w.index()).len() + other.broadcast(|_| ()).len());
            assert_eq!(inner, vec![workers + 2; workers]);
            let crossed = one.install(|| other.broadcast(|_| one.broadcast(|_| ()).len()));
            assert_eq!(crossed, [workers; 2]);
        }
    }
}

#[test]
fn a_panic_in_a_broadcast_is_the_first_by_number() {
    let _watched = watchdog("a panic in a broadcast is the first by number");
    let alive = AtomicUsize::new(0);
    for workers in [2, 8] {
        let pool = pool(workers, Wait::default());
        let ran = AtomicUsize::new(0);
        let op = |w: Worker<'_>| {
            ran.fetch_add(1, SeqCst);
            if w.index() > 0 { throw(w.index()) } else { Counted::new(&alive) }
        };
        assert_eq!(thrown_by(|| pool.broadcast(op)), 1);
        assert_eq!(thrown_by(|| pool.run(|mut w| w.broadcast(op))), 1);
        assert_eq!((ran.into_inner(), alive.load(SeqCst)), (2 * workers, 0));
        assert_eq!(pool.broadcast(|_| Counted::new(&alive)).len(), workers);
        assert_eq!(alive.load(SeqCst), 0);
    }
}

/// Workers stay as long as jobs run, since a job may need all of them.
#[test]
fn a_job_of_a_dropped_pool_may_broadcast() {
    let _watched = watchdog("a job of a dropped pool may broadcast");
    for workers in WORKERS {
        for round in 0..times(100, 3) {
            let ran = Arc::new(AtomicUsize::new(0));
            let counts = Arc::clone(&ran);
            let pool = pool(workers, Wait::EVERY[round % 4]);
            pool.spawn(move || {
                thread::yield_now();
                filch::spawn(move || {
                    counts.fetch_add(broadcast(|_| ()).len(), SeqCst);
                });
            });
            drop(pool);
            assert_eq!(ran.load(SeqCst), workers);
        }
    }
}

#[test]
fn branches_learn_whether_they_were_stolen() {
    let _watched = watchdog("branches learn whether they were stolen");
    let single = pool(1, Wait::default());
    assert_eq!(single.install(|| join_context(|a| a, |b| b)), (false, false));
    let large = single.install(|| join_context(|a| (a, [1_u64; 20]), |b| (b, [2_u64; 20])));
    assert_eq!(large, ((false, [1; 20]), (false, [2; 20])));
    for workers in [2, 8] {
        let pool = pool(workers, Wait::default());
        let both = Barrier::new(2);
        let wait = |is_stolen| {
            both.wait();
            (is_stolen, current_index())
        };
        let (a, b) = pool.install(|| join_context(wait, wait));
        assert!(!a.0 && b.0 && a.1 != b.1);
        // From outside all pools the fork as a whole moves.
        let (a, b) = join_context(|a| (a, current_index()), |b| (b, current_index()));
        assert!(!a.0 && a.1.is_some() && b.0 == (a.1 != b.1));
        assert_eq!(thrown_by(|| pool.install(|| join_context(|_| throw(1), |_| ()))), 1);
        assert_eq!(thrown_by(|| pool.install(|| join_context(|_| (), |_| throw(2)))), 2);
    }
}

#[test]
fn a_yielding_task_runs_another_where_the_strategy_admits_it() {
    let _watched = watchdog("a yielding task runs another where the strategy admits it");
    assert!(!yield_now(), "outside all pools");
    for &wait in Wait::EVERY {
        let (pool, is_strict) = (pool(1, wait), matches!(wait, Wait::Leapfrog | Wait::Transitive));
        let ran = Arc::new(AtomicBool::new(false));
        let runs = || {
            let ran = Arc::clone(&ran);
            move || ran.store(true, SeqCst)
        };
        let has_run = pool.install(|| {
            filch::spawn(runs());
            (yield_now(), ran.load(SeqCst))
        });
        assert_eq!(has_run, (!is_strict, !is_strict));
        pool.wait_idle();
        assert!(ran.swap(false, SeqCst));
        let has_run = pool.run(|mut w| {
            let ran = runs();
            w.spawn(move |_| ran());
            w.yield_now()
        });
        assert_eq!(has_run, !is_strict);
        // A fork of its own, too.
        let order = Mutex::new(Vec::new());
        let note = |what| order.lock().unwrap().push(what);
        pool.install(|| {
            filch::join(
                || {
                    yield_now();
                    note("first");
                },
                || note("second"),
            )
        });
        let expected = if is_strict { ["first", "second"] } else { ["second", "first"] };
        assert_eq!(order.into_inner().unwrap(), expected);
    }
}

#[test]
fn a_handler_gets_the_panics_of_jobs_that_nobody_joins() {
    let _watched = watchdog("a handler gets the panics of jobs that nobody joins");
    for workers in WORKERS {
        let payloads = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&payloads);
        let handler = move |payload: Box<dyn std::any::Any + Send>| {
            assert!(current_index().is_some());
            keeps.lock().unwrap().push(payload_of(&*payload));
        };
        let pool = ThreadPool::builder().workers(workers).on_panic(handler).build().unwrap();
        pool.spawn(|| throw(1));
        pool.install(|| filch::spawn(|| throw(2)));
        pool.run(|w| w.spawn(|_| throw(3)));
        // These have somebody who gets their panics.
        assert_eq!(thrown_by(|| pool.install(|| throw(4))), 4);
        pool.spawn_whenever(|| throw(6));
        assert_eq!(payload_of(&*pool.submit(|| throw(5)).join().unwrap_err()), 5);
        pool.wait_idle();
        let mut payloads = std::mem::take(&mut *payloads.lock().unwrap());
        payloads.sort_unstable();
        assert_eq!(payloads, [1, 2, 3, 6]);
        assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
    }
}

/// Spawns a tree of jobs of this depth on the current pool.
fn tree(depth: usize, ran: &Arc<AtomicUsize>) {
    for left in 0..depth {
        let counts = Arc::clone(ran);
        filch::spawn(move || {
            tree(left, &counts);
            counts.fetch_add(1, SeqCst);
            if left == 0 {
                throw(0);
            }
        });
    }
}

#[test]
fn an_idle_pool_has_run_everything() {
    let _watched = watchdog("an idle pool has run everything");
    let depth = times(10, 4);
    for workers in WORKERS {
        let (pool, other) = (pool(workers, Wait::default()), pool(2, Wait::default()));
        pool.wait_idle();
        for wait in [
            |pool: &ThreadPool, _: &ThreadPool| pool.wait_idle(),
            |pool: &ThreadPool, other: &ThreadPool| {
                other.install(|| pool.wait_idle());
            },
        ] {
            let ran = Arc::new(AtomicUsize::new(0));
            let root = Arc::clone(&ran);
            pool.spawn(move || tree(depth, &root));
            let counts = Arc::clone(&ran);
            pool.submit(move || counts.fetch_add(1, SeqCst)).detach();
            wait(&pool, &other);
            assert_eq!(ran.load(SeqCst), 1 << depth);
        }
        // Calls of other threads count too.
        let (begun, ended) = (Barrier::new(2), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                pool.install(|| {
                    begun.wait();
                    (0..100).for_each(|_| thread::yield_now());
                    ended.store(true, SeqCst);
                });
            });
            begun.wait();
            pool.wait_idle();
            assert!(ended.load(SeqCst));
        });
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.install(|| pool.wait_idle())));
        assert!(refused.unwrap_err().downcast_ref::<&str>().unwrap().contains("its own pool"));
    }
}

#[test]
fn a_dropped_pool_has_run_everything() {
    let _watched = watchdog("a dropped pool has run everything");
    for workers in WORKERS {
        for _ in 0..times(20, 2) {
            let (pool, ran) = (pool(workers, Wait::default()), Arc::new(AtomicUsize::new(0)));
            let root = Arc::clone(&ran);
            pool.spawn(move || tree(6, &root));
            drop(pool);
            assert_eq!(ran.load(SeqCst), (1 << 6) - 1);
        }
    }
}
