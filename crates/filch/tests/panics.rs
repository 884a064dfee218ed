//! Panics come out where a sequential run would show them, and leak nothing.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use common::{Counted, payload_of, pool, pool_of, throw, thrown_by, wait_for, watchdog};
use filch::pool::{Heartbeat, Pool, PrivateStack, Queued, Request, Split, Wool};
use filch::{ThreadPool, Wait, Worker};
use filch_queue::ChaseLev;

/// Panics when dropped, with a payload that does the same at one less depth.
struct Evil(u32);

impl Drop for Evil {
    fn drop(&mut self) {
        if let Some(less) = self.0.checked_sub(1) {
            resume_unwind(Box::new(Evil(less)));
        }
    }
}

fn throw_evil() -> ! {
    resume_unwind(Box::new(Evil(3)))
}

/// Returns whether `f` throws an `Evil`, which is never dropped.
fn throws_evil<R>(f: impl FnOnce() -> R) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { return false };
    let is_evil = payload.is::<Evil>();
    filch::inside::host::keep(payload);
    is_evil
}

/// Payloads that nobody sees are dropped, whatever their destructors do, and the first panic continues.
#[test]
fn of_destructors_do_not_come_out() {
    fn go<P: Pool>(workers: usize) {
        let pool = pool_of::<P>(workers, Wait::default());
        for is_stolen in [false, true] {
            let is_stolen = is_stolen && workers > 1;
            let is_taken = AtomicBool::new(false);
            let take = || is_taken.store(true, SeqCst);
            let is_over = || !is_stolen || is_taken.load(SeqCst);
            assert!(throws_evil(|| pool.install(|| {
                filch::join(
                    || {
                        wait_for("a steal", || {
                            filch::poll();
                            is_over()
                        });
                        throw_evil()
                    },
                    || {
                        take();
                        throw_evil()
                    },
                )
            })));
            // A result and a branch's captures have such destructors too.
            is_taken.store(false, SeqCst);
            let captured = Evil(2);
            let first = |mut w: Worker<'_, P>| {
                wait_for("a steal", || {
                    w.poll();
                    is_over()
                });
                throw_evil()
            };
            let second = |_: Worker<'_, P>| {
                take();
                captured
            };
            assert!(throws_evil(|| pool.run(|mut w| w.join(first, second))));
        }
        assert!(throws_evil(|| pool.run(|mut w| w.fork_all(0..9, |_, _| throw_evil(), (), |(), ()| ()))));
        assert!(throws_evil(|| pool.install(|| filch::for_each(0..100, |_| throw_evil()))));
        assert!(throws_evil(|| {
            pool.install(|| {
                filch::scope(|s| {
                    (0..9).for_each(|_| s.spawn(|_| throw_evil()));
                    throw_evil()
                });
            });
        }));
        pool.spawn(|| throw_evil());
        works(&pool);
    }
    let _watchdog = watchdog("payloads with destructors");
    for workers in [1, 2, 4] {
        for _ in 0..10 {
            go::<Split>(workers);
            go::<Wool>(workers);
            go::<PrivateStack>(workers);
            go::<Queued<ChaseLev>>(workers);
        }
    }
}

#[test]
fn of_destructors_leave_no_job_unfinished() {
    let _watchdog = watchdog("jobs whose payloads have destructors");
    for workers in [1, 2, 4] {
        for _ in 0..20 {
            assert!(throws_evil(|| {
                filch::jobs::Jobs::new(workers).run(|w| {
                    (0..20).for_each(|_| w.spawn(|_| throw_evil()));
                    w.wait_for_children();
                });
            }));
            let list = filch::worklist::Worklist::new(workers);
            assert!(throws_evil(|| list.run(0..20_u32, |_| (), |_, (), _| throw_evil())));
        }
    }
}

fn works(pool: &ThreadPool<impl Pool>) {
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    assert_eq!(pool.install(|| filch::join(|| 1, || 2)), (1, 2));
}

