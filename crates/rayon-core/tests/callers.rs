//! Which thread runs a call from outside: one of the pool's, unless callers work by one of the three ways to ask for
//! that.
#![cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]

use std::cell::Cell;
use std::env;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::filch::CallersWork;
use rayon_core::{ThreadPoolBuilder, current_num_threads, current_thread_index, join};

/// Time for workers to fall asleep. Each step takes a thousand times as long under Miri.
const A_WHILE: Duration = if cfg!(miri) { Duration::from_secs(1) } else { Duration::from_micros(200) };

/// Checks that the calling thread never runs its `call` itself.
fn never_works(call: impl Fn(fn() -> bool) -> bool) {
    for _ in 0..if cfg!(miri) { 3 } else { 50 } {
        thread::sleep(A_WHILE);
        assert!(!call(is_marked));
    }
}

/// Waits until the calling thread runs its `call` itself, which it does if a worker sleeps.
fn works(call: impl Fn(fn() -> bool) -> bool) {
    let start = Instant::now();
    while !call(is_marked) {
        assert!(start.elapsed() < Duration::from_secs(60), "no thread sleeps");
        thread::sleep(A_WHILE);
    }
}

thread_local! {
    static MARK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is the test's thread; and checks that it is a worker.
fn is_marked() -> bool {
    assert!(current_thread_index().is_some_and(|index| index < 2), "{:?}", current_thread_index());
    MARK.get()
}

/// A call into the global pool, which has two threads.
fn globally(f: fn() -> bool) -> bool {
    let is_here = join(f, || ()).0;
    assert_eq!((current_thread_index(), current_num_threads()), (None, 2));
    is_here
}

/// Not a test by itself: the global pool, one whose callers shall work and one whose callers shall not, with what the
/// environment says.
#[test]
#[ignore = "run by the others"]
fn child() {
    MARK.set(true);
    ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let [willing, unwilling] =
        [true, false].map(|work| ThreadPoolBuilder::new().num_threads(2).callers_work(work).build().unwrap());
    let names = |_| "named".to_owned();
    let ordinary = ThreadPoolBuilder::new().num_threads(2).thread_name(names).build().unwrap();
    if env::var("FILCH_CALLER").is_ok_and(|value| value == "1") {
        works(globally);
        works(|f| unwilling.install(f));
        works(|f| ordinary.install(f));
    } else {
        never_works(globally);
        never_works(|f| willing.install(f));
        never_works(|f| ordinary.install(f));
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
fn the_environment_decides_for_all_pools() {
    for value in ["0", "1"] {
        let mut command = Command::new(env::current_exe().unwrap());
        let output = command.args(["--exact", "child", "--ignored"]).env("FILCH_CALLER", value).output().unwrap();
        assert!(output.status.success(), "FILCH_CALLER={value}: {output:?}");
    }
}

/// Whether the environment leaves the decision to the tests.
fn is_free() -> bool {
    env::var_os("FILCH_CALLER").is_none()
}

/// By default, and with the feature, which decides for the plain global pool.
#[test]
fn the_feature_decides_for_the_global_pool() {
    if !is_free() {
        return;
    }
    MARK.set(true);
    ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    if cfg!(feature = "callers-work") {
        works(globally);
    } else {
        never_works(globally);
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    never_works(|f| pool.install(f));
}

#[test]
fn the_builder_decides_for_its_pool() {
    if !is_free() {
        return;
    }
    MARK.set(true);
    let build =
        |work| ThreadPoolBuilder::new().num_threads(2).thread_name(|n| n.to_string()).callers_work(work).build();
    let pool = build(true).unwrap();
    works(|f| pool.install(f));
    works(|f| pool.scope(|_| f()));
    let pool = build(false).unwrap();
    never_works(|f| pool.install(f));
}

/// A worker of filch's own that waits for a pool of rayon's is no thread of that pool in what it runs meanwhile.
#[test]
fn a_worker_of_another_pool_stays_one() {
    let rayon = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let other = filch::ThreadPool::builder().workers(4).caller_works(false).build().unwrap();
    other.install(|| {
        let waits = || rayon.install(|| thread::sleep(A_WHILE * 50));
        let looks = || assert_eq!((current_thread_index(), rayon.current_thread_index()), (None, None));
        filch::for_each(0..64, |n| if n % 8 == 0 { waits() } else { looks() });
    });
}
