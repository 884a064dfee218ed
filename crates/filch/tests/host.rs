//! The interface for hosts on every kind of pool: seats and leases, spawned and posted jobs, yielding, and joins that
//! always run both branches.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use common::{throw, thrown_by, wait_for, watchdog};
use filch::inside::host::{
    Countdown, Crew, Fifo, Host, Lease, MayDangle, Seat, Thread, address_here, broadcast_confined, current_index,
    has_pending, join, run_one, workers_here,
};
use filch::pool::{Heartbeat, Queued, Request, Split, Wool};
use filch::{Builder, Wait};
use filch_queue::{ChaseLev, PdqRAsync};

type Made = (Crew, Lease, Vec<Seat>);

/// The kinds of pools, each with its constructor.
const KINDS: [fn(usize, Wait) -> Made; 5] = [
    |workers, wait| Builder::<Split>::new().workers(workers).wait(wait).seats().unwrap(),
    |workers, wait| Builder::<Wool>::new().workers(workers).wait(wait).seats().unwrap(),
    |workers, wait| Builder::<Queued<ChaseLev>>::new().workers(workers).wait(wait).seats().unwrap(),
    |workers, wait| Builder::<Queued<PdqRAsync>>::new().workers(workers).wait(wait).seats().unwrap(),
    |workers, wait| Builder::<Heartbeat<ChaseLev, Request>>::new().workers(workers).wait(wait).seats().unwrap(),
];

/// The host of joins from outside, in all tests.
struct Global;

impl Host for Global {
    fn crew() -> &'static Crew {
        static GLOBAL: OnceLock<(Crew, Lease)> = OnceLock::new();
        let (crew, _) = GLOBAL.get_or_init(|| {
            let (crew, lease, seats) = KINDS[0](2, Wait::default());
            for seat in seats {
                thread::spawn(move || seat.run(2 << 20, || (), || ()));
            }
            (crew, lease)
        });
        crew
    }
}

fn sum(from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return from;
    }
    let middle = u64::midpoint(from, to);
    let (left, right) = filch::join(move || sum(from, middle), move || sum(middle, to));
    left + right
}

/// A thread starts on the worker that needs another one, in the middle of a fork or a join.
#[test]
#[cfg_attr(miri, ignore = "it starts many threads")]
fn what_starts_a_thread_may_fork() {
    const SUM: u64 = 499_500;
    let _watchdog = watchdog("a start that forks");
    for make in KINDS {
        for round in 0..10 {
            let (crew, lease, seats) = make(4, Wait::default());
            let late = Arc::new(Mutex::new(Vec::new()));
            let sums = Arc::clone(&late);
            let begin = |seat: Seat| Thread::start(None, None, move || seat.run(2 << 20, || (), || ()));
            let now = crew.come_late(seats, move |seat| {
                sums.lock().unwrap().push((current_index(), sum(0, 1000)));
                begin(seat)
            });
            let threads: Vec<Thread> = now.into_iter().map(begin).collect::<Result<_, _>>().unwrap();
            // Coarse enough to be shared, then fine.
            for _ in 0..20 {
                assert_eq!(crew.enter(|| sum(0, 1000)), SUM, "in round {round}");
            }
            wait_for("another worker", || {
                assert_eq!(crew.enter(|| sum(0, 1000)), SUM);
                !late.lock().unwrap().is_empty()
            });
            drop(lease);
            threads.into_iter().for_each(Thread::join);
            let late = late.lock().unwrap();
            assert!(late.iter().all(|found| *found == (None, SUM)), "in round {round}: {late:?}");
        }
    }
}

/// A host that does not know its threads' stack size passes 0.
#[test]
fn workers_with_unknown_stacks_steal() {
    let _watchdog = watchdog("seats of unknown stack size");
    for make in SHARING {
        let (crew, lease, seats) = make(2, Wait::default());
        thread::scope(|s| {
            for seat in seats {
                s.spawn(move || seat.run(0, || (), || ()));
            }
            let is_taken = AtomicUsize::new(0);
            let waits = |_| {
                wait_for("a steal", || {
                    filch::poll();
                    is_taken.load(SeqCst) == 1
                });
            };
            crew.enter(|| join::<Global, _, _, _, _>(waits, |_| is_taken.store(1, SeqCst)));
            drop(lease);
        });
    }
}

/// The kinds whose thieves get a lone fork without an answer from its owner, which may be blocked.
const SHARING: &[fn(usize, Wait) -> Made] = KINDS.split_at(3).0;

/// Runs `test` on every kind of pool with this number of workers. All of them must have left afterwards.
fn with_crews(workers: usize, wait: Wait, test: impl Fn(&Crew)) {
    with_crews_of(&KINDS, workers, wait, test);
}