#[test]
fn of_a_join_on_one_worker() {
    let _watchdog = watchdog("a panic on one worker");
    let pool = pool(1, Wait::default());
    let alive = AtomicUsize::new(0);
    let b_ran = AtomicBool::new(false);
    let (first, second) = (Counted::new(&alive), Counted::new(&alive));
    let b = |_: Worker<'_>| {
        let _second = second;
        b_ran.store(true, SeqCst);
    };
    let thrown = thrown_by(|| {
        pool.run(|mut w| {
            w.join(
                |_| {
                    let _first = first;
                    throw(1)
                },
                b,
            )
        })
    });
    assert_eq!((thrown, alive.load(SeqCst), b_ran.load(SeqCst)), (1, 0, false), "no thief could start b");
    assert_eq!(thrown_by(|| pool.run(|mut w| w.join(|_| Counted::new(&alive), |_| throw(2)).1)), 2);
    assert_eq!(alive.load(SeqCst), 0, "the result of a is dropped");
    assert_eq!(thrown_by(|| pool.install(|| filch::join(|| throw(3), || throw(4)))), 3);
    works(&pool);
}

/// `a` throws once `b` has been stolen, so the result of `b` is awaited and dropped.
fn stolen<P: Pool>(pool: &ThreadPool<P>) {
    let alive = AtomicUsize::new(0);
    let started = AtomicBool::new(false);
    let is_started = || started.load(SeqCst);
    let thrown = thrown_by(|| {
        pool.run(|mut w| {
            w.join(
                |mut w| {
                    // A queue that shares on request polls at forks.
                    wait_for("a steal", || is_started() || w.join(|_| is_started(), |_| ()).0);
                    throw(1)
                },
                |_| {
                    started.store(true, SeqCst);
                    Counted::new(&alive)
                },
            )
        })
    });
    assert_eq!((thrown, alive.load(SeqCst)), (1, 0));
    works(pool);
}

/// `b` is stolen and throws, with or without `a`.
fn stolen_that_throws<P: Pool>(pool: &ThreadPool<P>, a_throws: bool) {
    let started = AtomicBool::new(false);
    let is_started = || started.load(SeqCst);
    let thrown = thrown_by(|| {
        pool.install(|| {
            filch::join(
                || {
                    wait_for("a steal", || is_started() || filch::join(is_started, || ()).0);
                    if a_throws {
                        throw(1)
                    }
                },
                || {
                    started.store(true, SeqCst);
                    throw(2)
                },
            )
        })
    });
    assert_eq!(thrown, if a_throws { 1 } else { 2 });
    works(pool);
}

#[test]
fn of_stolen_branches() {
    let _watchdog = watchdog("a panic in a stolen branch");
    fn go<P: Pool>(wait: Wait) {
        let pool = pool_of::<P>(2, wait);
        for _ in 0..50 {
            stolen(&pool);
            stolen_that_throws(&pool, false);
            stolen_that_throws(&pool, true);
        }
    }
    for &wait in Wait::EVERY {
        go::<Split>(wait);
        go::<Wool>(wait);
        go::<PrivateStack>(wait);
    }
    go::<Queued<ChaseLev>>(Wait::default());
    go::<Heartbeat<ChaseLev>>(Wait::default());
    go::<Heartbeat<ChaseLev, Request>>(Wait::default());
}

#[test]
fn of_large_branches() {
    let _watchdog = watchdog("a panic with large values");
    let pool = pool(3, Wait::default());
    let alive = AtomicUsize::new(0);
    for thrower in 0..3 {
        let run = || {
            let (a, b) = (([1_u64; 20], Counted::new(&alive)), ([2_u64; 20], Counted::new(&alive)));
            pool.run(|mut w| {
                w.join(
                    move |_| if thrower == 0 { throw(0) } else { a },
                    move |_| if thrower == 1 { throw(1) } else { b },
                )
            })
        };
        if thrower < 2 {
            assert_eq!(thrown_by(run), thrower);
        } else {
            assert_eq!(run().0.0, [1; 20]);
        }
        assert_eq!(alive.load(SeqCst), 0);
    }
}

/// The first panic continues, whatever the destructor of the other branch or of its outcome does, and however large
/// that is.
#[test]
fn of_large_branches_with_evil_destructors() {
    let _watchdog = watchdog("a panic with large values that panic when dropped");
    let pool = pool(2, Wait::default());
    let has_begun = AtomicBool::new(false);
    let waits = || wait_for("the thief", || has_begun.load(SeqCst));
    let large = || ([1_u64; 20], Evil(2));
    let run = || {
        has_begun.store(false, SeqCst);
        let b = large();
        let has_begun = &has_begun;
        let second = move || {
            has_begun.store(true, SeqCst);
            b
        };
        let first = || {
            waits();
            throw_evil()
        };
        throws_evil(|| pool.install(|| filch::join(first, second)))
    };
    let one = common::pool(1, Wait::default());
    assert!(throws_evil(|| one.install(|| filch::join(|| throw_evil(), large))));
    let b = large();
    assert!(throws_evil(|| one.install(|| filch::join(|| throw_evil(), move || b))));
    for _ in 0..10 {
        assert!(run());
    }
    works(&pool);
}

