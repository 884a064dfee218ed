//! What workers do while they wait: leapfrogging workers run nothing unrelated and stay shallow, and idle workers
//! sleep.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::{pool, pool_of, wait_for, watchdog};
use filch::pool::{Heartbeat, Pool, PrivateStack, Queued, Request, Split, Wool};
use filch::{Builder, Scope, ThreadPool, Wait, Worker, WorkerStats};
use filch_queue::ChaseLev;

const LEAPFROGS: [Wait; 2] = [Wait::Leapfrog, Wait::Transitive];

thread_local! {
    /// The root whose join this thread is in; 0 for none.
    static ROOT: Cell<usize> = const { Cell::new(0) };
}

/// Runs a task of `root`. Fails if this thread is inside a task of another root.
fn within(root: usize, run: impl FnOnce() -> u64) -> u64 {
    let outer = ROOT.replace(root);
    assert!(outer == 0 || outer == root, "a task of root {root} inside a join of root {outer}");
    let result = run();
    ROOT.set(outer);
    result
}

fn tree<P: Pool>(mut w: Worker<'_, P>, root: usize, depth: usize) -> u64 {
    within(root, || {
        if depth == 0 {
            for _ in 0..50 {
                std::hint::spin_loop();
            }
            return 1;
        }
        // Rarely: on a busy machine a yield lasts milliseconds.
        if depth == 5 && root.is_multiple_of(8) {
            thread::yield_now();
        }
        let (a, b) = w.join(move |w| tree(w, root, depth - 1), move |w| tree(w, root, depth - 1));
        a + b
    })
}

/// Every root could hold a lock across its joins.
#[test]
fn leapfrogs_run_nothing_unrelated_from_many_roots() {
    let _watchdog = watchdog("leapfrogging");
    for wait in LEAPFROGS {
        let pool = pool(8, wait);
        thread::scope(|s| {
            for caller in 0..12 {
                let pool = &pool;
                s.spawn(move || {
                    for round in 0..25 {
                        let root = 1 + caller * 1000 + round;
                        assert_eq!(pool.run(|w| tree(w, root, 8)), 256);
                    }
                });
            }
        });
    }
}

/// The roots are themselves tasks on one stack: a thief of one root must not reach another root's tasks through the
/// stack on which both were forked.
#[test]
fn leapfrogs_run_nothing_unrelated_from_one_stack() {
    let _watchdog = watchdog("leapfrogging in one program");
    leapfrog_on_one_stack::<Split>();
    leapfrog_on_one_stack::<Wool>();
    leapfrog_on_one_stack::<Wool<1, 1>>();
    leapfrog_on_one_stack::<PrivateStack>();
}

fn leapfrog_on_one_stack<P: Pool>() {
    for wait in LEAPFROGS {
        for workers in [2, 3, 8] {
            let pool = pool_of::<P>(workers, wait);
            for _ in 0..20 {
                let sum = pool.run(|mut w| w.fork_all(1..40, |w, root| tree(w, root, 6), 0, |a, b| a + b));
                assert_eq!(sum, 39 * 64);
            }
        }
    }
}

#[test]
fn leapfrogs_are_no_deeper_than_a_sequential_run() {
    let _watchdog = watchdog("leapfrogging");
    leapfrog_no_deeper::<Split>();
    leapfrog_no_deeper::<Wool>();
    leapfrog_no_deeper::<Wool<1, 1>>();
    leapfrog_no_deeper::<PrivateStack>();
}

fn leapfrog_no_deeper<P: Pool>() {
    for wait in LEAPFROGS {
        for workers in [1, 2, 8] {
            let pool = pool_of::<P>(workers, wait);
            for _ in 0..30 {
                assert_eq!(pool.run(|w| tree(w, 1, 10)), 1024);
            }
            let peak = pool.stats().total().peak_depth;
            assert!((1..=10).contains(&peak), "{wait}, {workers} workers: depth {peak}");
            pool.forget_peak_depth();
            assert_eq!(pool.stats().total().peak_depth, 0);
        }
    }
}

