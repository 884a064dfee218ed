//! The global pool: how it is built, ended and started again. Each test runs in its own process.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

mod common;
#[path = "common/refusing.rs"]
mod refusing;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::wait_for;
use filch::{BuildError, ThreadPool};
use refusing::{child, in_a_fork, succeeds};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = filch::join(move || fib(n - 1), move || fib(n - 2));
    a + b
}

/// The number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Uses the global pool in every way from outside.
fn works() {
    let pool = ThreadPool::global();
    assert_eq!(fib(12), 144);
    assert_eq!(pool.run(|mut w| w.join(|_| 1, |_| 2)), (1, 2));
    assert_eq!(filch::map_reduce(0..1000, 0, |n| n, |a, b| a + b), 499_500);
    assert_eq!(filch::submit(|| fib(9)).join().unwrap(), 34);
    assert_eq!(filch::broadcast(|worker| worker).len(), pool.workers());
    let mut squares = [0; 5];
    filch::scope(|s| squares.iter_mut().enumerate().for_each(|(n, square)| s.spawn(move |_| *square = n * n)));
    assert_eq!(squares, [0, 1, 4, 9, 16]);
    let thread = filch::in_place_scope(|s| {
        squares.iter_mut().for_each(|square| s.spawn(move |s| s.spawn(move |_| *square += 1)));
        thread::current().id()
    });
    assert_eq!((thread, squares), (thread::current().id(), [1, 2, 5, 10, 17]));
    let task = catch_unwind(|| filch::in_place_scope(|s| s.spawn(|_| panic!("a task"))));
    assert_eq!(task.unwrap_err().downcast_ref(), Some(&"a task"));
}

#[test]
#[ignore = "run by another"]
fn builds() {
    let starts = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&starts);
    let builder = ThreadPool::builder().workers(2).spares(1).thread_name(|n| format!("global {n}"));
    let pool = builder.on_start(move |_| _ = counts.fetch_add(1, SeqCst)).build_global().unwrap();
    assert!(std::ptr::eq(pool, ThreadPool::global()));
    assert_eq!(filch::join(|| pool.workers(), || 0).0, 3);
    assert!(pool.install(|| thread::current().name().unwrap().starts_with("global")));
    works();
    let blocks = || {
        let (sender, receiver) = std::sync::mpsc::channel();
        pool.install(move || {
            filch::spawn(move || sender.send(1).unwrap());
            filch::blocking(|| receiver.recv())
        })
    };
    assert_eq!(blocks(), Ok(1));
    let again = ThreadPool::builder().build_global();
    assert!(matches!(again, Err(BuildError::GlobalExists)));
    assert!(again.unwrap_err().to_string().contains("before the first use"));
    assert_eq!(pool.broadcast(|_| starts.load(SeqCst)), [3; 3]);
    ThreadPool::end_global();
    works();
    assert!(matches!(ThreadPool::builder().build_global(), Err(BuildError::GlobalExists)), "it stays");
    assert_eq!(pool.broadcast(|_| starts.load(SeqCst)), [6; 3], "with its settings");
    for _ in 0..20 {
        assert_eq!(blocks(), Ok(1));
        ThreadPool::end_global();
    }
}

#[test]
#[ignore = "run by another"]
fn comes_too_late() {
    assert!(ThreadPool::builder().workers(0).build_global().is_err());
    assert_eq!(fib(5), 5);
    assert!(matches!(ThreadPool::builder().workers(2).build_global(), Err(BuildError::GlobalExists)));
}

#[test]
fn the_first_to_come_builds_the_global_pool() {
    succeeds("builds", &[]);
    succeeds("comes_too_late", &[("FILCH_WORKERS", "2")]);
}