/// Leaves are numbered from `first` on. Leaf `thrower` panics.
#[filch::inline_recursion(3)]
fn leaves<'a>(mut w: Worker<'_>, depth: u32, first: usize, thrower: usize, alive: &'a AtomicUsize) -> Vec<Counted<'a>> {
    let here = Counted::new(alive);
    if depth == 0 {
        return if first == thrower { throw(first) } else { vec![here] };
    }
    let second = first + (1 << (depth - 1));
    let (mut a, b) = w.join(
        move |w| leaves(w, depth - 1, first, thrower, alive),
        move |w| leaves(w, depth - 1, second, thrower, alive),
    );
    a.extend(b);
    a
}

#[filch::inline_recursion(3)]
fn leaves_by_closures(depth: u32, first: usize, thrower: usize, alive: &AtomicUsize) -> Vec<Counted<'_>> {
    if depth == 0 {
        return if first == thrower { throw(first) } else { vec![Counted::new(alive)] };
    }
    let second = first + (1 << (depth - 1));
    let (mut a, b) = filch::join(
        move || leaves_by_closures(depth - 1, first, thrower, alive),
        move || leaves_by_closures(depth - 1, second, thrower, alive),
    );
    a.extend(b);
    a
}

#[test]
fn of_unrolled_recursions() {
    let _watchdog = watchdog("a panic in an unrolled recursion");
    let alive = AtomicUsize::new(0);
    for workers in [1, 3] {
        let pool = pool(workers, Wait::default());
        for thrower in 0..64 {
            assert_eq!(thrown_by(|| pool.run(|w| leaves(w, 6, 0, thrower, &alive))), thrower);
            assert_eq!(alive.load(SeqCst), 0);
            assert_eq!(thrown_by(|| pool.install(|| leaves_by_closures(6, 0, thrower, &alive))), thrower);
            assert_eq!(alive.load(SeqCst), 0);
        }
        assert_eq!(pool.run(|w| leaves(w, 6, 0, 64, &alive)).len(), 64);
        works(&pool);
    }
}

