//! Loops whose bodies fork, loops with a state for each worker, and values that belong to workers.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::cell::Cell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use common::{Counted, EveryPool, WORKERS, pool, throw, thrown_by, times, wait_for, watchdog};
use filch::pool::Pool;
use filch::{Builder, PerWorker, ThreadPool, Wait, Worker, current_index};

fn fib<P: Pool>(mut w: Worker<'_, P>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib(w, n - 1), move |w| fib(w, n - 2));
    a + b
}

#[test]
fn bodies_fork_and_loop_on_every_pool() {
    let _watched = watchdog("bodies fork and loop on every pool");
    struct Loops;
    impl EveryPool for Loops {
        fn with<P: Pool>(&self) {
            let items = times(60, 6);
            for workers in WORKERS {
                let pool = Builder::<P>::new().workers(workers).build().unwrap();
                let mut rows = vec![vec![1_u64; items]; items];
                pool.run(|mut w| {
                    w.for_each_with(&mut rows[..], |mut w, row| {
                        w.for_each_with(&mut row[..], |w, x| *x += fib(w, 5));
                    });
                });
                assert!(rows.iter().flatten().all(|&x| x == 6));
                let row = |mut w: Worker<'_, P>, row: &Vec<u64>| {
                    w.map_reduce_with(&row[..], 0, |w, x| x + fib(w, 4), |a, b| a + b)
                };
                let sum = pool.run(|mut w| w.map_reduce_with(&rows[..], 0, row, |a, b| a + b));
                assert_eq!(sum, 9 * (items * items) as u64);
                let append = |mut w: Worker<'_, P>, mut list: Vec<usize>, block: std::ops::Range<usize>| {
                    list.extend(block.map(|n| w.join(|_| n, |_| 0).0));
                    list
                };
                let list = pool
                    .run(|mut w| w.fold_blocks_with(0..items, Vec::new, append, |left, right| [left, right].concat()));
                assert!(list.into_iter().eq(0..items));
            }
        }
    }
    Loops.every();
}

/// A loop within short items of another one lends its items if they are long this time.
#[test]
fn long_loops_within_short_items_are_shared() {
    let _watched = watchdog("long loops within short items are shared");
    const OUTER: usize = 20_000;
    let pool = pool(2, Wait::default());
    let runners = [(); 2].map(|()| AtomicUsize::new(0));
    let inner = |outer: usize| {
        filch::par(0..64_usize).for_each(|n| {
            if outer == OUTER - 100 {
                runners[current_index().unwrap()].fetch_add(1, SeqCst);
                std::thread::sleep(Duration::from_micros(100));
                if n >= 32 {
                    wait_for("a theft from the long loop", || {
                        filch::poll();
                        runners.iter().all(|ran| ran.load(SeqCst) > 0)
                    });
                }
            }
        });
    };
    pool.install(|| filch::par(0..OUTER).for_each(inner));
    assert_eq!(runners.into_iter().map(AtomicUsize::into_inner).sum::<usize>(), 64);
}

/// The handle of a body has the exact head: a thief takes what the body forks, while the body waits for it.
#[test]
fn thieves_see_what_bodies_fork() {
    let _watched = watchdog("thieves see what bodies fork");
    for workers in [2, 8] {
        for &wait in Wait::EVERY {
            let pool = pool(workers, wait);
            let both = Barrier::new(2);
            pool.run(|mut w| {
                w.for_each_with(0..times(40, 4), |mut w, n| {
                    // Only one pair at a time, so that a worker is free for the second branch.
                    if n == 0 {
                        w.join(|_| _ = both.wait(), |_| _ = both.wait());
                    }
                });
            });
        }
    }
}

