//! As many tasks as threads all run at once, though each waits for the others without calling this crate.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, join, scope};

/// A barrier for a given number of tasks.
struct Meeting {
    wanted: usize,
    here: AtomicUsize,
}

impl Meeting {
    /// # Panics
    /// If the others do not come.
    fn attend(&self) {
        self.here.fetch_add(1, SeqCst);
        // Counts checks instead of reading the clock, which advances while a virtual machine is stopped.
        let comes = (0..1_000_000).any(|_| {
            thread::sleep(Duration::from_micros(50));
            self.here.load(SeqCst) >= self.wanted
        });
        assert!(comes, "{} of {} tasks have begun", self.here.load(SeqCst), self.wanted);
    }
}

fn tree(meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    join(|| tree(meeting, leaves / 2), || tree(meeting, leaves - leaves / 2));
}

/// Forks all leaves but one before the first runs.
fn list(meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    join(|| list(meeting, leaves - 1), || meeting.attend());
}

/// Runs a leaf before forking the others.
fn backwards(meeting: &Meeting, leaves: usize) {
    if leaves == 1 {
        return meeting.attend();
    }
    join(|| meeting.attend(), || backwards(meeting, leaves - 1));
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn as_many_tasks_as_threads_all_run_at_once() {
    let shapes: [fn(&Meeting, usize); 4] = [tree, list, backwards, |meeting, tasks| {
        scope(|s| {
            for _ in 0..tasks {
                s.spawn(|_| meeting.attend());
            }
        });
    }];
    for threads in [2, 4, 8, 16] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        for shape in shapes {
            // Warms up with a balanced program.
            assert_eq!(pool.install(|| fib(16)), 987);
            let meeting = Meeting { wanted: threads, here: AtomicUsize::new(0) };
            pool.install(|| shape(&meeting, threads));
        }
    }
}

/// Forks the given number of tasks, then calls `last`.
fn forks_and_then(tasks: usize, task: &(dyn Fn() + Sync), last: &(dyn Fn() + Sync)) {
    if tasks == 0 {
        return last();
    }
    join(|| forks_and_then(tasks - 1, task, last), task);
}

/// Others get the tasks that a thread forked while nobody waited, even after the thread has begun something long.
#[test]
#[cfg(target_os = "linux")]
fn tasks_forked_before_something_long_run_meanwhile() {
    const TASKS: usize = 20;
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..20 {
        let meeting = |wanted| Meeting { wanted, here: AtomicUsize::new(0) };
        let (busy, over, done) = (meeting(2), meeting(2), meeting(TASKS + 1));
        pool.install(|| {
            join(
                || {
                    busy.attend();
                    assert_eq!(fib(18), 2584);
                    forks_and_then(TASKS, &|| _ = done.here.fetch_add(1, SeqCst), &|| {
                        over.attend();
                        done.attend();
                    });
                },
                || {
                    busy.attend();
                    over.attend();
                },
            )
        });
    }
}
