//! Tasks that block, and the spare workers that work meanwhile.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

use common::{EveryPool, WORKERS, pool, throw, thrown_by, times, wait_for, watchdog};
use filch::pool::{Heartbeat, Pool, Queued, Request, Split, Wool};
use filch::{BuildError, Builder, ThreadPool, Wait, blocking, current_index};
use filch_queue::{ChaseLev, Lace};

fn with_spares(workers: usize, spares: usize) -> ThreadPool {
    ThreadPool::builder().workers(workers).spares(spares).build().unwrap()
}

#[test]
fn what_a_blocked_worker_waits_for_runs_on_a_spare_of_every_pool() {
    let _watched = watchdog("what a blocked worker waits for runs on a spare of every pool");
    struct Blocks;
    impl EveryPool for Blocks {
        fn with<P: Pool>(&self) {
            for &wait in Wait::EVERY {
                if wait == Wait::Transitive && !P::TRANSITIVE {
                    continue;
                }
                let pool = Builder::<P>::new().workers(1).spares(1).wait(wait).build().unwrap();
                for _ in 0..times(20, 2) {
                    let (sender, receiver) = channel();
                    let spawned = pool.install(move || {
                        filch::spawn(move || sender.send(current_index()).unwrap());
                        (blocking(|| receiver.recv().unwrap()), current_index())
                    });
                    assert_ne!(spawned.0, spawned.1);
                }
            }
        }
    }
    Blocks.every();
}

#[test]
fn forks_of_a_blocked_worker_are_stolen() {
    fn forks<P: Pool>() {
        for &wait in Wait::EVERY {
            if wait == Wait::Transitive && !P::TRANSITIVE {
                continue;
            }
            let pool = Builder::<P>::new().workers(1).spares(1).wait(wait).build().unwrap();
            for _ in 0..times(20, 2) {
                let both = Barrier::new(2);
                let here = || {
                    both.wait();
                    current_index()
                };
                // At any depth, and in both styles.
                let forked = pool.install(|| filch::join(|| filch::join(|| blocking(here), || ()).0, here));
                assert_ne!(forked.0, forked.1);
                let forked = pool.run(|mut w| w.join(|mut w| w.join(|mut w| w.blocking(here), |_| ()).0, |_| here()));
                assert_ne!(forked.0, forked.1);
            }
        }
    }
    let _watched = watchdog("forks of a blocked worker are stolen");
    forks::<Split>();
    forks::<Wool>();
    forks::<Queued<ChaseLev>>();
    forks::<Queued<Lace>>();
    forks::<Heartbeat<ChaseLev, Request>>();
}

#[test]
fn spares_work_only_while_they_are_needed() {
    let _watched = watchdog("spares work only while they are needed");
    for workers in WORKERS {
        let pool = with_spares(workers, 2);
        let are_apart = || {
            let items = times(2000, 50);
            let on_spares = AtomicUsize::new(0);
            let count = |_| _ = on_spares.fetch_add(usize::from(current_index() >= Some(workers)), SeqCst);
            pool.install(|| filch::for_each(0..items, count));
            on_spares.into_inner() == 0
        };
        for _ in 0..10 {
            assert!(are_apart(), "nobody has blocked");
        }
        for _ in 0..times(20, 2) {
            let (sender, receiver) = channel();
            pool.install(move || {
                filch::spawn(move || sender.send(()).unwrap());
                blocking(|| receiver.recv()).unwrap();
            });
            wait_for("that spares rest", are_apart);
        }
        // Broadcasts wake them, and only for that.
        assert!(pool.broadcast(|w| w.index()).into_iter().eq(0..workers + 2));
        wait_for("that spares rest", are_apart);
    }
}

/// More than there are spares: those that cannot be replaced hold their places.
#[test]
fn many_workers_block_at_once() {
    let _watched = watchdog("many workers block at once");
    for (workers, spares) in [(1, 1), (2, 2), (2, 8), (8, 1)] {
        let pool = with_spares(workers, spares);
        for _ in 0..times(10, 2) {
            // As many as can block, and one that ends it.
            let met = Arc::new(Barrier::new(workers + spares));
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..workers + spares {
                let (met, ran) = (Arc::clone(&met), Arc::clone(&ran));
                pool.spawn(move || {
                    blocking(|| met.wait());
                    ran.fetch_add(1, SeqCst);
                });
            }
            pool.wait_idle();
            assert_eq!(ran.load(SeqCst), workers + spares);
        }
        let sum = pool.install(|| {
            filch::map_reduce(
                0..times(1000, 20),
                0,
                |n| blocking(|| blocking(|| filch::join(|| n, || n)).0),
                |a, b| a + b,
            )
        });
        assert_eq!(sum, (0..times(1000, 20)).sum());
    }
}

#[test]
fn without_spares_it_only_calls() {
    assert_eq!(blocking(|| 1), 1);
    let single = pool(1, Wait::default());
    assert_eq!(single.install(|| blocking(current_index)), Some(0));
    assert_eq!(single.run(|mut w| w.blocking(current_index)), Some(0));
    let too_many = ThreadPool::builder().workers(1).spares(filch::MAX_WORKERS).build();
    assert!(matches!(too_many, Err(BuildError::Workers(_))));
}

#[test]
fn a_panic_while_blocked_leaves_the_pool_as_it_was() {
    let _watched = watchdog("a panic while blocked leaves the pool as it was");
    let pool = with_spares(1, 1);
    for _ in 0..times(50, 3) {
        assert_eq!(thrown_by(|| pool.install(|| blocking(|| throw(1)))), 1);
        assert_eq!(thrown_by(|| pool.run(|mut w| w.blocking(|| throw(2)))), 2);
    }
    let (sender, receiver) = channel();
    pool.install(move || {
        filch::spawn(move || sender.send(3).unwrap());
        assert_eq!(blocking(|| receiver.recv()), Ok(3));
    });
}

#[test]
fn a_dropped_pool_ends_what_blocks() {
    let _watched = watchdog("a dropped pool ends what blocks");
    for workers in WORKERS {
        for round in 0..times(50, 2) {
            let (pool, ran) = (with_spares(workers, 1), Arc::new(AtomicUsize::new(0)));
            for _ in 0..workers {
                let (sender, receiver) = channel();
                let counts = Arc::clone(&ran);
                pool.spawn(move || {
                    filch::spawn(move || sender.send(()).unwrap());
                    blocking(|| receiver.recv()).unwrap();
                    counts.fetch_add(1, SeqCst);
                });
            }
            if round % 2 == 0 {
                drop(pool.broadcast(|_| ()));
            }
            drop(pool);
            assert_eq!(ran.load(SeqCst), workers);
        }
    }
}
