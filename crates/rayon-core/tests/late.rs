//! Threads that start when they are first needed.
#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::collections::HashSet;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

const THREADS: usize = 6;

/// Waits until so many of this process's threads have the name: while other threads end, a list of all may lack some.
fn until_named(name: &str, threads: usize) {
    let start = Instant::now();
    let is_so = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|found| found.trim_end() == name).count() == threads
    };
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(100), "there are not {threads} threads {name}");
        thread::yield_now();
    }
}

fn builder(name: &'static str) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(THREADS).thread_name(move |_| name.to_owned())
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Has all threads at once.
fn all_meet(pool: &ThreadPool) {
    let barrier = Barrier::new(THREADS);
    pool.scope(|s| (0..THREADS).for_each(|_| s.spawn(|_| _ = barrier.wait())));
}

#[test]
fn they_come_one_by_one_or_all() {
    let pool = builder("late").build().unwrap();
    assert_eq!(pool.install(|| 1 + 2), 3);
    until_named("late", 1);
    assert_eq!(pool.install(|| fib(15)), 610);
    all_meet(&pool);
    until_named("late", THREADS);
    let ids: HashSet<ThreadId> = pool.broadcast(|_| thread::current().id()).into_iter().collect();
    assert_eq!(ids.len(), THREADS);
    let pool = builder("broadcast").build().unwrap();
    assert_eq!(pool.broadcast(|context| context.index()), (0..THREADS).collect::<Vec<_>>());
}

#[test]
fn pools_end_with_and_without_them() {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    for round in 0..100 {
        let pool = builder("ends").build().unwrap();
        match round % 4 {
            0 => {}
            1 => (0..THREADS).for_each(|_| pool.spawn(|| _ = DONE.fetch_add(1, Ordering::Relaxed))),
            2 => assert_eq!(pool.install(|| fib(12)), 144),
            _ => all_meet(&pool),
        }
    }
    until_named("ends", 0);
    assert_eq!(DONE.load(Ordering::Relaxed), 25 * THREADS);
}

#[test]
fn threads_with_handlers_start_at_once() {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let start = |_| _ = STARTED.fetch_add(1, Ordering::Relaxed);
    let _pool = builder("handler").start_handler(start).build().unwrap();
    until_named("handler", THREADS);
    while STARTED.load(Ordering::Relaxed) < THREADS {
        thread::yield_now();
    }
}

/// Names are asked for in order, once each.
#[test]
fn each_has_its_name() {
    let mut asked = 0;
    let name = move |index| {
        assert_eq!(index, asked);
        asked += 1;
        format!("thread {index}")
    };
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).thread_name(name).build().unwrap();
    let names = pool.broadcast(|_| thread::current().name().map(str::to_owned));
    assert_eq!(names, (0..THREADS).map(|index| Some(format!("thread {index}"))).collect::<Vec<_>>());
}

/// Limits the address space.
fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call reads the limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

#[test]
#[ignore = "run by another"]
fn broadcasts_without_threads() {
    let pool = builder("refused").build().unwrap();
    assert_eq!(pool.install(|| 1 + 2), 3);
    let ran = AtomicUsize::new(0);
    limit_address_space(1 << 20);
    let broadcasts: [&dyn Fn(); 3] = [
        &|| drop(pool.broadcast(|_| ran.fetch_add(1, Ordering::Relaxed))),
        &|| pool.spawn_broadcast(|_| unreachable!("on some thread")),
        &|| pool.in_place_scope(|s| s.spawn_broadcast(|_, _| _ = ran.fetch_add(1, Ordering::Relaxed))),
    ];
    for broadcast in broadcasts {
        let panic = catch_unwind(AssertUnwindSafe(broadcast)).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with("a worker of this pool cannot have a thread ("), "{message}");
        assert_eq!(pool.install(|| fib(15)), 610);
    }
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    limit_address_space(libc::RLIM_INFINITY);
    assert_eq!(pool.broadcast(|context| context.index()), (0..THREADS).collect::<Vec<_>>());
}

#[test]
fn a_broadcast_without_all_threads_panics_before_any_runs_it() {
    let mut child = Command::new(env::current_exe().unwrap());
    // Otherwise the allocator takes 64 MiB of address space per thread.
    child.args(["--exact", "broadcasts_without_threads", "--ignored", "--test-threads=1"]).env("MALLOC_ARENA_MAX", "1");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()));
}