#[test]
#[ignore = "run by another"]
fn ends() {
    ThreadPool::end_global();
    let before = threads();
    let pool = ThreadPool::global();
    for round in 0..20 {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let counts = Arc::clone(&ran);
            filch::spawn(move || {
                filch::spawn(move || {
                    fib(5);
                    counts.fetch_add(1, SeqCst);
                });
            });
        }
        assert!(threads() > before);
        ThreadPool::end_global();
        assert_eq!(ran.load(SeqCst), 10, "all jobs are done");
        wait_for("the end of the threads", || threads() == before);
        ThreadPool::end_global();
        pool.wait_idle();
        assert_eq!(threads(), before);
        // Each of these starts them again.
        match round % 5 {
            0 => works(),
            1 => assert_eq!(pool.install(|| 1), 1),
            2 => assert_eq!(pool.broadcast(|_| ()).len(), pool.workers()),
            3 => assert_eq!(pool.submit(|| 2).join().unwrap(), 2),
            _ => assert_eq!(fib(10), 55),
        }
    }
    let refused = catch_unwind(|| ThreadPool::global().install(ThreadPool::end_global)).unwrap_err();
    assert!(refused.downcast_ref::<&str>().unwrap().contains("a part"));
    // A worker of another pool runs that pool's jobs meanwhile, which may end the global pool in turn.
    for workers in [1, 2] {
        let other = ThreadPool::new(workers).unwrap();
        other.install(ThreadPool::end_global);
        let ended = Arc::new(AtomicUsize::new(0));
        other.install(|| {
            let (sender, receiver) = std::sync::mpsc::channel();
            ThreadPool::global().spawn(move || receiver.recv().unwrap());
            let counts = Arc::clone(&ended);
            filch::spawn(move || {
                sender.send(()).unwrap();
                ThreadPool::end_global();
                counts.fetch_add(1, SeqCst);
            });
            ThreadPool::end_global();
        });
        drop(other);
        assert_eq!(ended.load(SeqCst), 1);
    }
    wait_for("the end of the threads", || threads() == before);
    // In a child, also of a process whose pool has ended.
    for _ in 0..2 {
        in_a_fork(|| {
            ThreadPool::end_global();
            works();
            assert!(!std::ptr::eq(pool, ThreadPool::global()));
            let refused = catch_unwind(AssertUnwindSafe(|| pool.install(|| ()))).unwrap_err();
            assert!(refused.downcast_ref::<&str>().unwrap().contains("after fork()"));
            ThreadPool::end_global();
            works();
        });
        works();
    }
}

#[test]
fn the_global_pool_ends_and_starts_again() {
    for workers in ["1", "2", "8"] {
        succeeds("ends", &[("FILCH_WORKERS", workers)]);
    }
}

#[test]
#[ignore = "run by another"]
fn ends_in_the_middle_of_everything() {
    // The pool ends when it has nothing to do for a moment. On a busy machine there may be no such moment, so these
    // threads hold off if an end takes long.
    let ending = Mutex::new(None::<Instant>);
    let is_ending = || ending.lock().unwrap().is_some_and(|since| since.elapsed() > Duration::from_millis(100));
    let pauses = || {
        thread::sleep(Duration::from_micros(300));
        while is_ending() {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let (is_over, ran, spawned) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            while !is_over.load(SeqCst) {
                works();
                pauses();
            }
        });
        s.spawn(|| {
            while !is_over.load(SeqCst) {
                let counts = Arc::clone(&ran);
                filch::spawn(move || _ = counts.fetch_add(1, SeqCst));
                spawned.fetch_add(1, SeqCst);
                pauses();
            }
        });
        s.spawn(|| {
            while !is_over.load(SeqCst) {
                let workers = ThreadPool::global().workers();
                let nested = || filch::broadcast(|_| ()).len();
                assert_eq!(ThreadPool::global().install(nested), workers);
                pauses();
            }
        });
        for n in 0..40 {
            fib(n % 5);
            *ending.lock().unwrap() = Some(Instant::now());
            ThreadPool::end_global();
            *ending.lock().unwrap() = None;
        }
        is_over.store(true, SeqCst);
    });
    ThreadPool::end_global();
    assert_eq!(ran.load(SeqCst), spawned.into_inner());
}

#[test]
fn the_global_pool_may_end_at_any_time() {
    for workers in ["1", "2", "8"] {
        succeeds("ends_in_the_middle_of_everything", &[("FILCH_WORKERS", workers)]);
    }
}

