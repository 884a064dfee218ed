//! The end of the global pool, in processes of their own.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the drop-in")]

#[path = "../../filch/tests/common/refusing.rs"]
mod refusing;

use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use rayon_core::filch::{end_global, wait_idle};
use rayon_core::{ThreadPoolBuilder, broadcast, current_num_threads, join, scope, spawn, spawn_broadcast};
use refusing::succeeds;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// The number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
#[ignore = "run by another"]
fn ends() {
    assert!(end_global(), "there is none");
    wait_idle();
    let before = threads();
    for round in 0..50 {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let counts = Arc::clone(&ran);
            spawn(move || {
                let again = Arc::clone(&counts);
                spawn(move || {
                    fib(5);
                    again.fetch_add(1, SeqCst);
                });
                let here = Arc::clone(&counts);
                spawn_broadcast(move |_| _ = here.fetch_add(1, SeqCst));
            });
        }
        let expected = 10 + 10 * current_num_threads();
        if round % 2 == 0 {
            wait_idle();
            assert_eq!(ran.load(SeqCst), expected, "all tasks are done");
        }
        assert!(end_global());
        assert_eq!(ran.load(SeqCst), expected, "all tasks are done");
        assert_eq!(threads(), before, "no thread is left");
        assert!(end_global(), "it has ended");
        // Each of these starts them again.
        match round % 4 {
            0 => assert_eq!(fib(10), 55),
            1 => assert_eq!(broadcast(|context| context.index()).len(), current_num_threads()),
            2 => scope(|s| s.spawn(|_| ())),
            _ => {}
        }
    }
    fib(2);
    let refused = catch_unwind(|| join(end_global, || ())).unwrap_err();
    assert!(refused.downcast_ref::<&str>().unwrap().contains("a part"));
    let refused = catch_unwind(|| join(wait_idle, || ())).unwrap_err();
    assert!(refused.downcast_ref::<&str>().unwrap().contains("its own pool"));
    // A thread of another pool may do it.
    let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(other.install(end_global));
}

/// Calls of other threads come all the time.
#[test]
#[ignore = "run by another"]
fn ends_while_others_call() {
    let is_over = AtomicBool::new(false);
    thread::scope(|s| {
        let callers: Vec<_> = (0..3)
            .map(|_| {
                s.spawn(|| {
                    let (mut rounds, ran) = (0, Arc::new(AtomicUsize::new(0)));
                    while !is_over.load(SeqCst) {
                        assert_eq!(fib(8), 21);
                        let mut sum = 0;
                        scope(|s| s.spawn(|_| sum = broadcast(|_| 1).into_iter().sum()));
                        assert_eq!(sum, current_num_threads());
                        let counts = Arc::clone(&ran);
                        spawn(move || _ = counts.fetch_add(1, SeqCst));
                        rounds += 1;
                        thread::yield_now();
                    }
                    (rounds, ran)
                })
            })
            .collect();
        for _ in 0..100 {
            assert!(end_global());
        }
        is_over.store(true, SeqCst);
        let counts: Vec<_> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
        assert!(end_global());
        assert!(counts.iter().all(|(rounds, ran)| *rounds == ran.load(SeqCst)), "each task ran once");
    });
}

#[test]
#[ignore = "run by another"]
fn is_built_by_the_program() {
    let handled = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let (starts, exits) = (Arc::clone(&handled), Arc::clone(&handled));
    let builder = ThreadPoolBuilder::new().num_threads(3).thread_name(|n| format!("own {n}"));
    let builder = builder.start_handler(move |_| _ = starts[0].fetch_add(1, SeqCst));
    builder.exit_handler(move |_| _ = exits[1].fetch_add(1, SeqCst)).build_global().unwrap();
    for round in 1..10 {
        let names = broadcast(|_| thread::current().name().map(str::to_owned));
        assert_eq!(names, ["own 0", "own 1", "own 2"].map(|name| Some(name.to_owned())));
        assert!(end_global());
        assert_eq!([0, 1].map(|of| handled[of].load(SeqCst)), [3 * round; 2]);
    }
}

#[test]
#[ignore = "run by another"]
fn has_the_programs_threads() {
    let start = |thread: rayon_core::ThreadBuilder| {
        thread::spawn(|| thread.run());
        Ok(())
    };
    ThreadPoolBuilder::new().num_threads(2).spawn_handler(start).build_global().unwrap();
    assert!(!end_global());
    assert_eq!(fib(10), 55);
}

#[test]
#[ignore = "run by another"]
fn has_the_current_thread() {
    ThreadPoolBuilder::new().num_threads(2).use_current_thread().build_global().unwrap();
    assert!(!thread::spawn(end_global).join().unwrap());
    assert_eq!(fib(10), 55);
}

#[test]
fn the_global_pool_ends_and_starts_again() {
    succeeds("ends", &[]);
    succeeds("ends_while_others_call", &[]);
    succeeds("ends_while_others_call", &[("RAYON_NUM_THREADS", "1")]);
    succeeds("is_built_by_the_program", &[]);
}

#[test]
fn a_pool_of_the_programs_own_threads_does_not_end() {
    succeeds("has_the_programs_threads", &[]);
    succeeds("has_the_current_thread", &[]);
}
