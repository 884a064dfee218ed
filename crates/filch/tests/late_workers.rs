//! The workers of a pool whose threads start when they are first needed.
#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::disallowed_types, reason = "a test counts")]

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use std::{mem, ptr, thread};

use common::{EveryPool, wait_for, watchdog};
use filch::pool::Pool;
use filch::{Builder, ThreadPool};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(move || fib(n - 1), move || fib(n - 2));
    a + b
}

/// Returns how many of this process's threads have the name.
fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

fn named(name: &'static str, workers: usize) -> ThreadPool {
    ThreadPool::builder().workers(workers).caller_works(true).thread_name(move |_| name.to_owned()).build().unwrap()
}

/// So many jobs that wait for each other.
fn meet<P: Pool>(pool: &ThreadPool<P>, jobs: usize) {
    let barrier = Arc::new(Barrier::new(jobs));
    for _ in 0..jobs {
        let barrier = Arc::clone(&barrier);
        pool.spawn(move || _ = barrier.wait());
    }
    pool.wait_idle();
}

#[test]
fn one_caller_needs_no_thread_for_it() {
    let pool = named("one caller", 2);
    for _ in 0..100 {
        assert_eq!(pool.install(|| fib(15)), 610);
    }
    wait_for("the first worker", || threads_named("one caller") == 1);
    drop(pool);
    wait_for("the end", || threads_named("one caller") == 0);
}

#[test]
fn a_pool_of_many_starts_one_thread_and_then_all_but_the_last() {
    const WORKERS: usize = 12;
    let pool = named("many", WORKERS);
    for n in 0..100 {
        assert_eq!(pool.install(|| n), n);
    }
    wait_for("the first worker", || threads_named("many") == 1);
    // The second worker's thread starts two more, and so on.
    meet(&pool, 2);
    wait_for("the tree", || threads_named("many") == WORKERS - 1);
    thread::sleep(Duration::from_millis(50));
    wait_for("the last worker to stay away", || threads_named("many") == WORKERS - 1);
    meet(&pool, WORKERS);
    wait_for("the last worker", || threads_named("many") == WORKERS);
    drop(pool);
    wait_for("the end", || threads_named("many") == 0);
}

#[test]
fn threads_of_a_pool_whose_callers_wait_come_late_too() {
    const WORKERS: usize = 5;
    let pool = ThreadPool::builder().workers(WORKERS).thread_name(|_| "callers wait".to_owned()).build().unwrap();
    assert_eq!(pool.install(|| 1 + 2), 3);
    wait_for("the first", || threads_named("callers wait") == 1);
    for _ in 0..100 {
        assert_eq!(pool.install(|| fib(15)), 610);
    }
    meet(&pool, WORKERS);
    wait_for("all", || threads_named("callers wait") == WORKERS);
}

#[test]
fn pinned_workers_have_their_own_processors() {
    let processors = || core_affinity::get_core_ids().unwrap();
    let all = processors();
    let pool = ThreadPool::builder().workers(all.len()).pin(true).caller_works(true).build().unwrap();
    assert_eq!(pool.install(|| fib(15)), 610);
    let mut each = pool.broadcast(|_| processors()).concat();
    each.sort_by_key(|processor| processor.id);
    assert_eq!(each, all);
}

#[test]
fn it_has_a_thread_for_what_only_that_can_do() {
    let _watchdog = watchdog("a pool that needs its last worker");
    let pool = named("broadcast", 3);
    assert_eq!(pool.broadcast(|w| w.index()), [0, 1, 2]);
    wait_for("all", || threads_named("broadcast") == 3);
    let pool = named("jobs that meet", 3);
    meet(&pool, 3);
    wait_for("all", || threads_named("jobs that meet") == 3);
    let pool = named("callers", 3);
    let barrier = Barrier::new(3);
    thread::scope(|s| (0..3).for_each(|_| _ = s.spawn(|| pool.install(|| _ = barrier.wait()))));
    // A call that leaves something behind.
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.install(|| filch::spawn(move || sender.send(7).unwrap()));
    assert_eq!(receiver.recv(), Ok(7));
    // Jobs that the pool's end finds.
    let pool = named("an end", 2);
    let all = Arc::new(Barrier::new(2));
    for _ in 0..2 {
        let all = Arc::clone(&all);
        pool.spawn(move || _ = all.wait());
    }
    drop(pool);
    assert_eq!(Arc::strong_count(&all), 1);
}