/// A job that no thief has taken yet does not depend on the depth recorded for the stack.
#[test]
fn the_peak_depth_may_be_forgotten_at_any_time() {
    fn forgets<P: Pool>() {
        let pool = pool_of::<P>(2, Wait::default());
        let (is_busy, is_free, is_taken) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        let until = |flag: &AtomicBool| wait_for("a turn of the other worker", || flag.load(SeqCst));
        thread::scope(|s| {
            s.spawn(|| {
                pool.run(|_| {
                    is_busy.store(true, SeqCst);
                    until(&is_free);
                });
            });
            until(&is_busy);
            pool.run(|mut w| {
                w.join(
                    |mut w| {
                        pool.forget_peak_depth();
                        assert_eq!(pool.stats().total().peak_depth, 0);
                        is_free.store(true, SeqCst);
                        wait_for("a steal", || {
                            w.poll();
                            is_taken.load(SeqCst)
                        });
                    },
                    |_| is_taken.store(true, SeqCst),
                )
            });
        });
    }
    let _watchdog = watchdog("forgetting");
    forgets::<Split>();
    forgets::<Wool>();
    forgets::<PrivateStack>();
}

/// A stolen branch blocks on a job, spawned or from outside, that only the worker that waits for the branch can run.
#[test]
fn a_worker_that_waits_at_a_join_runs_spawned_jobs() {
    fn runs<P: Pool>(wait: Wait, run_elsewhere: impl Fn(&ThreadPool<P>) -> u32 + Sync) {
        let pool = pool_of::<P>(2, wait);
        let is_taken = AtomicBool::new(false);
        let taken = || {
            is_taken.store(true, SeqCst);
            run_elsewhere(&pool)
        };
        let until_taken = || {
            wait_for("a steal", || {
                filch::poll();
                is_taken.load(SeqCst)
            });
        };
        assert_eq!(pool.install(|| filch::join(until_taken, taken)).1, 1);
    }
    fn spawned<P: Pool>(_: &ThreadPool<P>) -> u32 {
        let (sender, receiver) = channel();
        filch::spawn(move || sender.send(1).expect("somebody waits"));
        receiver.recv().expect("it runs")
    }
    fn installed<P: Pool>(pool: &ThreadPool<P>) -> u32 {
        thread::scope(|s| s.spawn(|| pool.install(|| 1)).join().expect("no panic"))
    }
    let _watchdog = watchdog("a blocking branch");
    for wait in [Wait::LeapfrogRandom, Wait::Random] {
        for _ in 0..20 {
            runs::<Split>(wait, spawned);
            runs::<Split>(wait, installed);
            runs::<Wool>(wait, spawned);
            runs::<Wool>(wait, installed);
            runs::<PrivateStack>(wait, spawned);
            runs::<PrivateStack>(wait, installed);
            runs::<Queued<ChaseLev>>(wait, spawned);
            runs::<Queued<ChaseLev>>(wait, installed);
        }
    }
}

#[test]
fn idle_workers_sleep_and_wake_for_work() {
    let _watchdog = watchdog("sleep");
    fn sleeps<P: Pool>(wait: Wait) {
        let pool = Builder::<P>::new().workers(4).wait(wait).build().unwrap();
        for round in 1..=5 {
            let parks = || pool.stats().workers.iter().map(|worker| worker.parks).collect::<Vec<u64>>();
            let enough = |parks: &[u64]| parks.iter().all(|&parks| parks > 0);
            wait_for("a sleep of every worker", || enough(&parks()));
            assert_eq!(pool.run(|w| tree(w, round, 8)), 256);
        }
    }
    for &wait in Wait::EVERY {
        sleeps::<Split>(wait);
        sleeps::<Wool>(wait);
        sleeps::<Wool<1, 1>>(wait);
        sleeps::<PrivateStack>(wait);
        if wait != Wait::Transitive {
            sleeps::<Heartbeat<ChaseLev>>(wait);
            sleeps::<Heartbeat<ChaseLev, Request>>(wait);
        }
    }
}