#[test]
fn of_fork_all() {
    fn push<T>(mut v: Vec<T>, item: T) -> Vec<T> {
        v.push(item);
        v
    }
    fn same<T>(item: T) -> T {
        item
    }
    let _watchdog = watchdog("a panic in fork_all");
    let alive = AtomicUsize::new(0);
    for workers in [1, 4] {
        let pool = pool(workers, Wait::default());
        for _ in 0..50 {
            // Newest is joined first: 70 comes before 10.
            let items = || (0..100).map(|i| (i, Counted::new(&alive)));
            let task = |(i, value)| if i == 10 || i == 70 { throw(i) } else { value };
            let by_handle = || drop(pool.run(|mut w| w.fork_all(items(), |_, item| task(item), Vec::new(), push)));
            let by_closure = || drop(pool.install(|| filch::fork_all(items(), task, Vec::new(), push)));
            assert_eq!((thrown_by(by_handle), alive.load(SeqCst)), (70, 0));
            assert_eq!((thrown_by(by_closure), alive.load(SeqCst)), (70, 0));

            let endless = || items().map(|item| if item.0 == 50 { throw(50) } else { item });
            let by_handle = || pool.run(|mut w| w.fork_all(endless(), |_, item| item, (), |(), _| ()));
            let by_closure = || pool.install(|| filch::fork_all(endless(), same, (), |(), _| ()));
            assert_eq!((thrown_by(by_handle), alive.load(SeqCst)), (50, 0), "the iterator's panic");
            assert_eq!((thrown_by(by_closure), alive.load(SeqCst)), (50, 0), "the iterator's panic");

            let fold = |sum, (i, _value): (usize, Counted<'_>)| if i == 30 { throw(i) } else { sum + i };
            let by_handle = || _ = pool.run(|mut w| w.fork_all(items(), |_, item| item, 0, fold));
            let by_closure = || _ = pool.install(|| filch::fork_all(items(), same, 0, fold));
            assert_eq!((thrown_by(by_handle), alive.load(SeqCst)), (30, 0), "the fold's panic");
            assert_eq!((thrown_by(by_closure), alive.load(SeqCst)), (30, 0), "the fold's panic");
        }
        works(&pool);
    }
}

#[test]
fn of_scopes() {
    let _watchdog = watchdog("a panic in a scope");
    let pool = pool(4, Wait::default());
    let ran = AtomicUsize::new(0);
    for round in 0..50 {
        ran.store(0, SeqCst);
        let body_throws = round % 2 == 0;
        let thrown = thrown_by(|| {
            pool.install(|| {
                filch::scope(|s| {
                    for i in 0..20 {
                        let ran = &ran;
                        s.spawn(move |s| {
                            s.spawn(|_| {
                                ran.fetch_add(1, SeqCst);
                            });
                            if i % 5 == 0 {
                                throw(i)
                            }
                        });
                    }
                    if body_throws {
                        throw(100)
                    }
                });
            });
        });
        assert_eq!(ran.load(SeqCst), 20, "the others still run");
        assert!(if body_throws { thrown == 100 } else { thrown % 5 == 0 && thrown < 20 });
    }
    works(&pool);
}

#[test]
fn of_loops() {
    let _watchdog = watchdog("a panic in a loop");
    let pool = pool(4, Wait::default());
    let alive = AtomicUsize::new(0);
    let item = |i: usize| {
        let value = Counted::new(&alive);
        if i == 5_000 {
            throw(i)
        }
        drop(value);
    };
    for _ in 0..20 {
        assert_eq!(thrown_by(|| pool.run(|mut w| w.for_each(0..10_000, item))), 5_000);
        assert_eq!(thrown_by(|| pool.install(|| filch::for_each(0..10_000, item))), 5_000);
        assert_eq!(thrown_by(|| pool.run(|mut w| w.map_reduce(0..10_000, (), item, |(), ()| ()))), 5_000);
        assert_eq!(thrown_by(|| pool.run(|mut w| w.map_reduce_fixed(0..10_000, (), item, |(), ()| ()))), 5_000);
        let reduce = |a: usize, b: usize| if a + b > 100 { throw(a + b) } else { a + b };
        assert!(thrown_by(|| pool.run(|mut w| w.map_reduce(0..10_000, 0, |_| 1, reduce))) > 100);
    }
    assert_eq!(alive.load(SeqCst), 0);
    works(&pool);
}

#[test]
fn of_run_and_install_and_spawn() {
    let _watchdog = watchdog("a panic in run");
    let pools = [pool(1, Wait::default()), pool(2, Wait::Leapfrog)];
    for (pool, other) in [(&pools[0], &pools[1]), (&pools[1], &pools[0])] {
        assert_eq!(thrown_by(|| pool.run(|_| throw(1))), 1);
        assert_eq!(thrown_by(|| pool.install(|| throw(2))), 2);
        assert_eq!(thrown_by(|| pool.run(|_| pool.run(|_| throw(3)))), 3);
        assert_eq!(thrown_by(|| pool.run(|_| other.install(|| pool.run(|_| throw(4))))), 4);
        let caught = pool.run(|_| std::panic::catch_unwind(|| throw(5)).map_err(|payload| payload_of(&*payload)));
        assert_eq!(caught.map(|never: ()| never), Err(5));
        pool.spawn(|| throw(6));
        works(pool);
    }
}

/// A panic is caught in the middle of a stack of forks, and the forks below and above continue.
#[test]
fn caught_between_forks() {
    let _watchdog = watchdog("a panic between forks");
    fn count(mut w: Worker<'_>, depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            w.join(
                move |w| count(w, depth - 1),
                move |_| {
                    if depth.is_multiple_of(3) {
                        throw(depth)
                    }
                },
            )
        }));
        assert_eq!(caught.is_err(), depth.is_multiple_of(3));
        let (a, b) = w.join(move |w| count(w, depth - 1), move |w| count(w, depth - 1));
        a + b
    }
    for capacity in [1, 3, 1000] {
        let builder = ThreadPool::builder().workers(3).task_capacity(capacity);
        assert_eq!(builder.build().unwrap().run(|w| count(w, 7)), 1 << 7);
    }
}