/// Returns whether the current thread blocks the signal, and how many processors it may use.
fn inherited() -> (bool, usize) {
    // SAFETY: a set is plain data, which the call fills in.
    let blocks = unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut mask);
        libc::sigismember(&raw const mask, libc::SIGUSR1) == 1
    };
    (blocks, thread::available_parallelism().unwrap().get())
}

/// Blocks the signal on the current thread.
fn block() {
    // SAFETY: a set is plain data, which the calls fill in and read.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut mask);
        libc::sigaddset(&raw mut mask, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const mask, ptr::null_mut());
    }
}

#[test]
fn it_inherits_from_the_thread_that_made_the_pool_whoever_wakes_it() {
    let pin = || assert!(core_affinity::set_for_current(core_affinity::get_core_ids().unwrap()[0]));
    let all = inherited().1;
    for workers in [2, 7] {
        let pool = ThreadPool::new(workers).unwrap();
        let waker = || {
            block();
            pin();
            assert_eq!(pool.broadcast(|_| inherited()), vec![(false, all); workers]);
            assert_eq!(inherited(), (true, 1), "the waker is as it was");
        };
        thread::scope(|s| _ = s.spawn(waker));
        let maker = || {
            block();
            pin();
            ThreadPool::new(workers).unwrap()
        };
        let pool = thread::scope(|s| s.spawn(maker).join().unwrap());
        assert_eq!(pool.broadcast(|_| inherited()), vec![(true, 1); workers]);
    }
}

#[test]
fn a_pool_ends_after_their_threads() {
    const WORKERS: usize = 5;
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    struct AtEnd(Cell<u64>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(20 * self.0.get()));
            ENDED.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local!(static AT_END: AtEnd = const { AtEnd(Cell::new(0)) });
    let pool = ThreadPool::new(WORKERS).unwrap();
    pool.broadcast(|w| AT_END.with(|end| end.0.set(w.index() as u64)));
    drop(pool);
    assert_eq!(ENDED.load(Ordering::Relaxed), WORKERS);
}

/// Pools that end in the middle of everything.
#[test]
fn short_lives_of_all_kinds() {
    struct Lives;
    impl EveryPool for Lives {
        fn with<P: Pool>(&self) {
            // Each kind of life with each number of workers.
            for round in 0..30 {
                let pool = Builder::<P>::new().workers(2 + round % 5).build().unwrap();
                let counted = Arc::new(());
                let spawn = |n: usize| {
                    for _ in 0..n {
                        let counted = Arc::clone(&counted);
                        pool.spawn(move || drop(counted));
                    }
                };
                match round % 6 {
                    0 => {}
                    1 => spawn(2),
                    2 => thread::scope(|s| {
                        for n in 0..4 {
                            let pool = &pool;
                            s.spawn(move || assert_eq!(pool.install(|| fib(10 + n)), [55, 89, 144, 233][n as usize]));
                        }
                        spawn(1);
                    }),
                    3 => assert_eq!(pool.broadcast(|w| w.index()).len(), pool.workers()),
                    4 => meet(&pool, pool.workers()),
                    _ => pool.install(|| spawn(3)),
                }
                drop(pool);
                assert_eq!(Arc::strong_count(&counted), 1, "round {round}");
            }
        }
    }
    let _watchdog = watchdog("a pool with a short life");
    Lives.every();
}

/// The global pool's workers, too.
#[test]
fn the_global_pool_ends_and_begins_with_and_without_them() {
    let _watchdog = watchdog("a global pool that ends");
    // Without them.
    assert!(ThreadPool::global().workers() >= 1);
    ThreadPool::end_global();
    for round in 0..60 {
        let workers = ThreadPool::global().workers();
        match round % 4 {
            0 => assert_eq!(filch::join(|| fib(10), || fib(11)), (55, 89)),
            1 => assert_eq!(ThreadPool::global().broadcast(|w| w.index()).len(), workers),
            2 => thread::scope(|s| {
                // Calls that come while the pool ends.
                for _ in 0..3 {
                    s.spawn(|| {
                        for _ in 0..20 {
                            assert_eq!(ThreadPool::global().broadcast(|_| fib(3)), vec![2; workers]);
                            assert_eq!(filch::join(|| fib(5), || fib(6)), (5, 8));
                        }
                    });
                }
                (0..5).for_each(|_| ThreadPool::end_global());
            }),
            _ => filch::spawn(|| ()),
        }
        ThreadPool::end_global();
    }
}