fn with_crews_of(kinds: &[fn(usize, Wait) -> Made], workers: usize, wait: Wait, test: impl Fn(&Crew)) {
    for make in kinds {
        let (crew, lease, seats) = make(workers, wait);
        thread::scope(|s| {
            for seat in seats {
                s.spawn(move || seat.run(2 << 20, || (), || ()));
            }
            test(&crew);
            drop(lease);
        });
    }
}

fn fork<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
    join::<Global, _, _, _, _>(|_| a(), |_| b())
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = fork(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn joins_compute_on_every_kind_and_from_outside() {
    let _watchdog = watchdog("joining");
    for workers in common::WORKERS {
        with_crews(workers, Wait::default(), |crew| assert_eq!(crew.enter(|| fib(18)), 2584));
    }
    assert_eq!(fib(18), 2584);
    assert_eq!(current_index(), None);
}

#[test]
fn jobs_spawned_by_leaving_workers_run() {
    for make in &KINDS {
        let ran = Arc::new(AtomicUsize::new(0));
        let (_crew, lease, seats) = make(2, Wait::default());
        thread::scope(|s| {
            for seat in seats {
                let ran = Arc::clone(&ran);
                let exit = || {
                    filch::spawn(move || {
                        ran.fetch_add(1, SeqCst);
                    });
                };
                s.spawn(move || seat.run(2 << 20, || (), exit));
            }
            drop(lease);
        });
        assert_eq!(Arc::into_inner(ran).expect("nothing is left").into_inner(), 2);
    }
}

#[test]
fn branches_know_whether_they_have_moved() {
    let moved = || join::<Global, _, _, _, _>(|a| a, |b| b);
    // Results and captures too large for a slot take another path.
    let far = || {
        let large = [1_u64; 20];
        let (a, b) = join::<Global, _, _, _, _>(move |a| (a, large), move |b| (b, large));
        assert_eq!(a.1, b.1);
        (a.0, b.0)
    };
    assert_eq!(moved(), (true, true), "no worker forked them");
    assert_eq!(far(), (true, true));
    with_crews(1, Wait::default(), |crew| {
        assert_eq!(crew.enter(moved), (false, false));
        assert_eq!(crew.enter(far), (false, false));
    });
    let _watchdog = watchdog("a barrier in a fork");
    with_crews_of(SHARING, 2, Wait::default(), |crew| {
        let barrier = Barrier::new(2);
        let met = |moved: bool| {
            barrier.wait();
            moved
        };
        assert_eq!(crew.enter(|| join::<Global, _, _, _, _>(met, met)), (false, true));
    });
}

#[test]
fn the_second_branch_runs_even_if_the_first_panics() {
    let run = AtomicUsize::new(0);
    let second = |result: usize| {
        run.fetch_add(1, SeqCst);
        if result == 2 { throw(result) } else { result }
    };
    let both = |second_throws: bool| {
        thrown_by(|| fork(|| fork(|| throw(1), || second(0)), || second(if second_throws { 2 } else { 0 })))
    };
    let far = || {
        let large = [1_usize; 20];
        thrown_by(|| fork(|| throw(1), move || (second(0), large)))
    };
    for workers in [1, 2] {
        with_crews(workers, Wait::default(), |crew| {
            for _ in 0..100 {
                run.store(0, SeqCst);
                assert_eq!((crew.enter(|| both(false)), run.load(SeqCst)), (1, 2));
                assert_eq!((crew.enter(|| both(true)), run.load(SeqCst)), (1, 4), "the first branch's panic wins");
                assert_eq!((crew.enter(far), run.load(SeqCst)), (1, 5));
                // The stack is undamaged.
                assert_eq!(crew.enter(|| fib(8)), 21);
            }
        });
    }
    run.store(0, SeqCst);
    assert_eq!((both(true), run.load(SeqCst)), (1, 2), "from outside");
}

#[test]
fn workers_start_and_leave_on_request() {
    let (crew, lease, seats) = KINDS[0](3, Wait::default());
    let (started, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        for seat in seats {
            let (index, crew) = (seat.index(), &crew);
            let (started, left) = (&started, &left);
            s.spawn(move || {
                let is_here = move || {
                    assert_eq!(
                        (crew.current_index(), current_index(), workers_here()),
                        (Some(index), Some(index), Some(3))
                    );
                };
                let start = || {
                    is_here();
                    started.fetch_add(1, SeqCst);
                };
                let exit = || {
                    is_here();
                    left.fetch_add(1, SeqCst);
                };
                seat.run(2 << 20, start, exit);
                assert_eq!(
                    (crew.current_index(), current_index(), workers_here()),
                    (None, None, None),
                    "it is not a worker any more"
                );
            });
        }
        wait_for("starting", || started.load(SeqCst) == 3);
        let weak = lease.downgrade();
        let second = weak.upgrade().expect("there is one");
        drop(lease);
        assert_eq!(crew.enter(|| fib(10)), 55, "the second lease keeps them");
        assert_eq!(left.load(SeqCst), 0);
        drop(second);
        assert!(weak.upgrade().is_none());
    });
    assert_eq!(left.load(SeqCst), 3);
}