/// A worker that waits for another pool forks nothing, and the other pool waits for its earlier forks.
#[test]
fn others_get_the_forks_of_a_worker_that_waits_elsewhere() {
    let _watchdog = watchdog("a wait in another pool");
    const DEPTH: usize = 50;
    fn nest<P: Pool>(mut w: Worker<'_, P>, depth: usize, elsewhere: &ThreadPool, ran: &AtomicUsize) {
        if depth == 0 {
            elsewhere.install(|| wait_for("the second branches", || ran.load(SeqCst) == DEPTH));
        } else {
            let count = |_: Worker<'_, P>| ran.fetch_add(1, SeqCst);
            w.join(move |w| nest(w, depth - 1, elsewhere, ran), count);
        }
    }
    fn gives<P: Pool>() {
        let (pool, elsewhere) = (Builder::<P>::new().workers(2).build().unwrap(), pool(1, Wait::default()));
        for _ in 0..20 {
            let ran = AtomicUsize::new(0);
            pool.run(|w| nest(w, DEPTH, &elsewhere, &ran));
        }
    }
    gives::<Queued<ChaseLev>>();
    gives::<Heartbeat<ChaseLev>>();
    gives::<Heartbeat<ChaseLev, Request>>();
}

/// In closure style the worker knows its stack: while it waits, it shares its forks or runs them itself.
#[test]
fn forks_by_closures_run_while_their_worker_waits() {
    let _watchdog = watchdog("a wait with forks behind it");
    const DEPTH: usize = 20;
    fn nest(depth: usize, ran: &AtomicUsize, wait: &(impl Fn() + Sync)) {
        if depth == 0 {
            wait();
        } else {
            filch::join(|| nest(depth - 1, ran, wait), || ran.fetch_add(1, SeqCst));
        }
    }
    fn gives<P: Pool>(wait: Wait) {
        let (pool, elsewhere) = (pool_of::<P>(3, wait), pool(1, Wait::default()));
        for round in 0..20 {
            let ran = AtomicUsize::new(0);
            let until_all_ran = || wait_for("the second branches", || ran.load(SeqCst) == DEPTH);
            pool.install(|| match round % 3 {
                0 => nest(DEPTH, &ran, &|| elsewhere.install(until_all_ran)),
                // Another worker takes the scope's task, and blocks.
                1 => nest(DEPTH, &ran, &|| filch::scope(|s| s.spawn(|_| until_all_ran()))),
                // Only the waiting worker is left.
                _ => nest(DEPTH, &ran, &|| {
                    filch::scope(|s| (0..2).for_each(|_| s.spawn(|_| until_all_ran())));
                }),
            });
        }
    }
    for wait in [Wait::Leapfrog, Wait::LeapfrogRandom, Wait::Random] {
        gives::<Split>(wait);
        gives::<Wool>(wait);
        gives::<Wool<1, 1>>(wait);
        gives::<Queued<ChaseLev>>(wait);
        gives::<Heartbeat<ChaseLev, Request>>(wait);
    }
}

/// Runs `f` with this much of the stack in use.
#[inline(never)]
fn deep<const BYTES: usize, R>(f: impl FnOnce() -> R) -> R {
    let used = [0_u8; BYTES];
    std::hint::black_box(&used);
    let result = f();
    std::hint::black_box(&used);
    result
}

/// Two workers have both used more than half of their stacks, and each leaves the task that both wait for to the other.
#[test]
fn workers_low_on_stack_still_run_what_all_wait_for() {
    fn until(flag: &AtomicBool) {
        wait_for("a steal", || {
            filch::poll();
            flag.load(SeqCst)
        });
    }
    fn inner<'s>(s: &Scope<'s>, c: &'s AtomicBool, ran: &'s AtomicBool) {
        filch::join(
            || until(c),
            || {
                c.store(true, SeqCst);
                // This task is at the worker that waits at the outer join.
                s.spawn(|_| ran.store(true, SeqCst));
            },
        );
    }
    fn meet<const BYTES: usize, P: Pool>(wait: Wait, stack_size: usize) {
        let pool = Builder::<P>::new().workers(2).wait(wait).stack_size(stack_size).build().unwrap();
        for _ in 0..3 {
            let [b, c, ran] = [const { AtomicBool::new(false) }; 3];
            let outer = || {
                b.store(true, SeqCst);
                deep::<BYTES, _>(|| filch::scope(|s| inner(s, &c, &ran)));
            };
            pool.install(|| deep::<BYTES, _>(|| filch::join(|| until(&b), outer)));
            assert!(ran.load(SeqCst));
        }
    }
    let _watchdog = watchdog("low stacks");
    for &wait in Wait::EVERY {
        meet::<{ 600 << 10 }, Split>(wait, 1 << 20);
        meet::<{ 600 << 10 }, Wool>(wait, 1 << 20);
        meet::<{ 600 << 10 }, PrivateStack>(wait, 1 << 20);
        meet::<{ 33 << 20 }, Split>(wait, 64 << 20);
        if wait != Wait::Transitive {
            meet::<{ 600 << 10 }, Queued<ChaseLev>>(wait, 1 << 20);
        }
    }
}

