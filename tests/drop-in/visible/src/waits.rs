//! What a thread that waits runs meanwhile, and how many tasks run at once. Each task waits for the others, so a value
//! of `true` is a promise kept.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::{Group, pool, say, until};

pub const GROUPS: &[Group] =
    &[("wait.join", in_a_join), ("wait.scope", in_a_scope), ("wait.pool", for_another_pool), ("wait.at_once", at_once)];

/// The depth of a recursion.
const LEVELS: usize = 50;

/// Waits until the others have come.
fn meets(count: &AtomicUsize, all: usize) -> bool {
    count.fetch_add(1, SeqCst);
    until(|| count.load(SeqCst) >= all)
}

type Way<'w> = &'w (dyn Fn(&ThreadPool) + Sync);

/// The first branch ends when the second has been stolen, which ends when its thief's victim has run what was given to
/// it.
fn in_a_join() {
    static RAN: AtomicBool = AtomicBool::new(false);
    let runs = || RAN.store(true, SeqCst);
    let ways: [(&str, Way); 4] = [
        ("spawned", &|_| rayon::spawn(runs)),
        ("spawned_fifo", &|_| rayon::spawn_fifo(runs)),
        ("broadcast", &|_| rayon::spawn_broadcast(move |_| runs())),
        ("injected", &|two| thread::scope(|s| _ = s.spawn(|| two.spawn(runs)))),
    ];
    for (name, give) in ways {
        RAN.store(false, SeqCst);
        let (stolen, two) = (AtomicBool::new(false), pool(2));
        let first = || {
            until(|| stolen.load(SeqCst));
            give(&two);
        };
        let second = || {
            stolen.store(true, SeqCst);
            until(|| RAN.load(SeqCst))
        };
        say(format!("wait.join.runs.{name}"), two.install(|| rayon::join(first, second)).1);
    }
}

fn in_a_scope() {
    static RAN: AtomicBool = AtomicBool::new(false);
    let (begun, two) = (AtomicBool::new(false), pool(2));
    let ran = AtomicBool::new(false);
    two.install(|| {
        rayon::scope(|s| {
            s.spawn(|_| {
                begun.store(true, SeqCst);
                ran.store(until(|| RAN.load(SeqCst)), SeqCst);
            });
            until(|| begun.load(SeqCst));
            rayon::spawn(|| RAN.store(true, SeqCst));
        });
    });
    say("wait.scope.runs.spawned", ran.load(SeqCst));
    RAN.store(false, SeqCst);
    two.install(|| {
        rayon::scope(|s| {
            s.spawn(|_| {
                thread::scope(|s| _ = s.spawn(|| two.spawn(|| RAN.store(true, SeqCst))));
                ran.store(until(|| RAN.load(SeqCst)), SeqCst);
            });
        });
    });
    say("wait.scope.runs.injected", ran.load(SeqCst));
}

fn for_another_pool() {
    static RAN: AtomicBool = AtomicBool::new(false);
    for (name, call) in [
        ("install", (|other, ends| other.install(ends)) as fn(&ThreadPool, &(dyn Fn() -> bool + Sync)) -> bool),
        ("broadcast", |other, ends| other.broadcast(|_| ends())[0]),
        ("in_place_scope", |other, ends| {
            let ran = AtomicBool::new(false);
            other.in_place_scope(|s| s.spawn(|_| ran.store(ends(), SeqCst)));
            ran.into_inner()
        }),
    ] {
        RAN.store(false, SeqCst);
        let (own, other) = (pool(1), pool(1));
        let ran = own.install(|| {
            rayon::spawn(|| RAN.store(true, SeqCst));
            call(&other, &|| until(|| RAN.load(SeqCst)))
        });
        say(format!("wait.pool.{name}.runs.own"), ran);
    }
}

/// As many tasks as threads wait for each other.
fn at_once() {
    let three = pool(3);
    let count = AtomicUsize::new(0);
    let met = AtomicUsize::new(0);
    three.scope(|s| (0..3).for_each(|_| s.spawn(|_| _ = met.fetch_add(meets(&count, 3).into(), SeqCst))));
    say("wait.at_once.scope", met.load(SeqCst));
    let count = AtomicUsize::new(0);
    let (first, second) = three.join(|| meets(&count, 2), || meets(&count, 2));
    say("wait.at_once.join", format!("{first} {second}"));
    let count = AtomicUsize::new(0);
    let met = three.install(|| (0..3).into_par_iter().with_max_len(1).filter(|_| meets(&count, 3)).count());
    say("wait.at_once.loop", met);
    let barrier = Barrier::new(3);
    three.broadcast(|_| _ = barrier.wait());
    say("wait.at_once.broadcast", "all");
    // The forks of a recursion that has been fine so far.
    let count = AtomicUsize::new(0);
    let deep = three.install(|| {
        fib(20);
        descend(LEVELS, &count)
    });
    say("wait.at_once.recursion", deep);
    let count = AtomicUsize::new(0);
    let (first, second) = rayon::join(|| meets(&count, 2), || meets(&count, 2));
    say("wait.at_once.join_from_main", format!("{first} {second}"));
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// The deepest branch waits for all those that its thread has left behind.
fn descend(levels: usize, left: &AtomicUsize) -> bool {
    if levels == 0 {
        return until(|| left.load(SeqCst) == LEVELS);
    }
    rayon::join(|| descend(levels - 1, left), || left.fetch_add(1, SeqCst)).0
}