#[test]
#[ignore = "run by another"]
fn is_told_nonsense() {
    let value = std::env::var("FILCH_WORKERS").unwrap();
    let names =
        |error: String| assert!(error.contains(&format!("FILCH_WORKERS={value}: it must be a number")), "{error}");
    let Err(error) = ThreadPool::builder().build() else { panic!("it is no number of workers") };
    assert!(matches!(error, BuildError::Variable { name: "FILCH_WORKERS", .. }));
    names(error.to_string());
    names(ThreadPool::builder().seats().map(|_| ()).unwrap_err().to_string());
    names(ThreadPool::builder().build_global().map(|_| ()).unwrap_err().to_string());
    let payload = catch_unwind(ThreadPool::global).map(|_| ()).unwrap_err();
    names(payload.downcast_ref::<String>().unwrap().clone());
    // Whoever says how many workers there are needs no variable.
    assert_eq!(ThreadPool::new(2).unwrap().workers(), 2);
    assert_eq!(ThreadPool::builder().workers(3).build_global().unwrap().workers(), 3);
    assert_eq!(fib(10), 55);
}

/// The file may be that of an earlier run.
#[test]
fn the_global_pool_is_recorded_on_request() {
    let file = format!("{}/global.json", env!("CARGO_TARGET_TMPDIR"));
    for child in ["is_told_nothing", "ends", "builds"] {
        succeeds(child, &[("FILCH_TIMELINE", &file)]);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"worker 0\"") && text.ends_with("]}\n"), "{child}: {text}");
        let works = ["call", "job", "task"].iter().any(|name| text.contains(&format!("\"name\":\"{name}\"")));
        assert_eq!(works, child != "is_told_nothing", "{child}: {text}");
        std::fs::remove_file(&file).unwrap();
    }
    succeeds("has_no_place_for_a_timeline", &[("FILCH_TIMELINE", "no/such/folder/x.json")]);
}

#[test]
#[ignore = "run by another"]
fn has_no_place_for_a_timeline() {
    let names = |error: String| assert!(error.contains("FILCH_TIMELINE=no/such/folder/x.json: the file"), "{error}");
    names(ThreadPool::builder().build_global().map(|_| ()).unwrap_err().to_string());
    let payload = catch_unwind(ThreadPool::global).map(|_| ()).unwrap_err();
    names(payload.downcast_ref::<String>().unwrap().clone());
    // Other pools need no file.
    assert_eq!(ThreadPool::new(2).unwrap().workers(), 2);
}

#[test]
#[ignore = "run by another"]
fn is_told_nothing() {
    assert!(ThreadPool::global().workers() >= 1);
}

#[test]
fn an_unusable_number_of_workers_is_refused() {
    for value in ["many", "0", "-1", "2.5", " 2", "99999999999999999999"] {
        succeeds("is_told_nonsense", &[("FILCH_WORKERS", value)]);
    }
    succeeds("is_told_nothing", &[("FILCH_WORKERS", "")]);
}

#[test]
#[ignore = "run by another"]
fn panics_in_its_handler() {
    let pool = ThreadPool::builder().workers(1).on_panic(|_| panic!("again")).build().unwrap();
    pool.spawn(|| panic!("at first"));
    pool.wait_idle();
}

#[test]
fn a_panic_in_a_panic_handler_ends_the_process() {
    let output = child("panics_in_its_handler", &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("a panic handler panicked; aborting"), "{told}");
}

#[test]
#[ignore = "run by another"]
fn records_by_a_clock_that_panics() {
    static IS_BROKEN: AtomicBool = AtomicBool::new(false);
    let recording = filch::scale::Recording::new().clock(|| u64::from(!IS_BROKEN.load(SeqCst)).checked_sub(1).unwrap());
    recording.measure(|| {
        IS_BROKEN.store(true, SeqCst);
        filch::join(|| (), || ())
    });
}

#[test]
fn a_panic_in_the_clock_of_a_recording_ends_the_process() {
    let output = child("records_by_a_clock_that_panics", &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("the clock of a recording panicked; aborting"), "{told}");
}
