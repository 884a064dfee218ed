//! Reproductions of bugs: `reproductions lock|stack|thread-local`.
//!
//! `lock` and `stack` are rayon's, when a worker that waits in a join runs an unrelated task. `thread-local` is that of
//! a caller which runs its call itself.
//!
//! Exits with 0 on success. With the published rayon-core `lock` hangs, and `stack` dies of a stack overflow. On the
//! drop-in with `FILCH_WAIT=leapfrog` both succeed. `thread-local` succeeds on both, and panics with `FILCH_CALLER=1`.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// rayon#592: a task holds a lock across a parallel loop. A worker that waits in the loop steals another task that
/// wants the same lock. Its own thread holds that lock, further down its stack.
fn lock() {
    const ITEMS: u32 = 600;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
    let total = Mutex::new(0_u64);
    pool.install(|| {
        (0..ITEMS).into_par_iter().with_max_len(1).for_each(|_| {
            let mut total = total.lock().expect("nobody panics");
            *total += (0..64_u32)
                .into_par_iter()
                .with_max_len(1)
                .map(|n| {
                    // Long enough for others to wake up and steal.
                    thread::sleep(Duration::from_micros(20));
                    u64::from(n)
                })
                .sum::<u64>();
        });
    });
    assert_eq!(total.into_inner().expect("nobody panicked"), u64::from(ITEMS) * 2016);
}

/// rayon#1064, rayon#854: each task needs a little stack and waits in a join. A waiting worker steals the next task, on
/// top of its waiting one, and so on.
fn stack() {
    const FRAME: usize = 64 << 10;
    const TASKS: usize = 60;
    // Room for a dozen tasks on top of one another. A sequential program never has more than one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).stack_size(1 << 20).build().expect("a pool");
    let started = AtomicUsize::new(0);
    let task = || {
        let mut frame = [0_u8; FRAME];
        black_box(&mut frame);
        let number = started.fetch_add(1, Ordering::Relaxed);
        let is_stolen = AtomicBool::new(false);
        // The halves take a few milliseconds at most. The first ends once somebody has stolen the second. The second
        // lasts until the waiting worker has found something else to do.
        rayon::join(
            || wait_a_while_for(|| is_stolen.load(Ordering::Relaxed)),
            || {
                is_stolen.store(true, Ordering::Relaxed);
                wait_a_while_for(|| started.load(Ordering::Relaxed) > number + 1);
            },
        );
        black_box(&mut frame);
    };
    pool.in_place_scope(|s| (0..TASKS).for_each(|_| s.spawn(|_| task())));
    assert_eq!(started.load(Ordering::Relaxed), TASKS);
}

/// The thread that calls a loop has borrowed a thread-local variable that the items borrow too, each on its own thread.
/// So the loop may run on any thread but the caller's.
fn thread_local() {
    thread_local! {
        static ITEMS: RefCell<u32> = const { RefCell::new(0) };
        static LAST: Cell<Option<u32>> = const { Cell::new(None) };
    }
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().expect("the first");
    for _ in 0..30 {
        // The pool's threads fall asleep.
        thread::sleep(Duration::from_millis(1));
        ITEMS.with_borrow_mut(|_| {
            (0..1000_u32).into_par_iter().for_each(|n| {
                ITEMS.with_borrow_mut(|items| *items += 1);
                LAST.set(Some(n));
            });
        });
    }
    assert_eq!(LAST.get(), None, "the caller's own");
    let on_others: u32 = rayon::broadcast(|_| ITEMS.take()).iter().sum();
    assert_eq!(on_others, 30 * 1000);
}

fn wait_a_while_for(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() && start.elapsed() < Duration::from_millis(10) {
        thread::yield_now();
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("lock") => lock(),
        Some("stack") => stack(),
        Some("thread-local") => thread_local(),
        _ => {
            eprintln!("usage: reproductions lock|stack|thread-local");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