#[test]
fn bodies_with_handles_end_loops_early() {
    let _watched = watchdog("bodies with handles end loops early");
    for workers in WORKERS {
        let pool = pool(workers, Wait::default());
        let ran = AtomicUsize::new(0);
        let found = pool.run(|mut w| {
            w.try_for_each_with(0..usize::MAX, |w, n| {
                ran.fetch_add(1, SeqCst);
                if n == 100 { Err(fib(w, 10)) } else { Ok(()) }
            })
        });
        assert_eq!(found, Err(55));
        assert!(ran.into_inner() >= 1);
        let row = |mut w: Worker<'_>, row: u64| {
            w.try_map_reduce_with(0..row, 0, |w, n| if n < 50 { Ok(fib(w, 1)) } else { Err(n) }, |a, b| a + b)
        };
        assert_eq!(pool.run(|mut w| w.try_map_reduce_with(0..51, 0, row, |a, b| a + b)), Ok(50 * 51 / 2));
        assert_eq!(pool.run(|mut w| w.try_map_reduce_with(0..52, 0, row, |a, b| a + b)), Err(50));
    }
}

#[test]
fn panics_in_bodies_with_handles_come_out() {
    let _watched = watchdog("panics in bodies with handles come out");
    let alive = AtomicUsize::new(0);
    for workers in WORKERS {
        let pool = pool(workers, Wait::default());
        for item in [0, 7, 99] {
            let body = |mut w: Worker<'_>, n: usize| {
                let _value = Counted::new(&alive);
                w.join(
                    |_| {
                        if n == item {
                            throw(n)
                        }
                    },
                    |_| Counted::new(&alive),
                );
            };
            assert_eq!(thrown_by(|| pool.run(|mut w| w.for_each_with(0..100, body))), item);
            let state = |value: &mut Counted<'_>, n: usize| {
                assert!(value.0.load(SeqCst) > 0);
                if n == item {
                    throw(n);
                }
            };
            let init = || Counted::new(&alive);
            assert_eq!(thrown_by(|| pool.run(|mut w| w.for_each_init(0..100, init, state))), item);
            assert_eq!(thrown_by(|| pool.install(|| filch::for_each_init(0..100, init, state))), item);
            assert_eq!(thrown_by(|| pool.install(|| filch::for_each_init(0..100, || throw(3), |(), _| ()))), 3);
            assert_eq!(alive.load(SeqCst), 0);
        }
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
    }
}

#[test]
fn a_neutral_sum_need_be_neither_clone_nor_sync() {
    let _watched = watchdog("a neutral sum need be neither clone nor sync");
    struct Sum(Cell<u64>);
    let add = |a: Sum, b: Sum| Sum(Cell::new(a.0.get() + b.0.get()));
    let zero = || Sum(Cell::new(0));
    let fold = |sum: Sum, block: std::ops::Range<u64>| {
        block.for_each(|n| sum.0.set(sum.0.get() + n));
        sum
    };
    let items = times(10_000, 100) as u64;
    for workers in WORKERS {
        let pool = pool(workers, Wait::default());
        let map = |n| Sum(Cell::new(n));
        let sums = [
            pool.run(|mut w| w.map_reduce_from(0..items, zero, map, add)),
            pool.run(|mut w| w.fold_blocks_from(0..items, zero, fold, add)),
            pool.install(|| filch::map_reduce_from(0..items, zero, map, add)),
            pool.install(|| filch::fold_blocks_from(0..items, zero, fold, add)),
        ];
        assert!(sums.into_iter().all(|sum| sum.0.get() == items * (items - 1) / 2));
        assert_eq!(pool.install(|| filch::map_reduce_from(0..0, || 7, |n: i32| n, |a, b| a + b)), 7);
    }
}

