//! Which thread runs a call from outside: the caller's own on the global pool, if a worker sleeps; never on other
//! pools.
#![cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]

use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPoolBuilder, current_num_threads, current_thread_index, join};

/// Time for workers to fall asleep. Each step takes a thousand times as long under Miri.
const A_WHILE: Duration = if cfg!(miri) { Duration::from_secs(1) } else { Duration::from_micros(200) };

#[test]
fn callers_work_only_on_the_global_pool() {
    if std::env::var_os("FILCH_CALLER").is_some() {
        return;
    }
    ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let here = || thread::current().id();
    let (me, start) = (here(), Instant::now());
    loop {
        let (who, index) = join(|| (here(), current_thread_index()), || ()).0;
        assert!(index.is_some_and(|index| index < 2), "{index:?}");
        assert_eq!((current_thread_index(), current_num_threads()), (None, 2));
        if who == me {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no thread sleeps");
        thread::sleep(A_WHILE);
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..if cfg!(miri) { 3 } else { 50 } {
        thread::sleep(A_WHILE);
        assert_ne!(pool.install(here), me);
    }
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
