//! Random programs on one pool of each kind, with every strategy, and task stacks of several sizes.
//!
//! Compiled with `--cfg filch_long`, they run on more pools of a kind.
#![allow(clippy::disallowed_types, reason = "the watchdog is not an algorithm to check")]

use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use filch::pool::{Heartbeat, Pool, PrivateStack, QueueSettings, Queued, Request, Split, Wool};
use filch::{Builder, DEFAULT_TASK_CAPACITY, Idle, Victims, Wait};
use filch_queue::{ChaseLev, Lace, Queue, StealMany, Task};
#[cfg(filch_long)]
use filch_queue::{HendlerShavit, Locked, PdqRAsync};
use filch_workloads::random_programs::{Settings, check_on, empties_alive};

const WORKERS: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 8] };
const CAPACITIES: &[usize] = if cfg!(miri) { &[5] } else { &[1, 2, 5, DEFAULT_TASK_CAPACITY] };

/// Aborts the process with a message unless dropped in time: a hanging test says nothing.
fn watchdog(what: String) -> Sender<()> {
    let (alive, patience) = channel();
    if cfg!(miri) {
        // Miri requires all threads to end before the process does, and reports a deadlock itself.
        return alive;
    }
    thread::spawn(move || {
        if patience.recv_timeout(Duration::from_secs(1200)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{what} hangs");
            std::process::abort();
        }
    });
    alive
}

/// The number of seeds per combination; `FILCH_SEEDS` overrides it.
fn seeds() -> u64 {
    let usual = match std::env::var_os("FILCH_LONG") {
        _ if cfg!(miri) => 1,
        Some(_) => 100,
        None => 25,
    };
    std::env::var("FILCH_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// The first seed; `FILCH_FIRST_SEED` overrides it. Under Miri it is random, so it depends on Miri's own seed.
fn first_seed() -> u64 {
    let chosen = std::env::var("FILCH_FIRST_SEED").ok().and_then(|n| n.parse().ok());
    chosen.unwrap_or_else(|| if cfg!(miri) { RandomState::new().hash_one(0) % 1_000_000 } else { 0 })
}

fn check_all<P: Pool>(workers: usize, wait: Wait, capacity: usize) {
    check_with(Builder::<P>::new(), workers, wait, capacity);
}

/// Also checks thieves that take several tasks at once, and workers that try their last victim first and never sleep.
fn check_greedy<Q: Queue<Thief: StealMany<Task>>>(workers: usize, wait: Wait, capacity: usize) {
    let greedy = || Builder::<Queued<Q>>::new().settings(QueueSettings::default().loot(usize::MAX));
    check_with(greedy(), workers, wait, capacity);
    check_with(greedy().victims(Victims::Last).idle(Idle::Spin), workers, wait, capacity);
}

fn check_with<P: Pool>(builder: Builder<P>, workers: usize, wait: Wait, capacity: usize) {
    let _watchdog = watchdog(format!("{workers} workers, {wait}, capacity {capacity}"));
    let pool = builder.workers(workers).wait(wait).task_capacity(capacity).build().unwrap();
    for panics in [false, true] {
        let settings = Settings { workers, wait, panics };
        for seed in 0..seeds() {
            if let Err(what) = check_on(first_seed() + seed, &settings, &pool) {
                panic!("capacity {capacity}, {what}");
            }
        }
    }
}

fn check_waiting(wait: Wait) {
    for &workers in WORKERS {
        for &capacity in CAPACITIES {
            check_all::<Split>(workers, wait, capacity);
            check_all::<Wool>(workers, wait, capacity);
            #[cfg(filch_long)]
            check_all::<Wool<1, 1>>(workers, wait, capacity);
            check_all::<PrivateStack>(workers, wait, capacity);
        }
        if wait != Wait::Transitive {
            check_all::<Queued<ChaseLev>>(workers, wait, DEFAULT_TASK_CAPACITY);
            check_all::<Heartbeat<Lace, Request>>(workers, wait, 2);
            for capacity in [2, 4096] {
                check_all::<Queued<Lace>>(workers, wait, capacity);
            }
            if !matches!(wait, Wait::Leapfrog) {
                check_greedy::<Lace>(workers, wait, 2);
            }
            #[cfg(filch_long)]
            check_more(workers, wait);
        }
    }
}

#[cfg(filch_long)]
fn check_more(workers: usize, wait: Wait) {
    check_all::<Heartbeat<ChaseLev>>(workers, wait, DEFAULT_TASK_CAPACITY);
    check_all::<Queued<Locked>>(workers, wait, 2);
    if !matches!(wait, Wait::Leapfrog) {
        check_greedy::<HendlerShavit>(workers, wait, 64);
        check_greedy::<PdqRAsync>(workers, wait, 4);
        check_greedy::<Locked>(workers, wait, 4096);
    }
}

/// A single test function, since zero-sized values are counted for the whole process.
#[test]
fn random_programs_match_a_sequential_run() {
    thread::scope(|scope| {
        for &wait in Wait::EVERY {
            scope.spawn(move || check_waiting(wait));
        }
    });
    assert_eq!(empties_alive(), 0);
}
