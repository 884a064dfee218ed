//! A system without threads, and forked processes, each in a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../filch/tests/common/refusing.rs"]
mod refusing;

use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon_core::{ThreadPoolBuilder, broadcast, current_num_threads, join, scope};
use refusing::{From, in_a_fork, refuse, succeeds};

const THREADS: [libc::c_long; 2] = [libc::SYS_clone, libc::SYS_clone3];

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn panics_with<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("the closure does not panic") };
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref().cloned()).unwrap_or_default()
}

#[test]
#[ignore = "run by another"]
fn is_refused_threads() {
    refuse(&THREADS, libc::EAGAIN, From::Here);
    assert!(ThreadPoolBuilder::new().num_threads(2).build().is_err());
    assert!(panics_with(|| fib(5)).contains("the global thread pool cannot be started"));
}

#[test]
#[ignore = "run by another"]
fn knows_no_threads() {
    refuse(&THREADS, libc::ENOSYS, From::Here);
    assert_eq!((fib(12), current_num_threads()), (144, 1), "the current thread is the pool");
    let mut ran = false;
    scope(|s| s.spawn(|_| ran = true));
    assert!(ran);
    assert_eq!(broadcast(|context| context.index()), [0]);
}

#[test]
fn without_threads_there_is_an_error_or_one_thread() {
    succeeds("is_refused_threads", &[]);
    succeeds("knows_no_threads", &[]);
}

#[test]
#[ignore = "run by another"]
fn forks_a_process() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!((fib(10), pool.install(|| fib(10))), (55, 55));
    in_a_fork(|| {
        assert_eq!(fib(16), 987, "on the child's own global pool");
        assert_eq!(broadcast(|context| context.index()).len(), current_num_threads());
        let mut squares = [0; 50];
        scope(|s| squares.iter_mut().enumerate().for_each(|(n, square)| s.spawn(move |_| *square = n * n)));
        assert_eq!(squares[49], 2401);
        assert!(ThreadPoolBuilder::new().build_global().is_err(), "there already is one");
        let ways: [&dyn Fn(); 7] = [
            &|| pool.install(|| ()),
            &|| pool.spawn(|| ()),
            &|| pool.spawn_fifo(|| ()),
            &|| pool.in_place_scope(|s| s.spawn(|_| ())),
            &|| pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| ())),
            &|| _ = pool.broadcast(|_| ()),
            &|| pool.spawn_broadcast(|_| ()),
        ];
        for way in ways {
            assert!(panics_with(way).contains("after fork() a child has to make pools of its own"));
        }
        drop(pool);
        let own = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        in_a_fork(|| assert_eq!(fib(16), 987));
        assert_eq!(own.install(|| fib(12)), 144);
    });
    assert_eq!(fib(12), 144, "nothing has changed in the parent");
}

#[test]
#[ignore = "run by another"]
fn forks_before_all() {
    in_a_fork(|| {
        ThreadPoolBuilder::new().num_threads(3).build_global().unwrap();
        assert_eq!((fib(12), current_num_threads()), (144, 3));
    });
    ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    assert_eq!((fib(12), current_num_threads()), (144, 2));
    in_a_fork(|| {
        ThreadPoolBuilder::new().num_threads(3).build_global().unwrap();
        assert_eq!((fib(12), current_num_threads()), (144, 3));
    });
}

#[test]
fn a_forked_process_has_pools_of_its_own() {
    succeeds("forks_a_process", &[]);
    succeeds("forks_before_all", &[]);
}
