//! Waits that end in the published crate end here too, on small stacks.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rayon_core::{Scope, ThreadPoolBuilder, join, scope};

/// Uses more than half of a stack of two MiB.
#[inline(never)]
fn deep<R>(f: impl FnOnce() -> R) -> R {
    let used = [0_u8; 1200 << 10];
    black_box(&used);
    let result = f();
    black_box(&used);
    result
}

fn until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

fn inner<'s>(s: &Scope<'s>, c: &'s AtomicBool, ran: &'s AtomicBool) {
    join(
        || until(c),
        || {
            c.store(true, SeqCst);
            s.spawn(|_| ran.store(true, SeqCst));
        },
    );
}

/// One worker waits at a join, the other for a scope with a task at the first. Both have used more than half of their
/// stacks.
#[test]
fn threads_low_on_stack_still_run_what_all_wait_for() {
    for round in 0..5 {
        let (done, is_done) = channel();
        thread::spawn(move || {
            let pool = ThreadPoolBuilder::new().num_threads(2).stack_size(2 << 20).build().unwrap();
            let [b, c, ran] = [const { AtomicBool::new(false) }; 3];
            let outer = || {
                b.store(true, SeqCst);
                deep(|| scope(|s| inner(s, &c, &ran)));
            };
            pool.install(|| deep(|| join(|| until(&b), outer)));
            done.send(ran.load(SeqCst)).unwrap();
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(60)), Ok(true), "round {round}");
    }
}

fn spawns<'s>(s: &Scope<'s>, taken: &AtomicBool, ran: &'s AtomicBool) {
    until(taken);
    s.spawn(|_| ran.store(true, SeqCst));
}

/// One worker waits at a join for the other, which blocks on a task that the first has spawned.
#[test]
fn threads_low_on_stack_still_run_what_they_have_spawned() {
    for round in 0..5 {
        let (done, is_done) = channel();
        thread::spawn(move || {
            let pool = ThreadPoolBuilder::new().num_threads(2).stack_size(2 << 20).build().unwrap();
            let [taken, ran] = [const { AtomicBool::new(false) }; 2];
            let blocks = || {
                taken.store(true, SeqCst);
                until(&ran);
            };
            pool.install(|| deep(|| scope(|s| join(|| spawns(s, &taken, &ran), blocks))));
            done.send(()).unwrap();
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(60)), Ok(()), "round {round}");
    }
}