/// The only worker that is not blocked has used more than half of its stack, and all wait for a task that it has
/// spawned or forked itself.
#[test]
fn workers_low_on_stack_still_run_their_own_tasks() {
    const BYTES: usize = 600 << 10;
    fn until(flag: &AtomicBool) {
        wait_for("a turn of the other worker", || {
            filch::poll();
            flag.load(SeqCst)
        });
    }
    fn spawns<'s>(s: &Scope<'s>, taken: &AtomicBool, ran: &'s AtomicBool) {
        until(taken);
        s.spawn(|_| ran.store(true, SeqCst));
    }
    fn spawned<P: Pool>(pool: &ThreadPool<P>) {
        let [taken, ran] = [const { AtomicBool::new(false) }; 2];
        let blocks = || {
            taken.store(true, SeqCst);
            until(&ran);
        };
        pool.install(|| deep::<BYTES, _>(|| filch::scope(|s| filch::join(|| spawns(s, &taken, &ran), blocks))));
    }
    fn forked<P: Pool>(pool: &ThreadPool<P>, elsewhere: &ThreadPool) {
        let [blocked, ran] = [const { AtomicBool::new(false) }; 2];
        let blocks = || {
            blocked.store(true, SeqCst);
            until(&ran);
        };
        thread::scope(|s| {
            s.spawn(|| pool.install(blocks));
            until(&blocked);
            let forks = || filch::join(|| elsewhere.install(|| until(&ran)), || ran.store(true, SeqCst));
            pool.install(|| deep::<BYTES, _>(forks));
        });
    }
    fn runs<P: Pool>(wait: Wait) {
        let pool = Builder::<P>::new().workers(2).wait(wait).stack_size(1 << 20).build().unwrap();
        let elsewhere = self::pool(1, Wait::default());
        for _ in 0..3 {
            if !LEAPFROGS.contains(&wait) {
                spawned(&pool);
            }
            forked(&pool, &elsewhere);
        }
    }
    let _watchdog = watchdog("a low stack");
    for &wait in Wait::EVERY {
        runs::<Split>(wait);
        runs::<Wool>(wait);
        runs::<PrivateStack>(wait);
        if wait != Wait::Transitive {
            runs::<Queued<ChaseLev>>(wait);
            runs::<Heartbeat<ChaseLev, Request>>(wait);
        }
    }
}

/// Submits a job like this one, and waits for it, until the stack is used down to this address.
fn link(until: usize) {
    let here = std::hint::black_box(0_u8);
    if std::ptr::from_ref(&here).addr() > until {
        filch::submit(move || link(until)).join().unwrap();
    }
}

/// Nobody knows of the other workers that they are blocked. One cannot help either once its own stack is low.
#[test]
#[cfg_attr(miri, ignore = "Miri has no stack depths")]
fn a_chain_of_jobs_past_the_middle_of_the_stack_ends() {
    const STACK: usize = 4 << 20;
    fn chain() {
        let here = 0_u8;
        link(std::ptr::from_ref(&here).addr() - STACK / 4 * 3);
    }
    let _watchdog = watchdog("a chain");
    for workers in [1, 2] {
        let pool = ThreadPool::builder().workers(workers).caller_works(false).stack_size(STACK).build().unwrap();
        pool.install(chain);
    }
    let pool = ThreadPool::builder().workers(3).caller_works(false).stack_size(STACK).build().unwrap();
    let [begins, ends] = [(); 2].map(|()| Arc::new(Barrier::new(3)));
    for _ in 0..2 {
        let (begins, ends) = (Arc::clone(&begins), Arc::clone(&ends));
        pool.spawn(move || {
            begins.wait();
            ends.wait();
        });
    }
    begins.wait();
    pool.install(chain);
    ends.wait();
}

