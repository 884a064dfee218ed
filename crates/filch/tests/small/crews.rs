//! The interface for hosts: seats, leases, jobs in every order, countdowns, and joins that run both branches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use filch::Wait;
use filch::inside::host::{
    Countdown, Crew, Fifo, Host, Lease, current_index, has_pending, join, run_one, workers_here,
};

use crate::any::{PoolKind, PoolSettings, with_kinds};
use crate::common::{throw, thrown_by, times, wait_for, watchdog};

/// The host of joins from outside, which do not occur here.
pub(crate) struct Nowhere;

impl Host for Nowhere {
    fn crew() -> &'static Crew {
        unreachable!("only workers join")
    }
}

fn fork<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
    join::<Nowhere, _, _, _, _>(|_| a(), |_| b())
}

fn fib(n: usize) -> usize {
    if n < 2 {
        return n;
    }
    let (a, b) = fork(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Runs `test` with a crew. All its threads have left afterwards.
pub(crate) fn with_crew<R>(kind: PoolKind, settings: PoolSettings, test: impl FnOnce(&Crew, Lease) -> R) -> R {
    let (crew, lease, seats) = kind.seats(settings);
    thread::scope(|s| {
        for seat in seats {
            s.spawn(move || seat.run(2 << 20, || (), || ()));
        }
        test(&crew, lease)
    })
}

#[test]
fn joins_run_both_branches() {
    const N: usize = times(12, 4);
    const FIB: usize = times(144, 3);
    let _watchdog = watchdog("joins of hosts");
    with_kinds(|kind, settings| {
        with_crew(kind, settings, |crew, _lease| {
            assert_eq!(crew.enter(|| fib(N)), FIB);
            let (run, far) = (AtomicUsize::new(0), [1_usize; 20]);
            let second = |thrower: usize| {
                run.fetch_add(1, SeqCst);
                if thrower == 2 { throw(2) } else { (thrower, far) }
            };
            for thrower in 0..=2 {
                let all = || fork(|| fork(|| throw(1), || second(thrower)), || second(0));
                assert_eq!(thrown_by(|| crew.enter(all)), 1, "the first branch's panic wins");
            }
            assert_eq!(thrown_by(|| crew.enter(|| fork(|| fib(3), || second(2)))), 2);
            assert_eq!(run.load(SeqCst), 7);
            assert_eq!((current_index(), workers_here()), (None, None));
        });
    });
}

/// A value that a waiter lends to its job. A pointer, since a reference captured by the job would have to be valid
/// until the job has returned, while the value is valid only until the job has notified its waiter.
struct Lent<T>(*const T);

impl<T> Lent<T> {
    /// # Safety
    /// The lent value must still be alive.
    unsafe fn get<'l>(&self) -> &'l T {
        // SAFETY: by the caller's promise.
        unsafe { &*self.0 }
    }
}

// SAFETY: the target may be shared, and is alive whenever `get` is called.
unsafe impl<T: Sync> Send for Lent<T> {}

/// The data of the jobs, and their waiter's countdown.
struct Work<'w> {
    crew: &'w Crew,
    sum: &'w AtomicUsize,
    countdown: Countdown,
}

/// Adds to `sum` by jobs queued in every way, and waits for them.
fn hand_in(crew: &Crew, queue: &Fifo, sum: &AtomicUsize) {
    let work = Work { crew, sum, countdown: Countdown::new(crew.workers() + 6) };
    for worker in 0..crew.workers() {
        let lent = Lent(&raw const work);
        let job = move || {
            // SAFETY: the countdown below waits for this job, whose last action ends it.
            let Work { crew, sum, countdown } = unsafe { lent.get() };
            assert_eq!(crew.current_index(), Some(worker));
            sum.fetch_add(1, SeqCst);
            // SAFETY: counted once; the countdown is alive as above.
            unsafe { Countdown::end(countdown) };
        };
        // SAFETY: everything that the job uses outlives its last action.
        unsafe { crew.post(worker, job) };
    }
    for n in 0..6 {
        let lent = Lent(&raw const work);
        let job = move || {
            // SAFETY: as above.
            let Work { sum, countdown, .. } = unsafe { lent.get() };
            sum.fetch_add(fib(n % 3), SeqCst);
            // SAFETY: as above.
            unsafe { Countdown::end(countdown) };
        };
        // SAFETY: as above, and the queue outlives it too.
        unsafe { if n % 2 == 0 { crew.push(job) } else { crew.push_fifo(queue, job) } }
    }
    work.countdown.wait();
}

#[test]
fn jobs_queued_from_everywhere() {
    let _watchdog = watchdog("jobs of hosts");
    with_kinds(|kind, settings| {
        with_crew(kind, settings, |crew, _lease| {
            let (queue, sum) = (Fifo::default(), AtomicUsize::new(0));
            let each = crew.workers() + 4;
            hand_in(crew, &queue, &sum);
            assert_eq!(sum.load(SeqCst), each);
            for round in 1..=times(5, 1) {
                crew.enter(|| fork(|| hand_in(crew, &queue, &sum), || hand_in(crew, &queue, &sum)));
                assert_eq!(sum.load(SeqCst), each * (1 + 2 * round));
            }
        });
    });
}

#[test]
fn a_yielding_worker_runs_tasks() {
    let _watchdog = watchdog("yielding");
    with_kinds(|kind, settings| {
        with_crew(kind, settings, |crew, _lease| {
            for _ in 0..times(10, 1) {
                let run = AtomicUsize::new(0);
                let branch = || run.fetch_add(1, SeqCst);
                let until = || {
                    wait_for("both branches", || {
                        run_one(true);
                        has_pending();
                        run.load(SeqCst) == 2
                    });
                };
                crew.enter(|| fork(|| fork(until, branch), branch));
                assert_eq!(run.load(SeqCst), 2);
                // A branch run early throws where it is joined.
                let early = || fork(|| while run_one(false) == Some(true) {}, || throw(7));
                assert_eq!(thrown_by(|| crew.enter(early)), 7);
            }
        });
    });
}

/// A job with a lease keeps the workers, and jobs spawned by leaving workers run.
#[test]
fn leases_and_leaving_workers() {
    let _watchdog = watchdog("leases");
    with_kinds(|kind, settings| {
        let workers = settings.workers;
        let (crew, lease, seats) = kind.seats(settings);
        let (ran, is_given_up) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        thread::scope(|s| {
            for seat in seats {
                let ran = Arc::clone(&ran);
                let exit = move || filch::spawn(move || _ = ran.fetch_add(1, SeqCst));
                s.spawn(move || seat.run(2 << 20, || assert_eq!(fib(3), 2), exit));
            }
            let (held, again, ran) = (lease.clone(), crew.clone(), Arc::clone(&ran));
            let is_given_up_now = Arc::clone(&is_given_up);
            let job = move || {
                wait_for("the end of the first lease", || is_given_up_now.load(SeqCst));
                let job = move || {
                    ran.fetch_add(1, SeqCst);
                    drop(held);
                };
                // SAFETY: the job borrows nothing.
                unsafe { again.push(job) };
            };
            // SAFETY: the job borrows nothing.
            unsafe { crew.push(job) };
            let again = lease.downgrade();
            drop(lease);
            assert!(again.upgrade().is_some(), "the job has a lease");
            is_given_up.store(true, SeqCst);
        });
        assert_eq!(Arc::into_inner(ran).map(AtomicUsize::into_inner), Some(workers + 1));
    });
}

#[test]
fn crews_inside_each_other() {
    let _watchdog = watchdog("crews inside each other");
    for kind in PoolKind::every() {
        let settings = PoolSettings::new(1, Wait::default(), 64);
        with_crew(kind, settings.clone(), |one, _first| {
            with_crew(kind, settings, |two, _second| {
                let order = Mutex::new(Vec::new());
                // The only worker of each waits for that of the other.
                let depth = one.enter(|| {
                    order.lock().unwrap().push(1);
                    two.enter(|| {
                        order.lock().unwrap().push(2);
                        one.enter(|| two.enter(|| order.lock().unwrap().len()))
                    })
                });
                assert_eq!((depth, order.into_inner().unwrap()), (2, vec![1, 2]));
            });
        });
    }
}
