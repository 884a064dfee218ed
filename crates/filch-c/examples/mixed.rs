//! Tasks in Rust and in C that fork each other, in one pool. The C half is `tests/c/mixed.c` or, as C++,
//! `tests/c/mixed.cpp`; a test links both, as any program links a static library with this crate in it.

use std::ffi::{c_int, c_long};
use std::panic::catch_unwind;

use filch::{ThreadPool, Worker};
use filch_c::RawWorker;

unsafe extern "C-unwind" {
    /// The task `FILCH_TASK(long, c_fib, int, n)`, which calls and spawns [`rust_fib`].
    fn c_fib(front: *const (), head: *const (), n: c_int) -> c_long;
}

/// Calls the task written in C.
fn fib_in_c(mut worker: Worker<'_>, n: c_int) -> c_long {
    let (front, head) = RawWorker::of(&mut worker).words();
    // SAFETY: the task gets this worker, which nobody uses before it returns.
    unsafe { c_fib(front, head, n) }
}

fn fib_in_rust(mut worker: Worker<'_>, n: c_int) -> c_long {
    if n < 2 {
        return n.into();
    }
    // Closure style on a worker in handle style, which C's tasks are in as well.
    if n % 5 == 0 {
        let (a, b) = filch::join(|| fib_alone(n - 1), || fib_alone(n - 2));
        return a + b;
    }
    let (a, b) = worker.join(move |w| fib_in_c(w, n - 1), move |w| fib_in_rust(w, n - 2));
    a + b
}

/// In closure style.
fn fib_alone(n: c_int) -> c_long {
    if n < 2 {
        return n.into();
    }
    let (a, b) = filch::join(|| fib_alone(n - 1), || fib_alone(n - 2));
    a + b
}

/// For C: a fib that forks in Rust.
///
/// # Safety
/// The worker is that of the caller's task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rust_fib(worker: RawWorker, n: c_int) -> c_long {
    // SAFETY: the caller's promise.
    fib_in_rust(unsafe { worker.worker() }, n)
}

/// For C++: panics.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rust_panics(value: c_int) {
    std::panic::resume_unwind(Box::new(value));
}

/// Runs C's tasks from Rust, on a pool of this crate. Returns whether the answers are right.
///
/// # Safety
/// The pool has been started by `filch_pool_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rust_main(pool: *const ThreadPool) -> bool {
    // SAFETY: the caller's promise.
    let pool = unsafe { &*pool };
    let handle = pool.run(|w| fib_in_c(w, 20));
    let closure = pool.install(|| pool.run(|w| fib_in_c(w, 18)));
    let (a, b) = pool.run(|mut w| w.join(|w| fib_in_c(w, 15), |w| fib_in_rust(w, 16)));
    (handle, closure, a, b) == (6765, 2584, 610, 987)
}

/// Runs C++ tasks that throw, deep below others; returns how many panics arrived here.
///
/// # Safety
/// As for [`rust_main`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rust_catches(
    pool: *const ThreadPool,
    throws: unsafe extern "C-unwind" fn(*const (), *const (), c_int, c_int) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let pool = unsafe { &*pool };
    let run = |depth| {
        pool.run(move |mut w| {
            let (front, head) = RawWorker::of(&mut w).words();
            // SAFETY: the task gets this worker, which nobody uses before it returns.
            unsafe { throws(front, head, depth, 0) }
        })
    };
    let caught = (0..8).filter(|depth| {
        let payload = catch_unwind(std::panic::AssertUnwindSafe(|| run(*depth))).expect_err("it panics");
        *payload.downcast_ref::<c_int>().expect("the payload is its own") == 42
    });
    c_int::try_from(caught.count()).expect("eight at most")
}