/// A task that forks nothing still gives beats if it asks whether work is wanted.
#[test]
fn asking_whether_work_is_wanted_is_a_beat() {
    let _watchdog = watchdog("a beat in a leaf");
    fn asks<P: Pool>() {
        let pool = Builder::<P>::new().workers(2).build().unwrap();
        for _ in 0..50 {
            let started = AtomicUsize::new(0);
            let is_started = || started.load(SeqCst) == 1;
            pool.run(|mut w| {
                let leaf = |w: Worker<'_, P>| {
                    wait_for("a steal", || {
                        w.wants_work();
                        is_started()
                    });
                };
                w.join(leaf, |_| started.fetch_add(1, SeqCst))
            });
        }
    }
    asks::<Heartbeat<ChaseLev>>();
    asks::<Heartbeat<ChaseLev, Request>>();
}

/// A worker that slept at the fork must take the second branch: the first one waits for it.
#[test]
fn sleepers_wake_for_a_single_task() {
    let _watchdog = watchdog("a wake-up");
    wake_for_a_single_task::<Split>();
    wake_for_a_single_task::<Wool>();
    wake_for_a_single_task::<Wool<1, 1>>();
}

fn wake_for_a_single_task<P: Pool>() {
    for &wait in Wait::EVERY {
        // A caller that works would not wake sleepers.
        let pool = Builder::<P>::new().workers(2).wait(wait).caller_works(false).build().unwrap();
        for round in 0..60 {
            if round % 4 == 0 {
                let before = pool.stats().total().parks;
                pool.run(|_| ());
                wait_for("sleep", || pool.stats().total().parks > before);
            }
            let here = AtomicUsize::new(0);
            let meet = || {
                here.fetch_add(1, SeqCst);
                wait_for("the other branch", || here.load(SeqCst) == 2);
            };
            match round % 3 {
                // The push on an empty stack shares at once.
                0 => drop(pool.run(|mut w| w.join(|_| meet(), |_| meet()))),
                1 => drop(pool.install(|| filch::join(meet, meet))),
                _ => drop(pool.run(|_| filch::join(meet, meet))),
            }
        }
    }
}

/// One branch waits for a root from outside: an idle worker must take it, though all others wait or sleep.
#[test]
fn sleepers_wake_for_calls_from_outside() {
    let _watchdog = watchdog("a wake-up from outside");
    let pool: ThreadPool = pool(2, Wait::Leapfrog);
    for _ in 0..200 {
        let arrived = AtomicUsize::new(0);
        let meet = || {
            arrived.fetch_add(1, SeqCst);
            wait_for("the other call", || arrived.load(SeqCst) == 2);
        };
        thread::scope(|s| {
            s.spawn(|| pool.run(|_| meet()));
            s.spawn(|| pool.install(meet));
        });
    }
}

#[test]
fn the_steps_of_waiting_workers_are_counted() {
    let _watchdog = watchdog("counting");
    let pool = pool(2, Wait::LeapfrogRandom);
    let counted = |count: fn(&WorkerStats) -> u64| count(&pool.stats().total());
    for (what, count) in [
        ("a steal", (|total| total.steals) as fn(&WorkerStats) -> u64),
        ("a leap", |total| total.leaps),
        ("a sleep", |total| total.parks),
        ("a wake-up", |total| total.wakeups),
        ("a request", |total| total.requests),
    ] {
        let mut depth = 12;
        wait_for(what, || {
            // On a busy machine tasks look coarse, and are shared unasked: then in a larger tree, without yields.
            let root = usize::from(depth > 12);
            assert!(pool.run(|w| tree(w, root, depth)) == 1 << depth);
            // Sometimes long enough to fall asleep.
            thread::sleep(Duration::from_micros(200));
            depth = (depth + 1).min(18);
            counted(count) > 0
        });
    }
    let total = pool.stats().total();
    assert!(total.attempts >= total.steals + total.leaps, "{total}");
}

/// Not only until they begin: here another worker has the task.
#[test]
fn a_scope_lasts_until_its_tasks_end() {
    let _watchdog = watchdog("a scope");
    let pool = pool(2, Wait::default());
    let (has_begun, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    pool.install(|| {
        filch::scope(|s| {
            s.spawn(|_| {
                has_begun.store(true, SeqCst);
                thread::sleep(Duration::from_millis(20));
                has_ended.store(true, SeqCst);
            });
            wait_for("a thief", || has_begun.load(SeqCst));
        });
        assert!(has_ended.load(SeqCst));
    });
}