#[test]
fn loops_have_a_state_for_each_worker() {
    let _watched = watchdog("loops have a state for each worker");
    let items = times(20_000, 100);
    for workers in WORKERS {
        let pool = pool(workers, Wait::default());
        let made = AtomicUsize::new(0);
        let init = || {
            made.fetch_add(1, SeqCst);
            current_index().expect("a worker makes it")
        };
        let alone = |state: &mut usize, n: usize| {
            assert_eq!(Some(*state), current_index());
            n
        };
        let all = items * (items - 1) / 2;
        for in_handle_style in [false, true] {
            let sum = if in_handle_style {
                pool.run(|mut w| w.map_reduce_init(0..items, init, 0, alone, |a, b| a + b))
            } else {
                pool.install(|| filch::map_reduce_init(0..items, init, 0, alone, |a, b| a + b))
            };
            assert_eq!(sum, all);
            assert!((1..=workers).contains(&made.swap(0, SeqCst)), "nothing waits in it");
        }
    }
}

/// A worker that waits in an item runs other items of the same loop, with another state.
#[test]
fn items_that_wait_keep_their_state() {
    let _watched = watchdog("items that wait keep their state");
    for workers in WORKERS {
        let pool = pool(workers, Wait::Random);
        pool.install(|| {
            filch::for_each_init(
                0..times(500, 10),
                || usize::MAX,
                |state, n| {
                    *state = n;
                    filch::join(|| assert_eq!(filch::join(|| n, || n), (n, n)), std::thread::yield_now);
                    assert_eq!(*state, n);
                },
            );
        });
    }
}

#[test]
fn workers_have_their_values() {
    let _watched = watchdog("workers have their values");
    for workers in WORKERS {
        let pool = pool(workers, Wait::Random);
        let mut counts = PerWorker::new(|| (current_index(), 0));
        let items = times(10_000, 50);
        pool.install(|| {
            filch::for_each(0..items, |n| {
                let mut count = counts.get();
                assert_eq!(count.0, current_index());
                count.1 += 1;
                if n % 100 == 0 {
                    // Another task may use another value of this worker meanwhile.
                    filch::join(|| (), || counts.get().1 += 1);
                }
            });
        });
        // All of them, by worker.
        let numbers: Vec<_> = counts.iter_mut().map(|count| count.0).collect();
        assert!(numbers.is_sorted() && numbers.iter().all(Option::is_some));
        assert_eq!(counts.into_iter().map(|count| count.1).sum::<usize>(), items + items.div_ceil(100));
    }
}

#[test]
fn a_nested_use_has_another_value() {
    let alive = AtomicUsize::new(0);
    let values = PerWorker::new(|| Counted::new(&alive));
    let pool = ThreadPool::new(1).unwrap();
    pool.install(|| {
        for _ in 0..3 {
            let _outer = values.get();
            filch::join(|| drop(values.get()), || drop(values.get()));
        }
    });
    assert_eq!(alive.load(SeqCst), 2, "one for each level");
    let panics = || {
        let _value = values.get();
        throw(4)
    };
    assert_eq!(thrown_by(|| pool.install(panics)), 4);
    assert_eq!(alive.load(SeqCst), 2, "a panic leaves the value");
    // A leaked guard keeps its value, and nobody misses it.
    std::mem::forget(values.get());
    drop(values.get());
    assert_eq!(alive.load(SeqCst), 4, "threads outside have a place too");
    drop(values);
    assert_eq!(alive.load(SeqCst), 1);
}

#[test]
fn threads_of_all_pools_may_use_the_same_values() {
    let _watched = watchdog("threads of all pools may use the same values");
    let sums = PerWorker::new(usize::default);
    let rounds = times(1000, 10);
    let pools: Vec<ThreadPool> = WORKERS.iter().map(|&workers| pool(workers, Wait::Random)).collect();
    std::thread::scope(|s| {
        for pool in &pools {
            s.spawn(|| pool.install(|| filch::for_each(0..rounds, |_| *sums.get() += 1)));
            s.spawn(|| (0..rounds).for_each(|_| *sums.get() += 1));
        }
    });
    assert_eq!(sums.into_iter().sum::<usize>(), 2 * pools.len() * rounds);
}