#[test]
fn jobs_with_a_lease_run_after_the_owner_has_gone() {
    let _watchdog = watchdog("a lease");
    for make in KINDS {
        let (crew, lease, seats) = make(2, Wait::default());
        let threads = seats.into_iter().map(|seat| thread::spawn(move || seat.run(2 << 20, || (), || ())));
        let threads: Vec<_> = threads.collect();
        let (go, start) = channel();
        let (done, end) = channel();
        let (held, again) = (lease.clone(), crew.clone());
        let job = move || {
            start.recv().unwrap();
            // The spawner's lease outlives the push.
            let job = move || {
                done.send(current_index().is_some()).unwrap();
                drop(held);
            };
            // SAFETY: the job borrows nothing.
            unsafe { again.push(job) };
        };
        // SAFETY: the job borrows nothing.
        unsafe { crew.push(job) };
        drop(lease);
        go.send(()).unwrap();
        assert_eq!(end.recv(), Ok(true));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn jobs_run_in_the_requested_order() {
    with_crews(1, Wait::default(), |crew| {
        let order = Mutex::new(Vec::new());
        let queue = Fifo::default();
        crew.enter(|| {
            let countdown = Countdown::new(6);
            for n in 0..6 {
                let captured = MayDangle::new((&order, &countdown));
                let job = move || {
                    let (order, over) = captured.into_inner();
                    order.lock().unwrap().push(n);
                    // SAFETY: counted once; the countdown outlives the wait.
                    unsafe { Countdown::end(over) };
                };
                // SAFETY: everything borrowed outlives the wait, which outlasts the jobs' last actions.
                unsafe { if n % 2 == 0 { crew.push(job) } else { crew.push_fifo(&queue, job) } }
            }
            assert_eq!(has_pending(), Some(true));
            countdown.wait();
        });
        // Newest turn first. The odd ones among themselves run oldest first.
        assert_eq!(*order.lock().unwrap(), [1, 4, 3, 2, 5, 0]);
    });
}

thread_local! {
    static VISITS: Cell<usize> = const { Cell::new(0) };
}

/// Makes every worker run a job, from any thread, and waits for all.
fn visit_all(crew: &Crew, visits: &AtomicUsize) {
    let countdown = Countdown::new(crew.workers());
    for worker in 0..crew.workers() {
        let captured = MayDangle::new((crew, visits, &countdown));
        let job = move || {
            let (crew, visits, over) = captured.into_inner();
            assert_eq!(crew.current_index(), Some(worker));
            VISITS.set(VISITS.get() + 1);
            visits.fetch_add(1, SeqCst);
            // SAFETY: counted once; the countdown outlives the wait below.
            unsafe { Countdown::end(over) };
        };
        // SAFETY: everything borrowed outlives the wait, which outlasts the job's last action.
        unsafe { crew.post(worker, job) };
    }
    countdown.wait();
}

#[test]
fn posts_reach_workers_wherever_they_wait() {
    let _watchdog = watchdog("posting");
    for wait in [Wait::Leapfrog, Wait::LeapfrogRandom] {
        with_crews_of(SHARING, 3, wait, |crew| {
            let visits = AtomicUsize::new(0);
            visit_all(crew, &visits);
            // One worker waits at a join for a thief, which posts to it.
            for _ in 0..20 {
                let barrier = Barrier::new(2);
                crew.enter(|| {
                    fork(
                        || {
                            barrier.wait();
                        },
                        || {
                            barrier.wait();
                            // Long enough for the other worker to fall asleep at the join.
                            thread::sleep(std::time::Duration::from_millis(2));
                            visit_all(crew, &visits);
                        },
                    )
                });
            }
            assert_eq!(visits.load(SeqCst), 21 * 3);
        });
    }
}

#[test]
fn a_yielding_worker_runs_its_own_forks_and_jobs() {
    let _watchdog = watchdog("yielding");
    assert_eq!((run_one(true), has_pending()), (None, None));
    with_crews(1, Wait::default(), |crew| {
        crew.enter(|| {
            assert_eq!((run_one(true), run_one(false)), (Some(false), Some(false)));
            let run = AtomicUsize::new(0);
            // The second branches run before the first ones end.
            let (_, inner) = fork(
                || {
                    fork(
                        || {
                            assert_eq!(has_pending(), Some(true));
                            while run.load(SeqCst) < 2 {
                                assert_eq!(run_one(false), Some(true));
                            }
                            assert_eq!((run_one(false), has_pending()), (Some(false), Some(false)));
                            fib(8)
                        },
                        || run.fetch_add(1, SeqCst),
                    )
                },
                || {
                    run.fetch_add(1, SeqCst);
                    fib(9)
                },
            );
            assert_eq!((inner, run.load(SeqCst)), (34, 2));
            // A panic in a branch run early waits for its join.
            let thrown = thrown_by(|| fork(|| while run_one(false) == Some(true) {}, || throw(7)));
            assert_eq!(thrown, 7);
            assert_eq!(fib(10), 55);
        });
    });
    // With thieves, in any order.
    with_crews(3, Wait::default(), |crew| {
        for _ in 0..200 {
            let run = AtomicUsize::new(0);
            let branch = || run.fetch_add(1, SeqCst);
            let until = || {
                while run.load(SeqCst) < 2 {
                    run_one(true);
                }
            };
            crew.enter(|| fork(|| fork(until, branch), branch));
            assert_eq!(run.load(SeqCst), 2);
        }
    });
}

#[test]
fn a_thread_may_take_a_seat_for_life() {
    let _watchdog = watchdog("occupying");
    for make in KINDS {
        thread::spawn(move || {
            let (crew, lease, mut seats) = make(2, Wait::default());
            let other = seats.pop().unwrap();
            seats.pop().unwrap().occupy(2 << 20).unwrap();
            let thread = thread::spawn(move || other.run(2 << 20, || (), || ()));
            assert_eq!((crew.current_index(), current_index()), (Some(0), Some(0)));
            assert_eq!(fib(15), 610);
            let visits = AtomicUsize::new(0);
            visit_all(&crew, &visits);
            assert_eq!((visits.load(SeqCst), VISITS.get()), (2, 1));
            // A thread can have only one seat.
            let (_, _, mut more) = make(1, Wait::default());
            assert_eq!(more.pop().unwrap().occupy(2 << 20).unwrap_err().index(), 0);
            drop(lease);
            thread.join().unwrap();
            assert_eq!(fib(10), 55, "alone");
        })
        .join()
        .unwrap();
    }
}

#[test]
fn a_countdown_belongs_to_its_thread() {
    let countdown = Countdown::new(0);
    countdown.wait();
    let refused = thread::scope(|s| s.spawn(|| countdown.wait()).join());
    assert!(refused.is_err());
}

/// The other worker of the same crew cannot wait for it either.
#[test]
fn a_countdown_belongs_to_its_worker() {
    let _watchdog = watchdog("countdowns of workers");
    with_crews_of(SHARING, 2, Wait::default(), |crew| {
        crew.enter(|| {
            let countdown = Countdown::new(0);
            countdown.wait();
            let is_over = AtomicUsize::new(0);
            let until_over = || {
                wait_for("the other worker", || {
                    filch::poll();
                    is_over.load(SeqCst) == 1
                });
            };
            let elsewhere = || {
                let refused = catch_unwind(AssertUnwindSafe(|| countdown.wait())).is_err();
                is_over.store(1, SeqCst);
                refused
            };
            assert!(fork(until_over, elsewhere).1);
        });
    });
}

#[test]
fn a_worker_of_one_crew_may_wait_for_another() {
    let _watchdog = watchdog("waits between crews");
    let alive = Arc::new(());
    with_crews(1, Wait::default(), |first| {
        with_crews(1, Wait::default(), |second| {
            let alive = Arc::clone(&alive);
            // The only worker of each waits for that of the other.
            let depth =
                first.enter(|| second.enter(|| first.enter(|| second.enter(move || Arc::strong_count(&alive)))));
            assert_eq!(depth, 2);
        });
    });
}

#[test]
fn a_confined_wait_runs_only_what_is_posted() {
    let _watchdog = watchdog("confined waits");
    let pool = filch::ThreadPool::new(1).unwrap();
    let other = filch::ThreadPool::new(2).unwrap();
    assert_eq!(address_here(&pool), pool.install(|| address_here(&other)));
    assert_ne!(address_here(&pool), address_here(&other));
    let (spawned, reached) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let count = |_| _ = reached.fetch_add(1, SeqCst);
    pool.install(|| {
        filch::scope(|s| {
            s.spawn(|_| _ = spawned.fetch_add(1, SeqCst));
            broadcast_confined(&other, count);
            assert_eq!((spawned.load(SeqCst), reached.load(SeqCst)), (0, 1), "on the current pool");
            let wait = Countdown::new(1);
            thread::scope(|outside| {
                // SAFETY: the countdown outlives the thread, which ends it once.
                outside.spawn(|| unsafe { Countdown::end(&raw const wait) });
                wait.wait_confined();
            });
            assert_eq!(spawned.load(SeqCst), 0);
        });
    });
    assert_eq!(spawned.load(SeqCst), 1);
    broadcast_confined(&other, count);
    assert_eq!(reached.load(SeqCst), 3, "outside");
}
