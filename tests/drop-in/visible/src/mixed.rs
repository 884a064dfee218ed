//! In which order threads run what is spawned among forks: before a second branch, by a thief, and while a thread
//! waits. Where a second thread takes part, it has no choice of when.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use rayon::prelude::*;
use rayon::{Scope, ThreadPool};

use crate::order::{spawn, spawn_fifo, tell, tell_in};
use crate::{Group, Log, pool, say, until};

pub const GROUPS: &[Group] = &[
    ("mixed.join", joins),
    ("mixed.loop", loops),
    ("mixed.thief", thieves),
    ("mixed.wait", waits),
    ("mixed.turns", turns),
];

/// Joins what spawns and then logs with what logs.
fn join(log: &Log, spawns: impl FnOnce() + Send) {
    let first = || {
        spawns();
        log.add("first");
    };
    rayon::join(first, || log.add("second"));
}

/// Spawns what logs its name, from a thread outside the pool.
fn inject(pool: &ThreadPool, log: &Log, name: &'static str) {
    thread::scope(|s| {
        s.spawn(|| {
            let log = log.clone();
            pool.spawn(move || log.add(name));
        });
    });
}

fn joins() {
    tell("mixed.join.spawn", 4, |log| join(log, || spawn(log, "spawn")));
    tell("mixed.join.spawn_fifo", 4, |log| join(log, || spawn_fifo(log, "spawn")));
    let several = ["1", "2", "3"];
    tell("mixed.join.spawns", 6, |log| join(log, || several.into_iter().for_each(|name| spawn(log, name))));
    tell("mixed.join.fifo_spawns", 6, |log| join(log, || several.into_iter().for_each(|name| spawn_fifo(log, name))));
    tell("mixed.join.scope", 4, |log| rayon::scope(|s| join(log, || s.spawn(|_| log.add("task")))));
    tell("mixed.join.scope_fifo", 4, |log| rayon::scope_fifo(|s| join(log, || s.spawn_fifo(|_| log.add("task")))));
    tell("mixed.join.before_and_in_it", 5, |log| {
        spawn(log, "before");
        join(log, || spawn(log, "in it"));
    });
    tell("mixed.join.spawn_that_spawns", 5, |log| {
        join(log, || {
            let own = log.clone();
            rayon::spawn(move || {
                own.add("spawn");
                spawn(&own, "its spawn");
            });
        });
    });
    tell("mixed.join.in_the_inner", 5, |log| {
        rayon::join(|| join(log, || spawn(log, "spawn")), || log.add("outer second"));
    });
    tell("mixed.join.in_both", 7, |log| {
        let inner = || join(log, || spawn(log, "inner spawn"));
        let first = || {
            spawn(log, "outer spawn");
            inner();
            log.add("outer first");
        };
        rayon::join(first, || log.add("outer second"));
    });
    tell("mixed.join.yield", 5, |log| {
        join(log, || {
            spawn(log, "1");
            spawn(log, "2");
            rayon::yield_now();
        });
    });
    tell("mixed.join.broadcast", 4, |log| {
        let own = log.clone();
        join(log, || rayon::spawn_broadcast(move |_| own.add("broadcast")));
    });
    let one = pool(1);
    tell_in(&one, "mixed.join.injected", 4, |log| join(log, || inject(&one, log, "injected")));
    tell("mixed.join.in_a_task", 5, |log| {
        rayon::scope(|s| {
            s.spawn(|s: &Scope<'_>| join(log, || s.spawn(|_| log.add("task"))));
            s.spawn(|_| log.add("sibling"));
        });
    });
}

fn loops() {
    const NAMES: [[&str; 2]; 4] =
        [["item 0", "spawn 0"], ["item 1", "spawn 1"], ["item 2", "spawn 2"], ["item 3", "spawn 3"]];
    let each = |item: &(dyn Fn([&'static str; 2]) + Sync)| NAMES.into_par_iter().with_max_len(1).for_each(item);
    tell("mixed.loop.spawn", 9, |log| {
        each(&|[item, task]| {
            log.add(item);
            spawn(log, task);
        });
    });
    tell("mixed.loop.spawn_fifo", 9, |log| {
        each(&|[item, task]| {
            log.add(item);
            spawn_fifo(log, task);
        });
    });
    tell("mixed.loop.scope", 9, |log| {
        rayon::scope(|s| {
            each(&|[item, task]| {
                log.add(item);
                s.spawn(move |_| log.add(task));
            });
        });
    });
}

/// One of two threads waits in the middle of its task until the other has run everything.
fn thieves() {
    let two = pool(2);
    tell_in(&two, "mixed.thief.spawn_before_a_fork", 3, |log| {
        spawn(log, "spawn");
        rayon::join(|| log.reaches(2), || log.add("fork"));
    });
    tell_in(&two, "mixed.thief.fork_before_a_spawn", 3, |log| {
        let first = || {
            spawn(log, "spawn");
            log.reaches(2);
        };
        rayon::join(first, || log.add("fork"));
    });
    tell_in(&two, "mixed.thief.spawns_and_forks", 6, |log| {
        let inner = || {
            spawn(log, "spawn 3");
            log.reaches(5);
        };
        let outer = || {
            spawn(log, "spawn 2");
            rayon::join(inner, || log.add("inner fork"));
        };
        spawn(log, "spawn 1");
        rayon::join(outer, || log.add("outer fork"));
    });
    // The thief is busy until it has a choice.
    for (name, before) in [("mixed.thief.injected_before_a_spawn", true), ("mixed.thief.injected_after_a_spawn", false)]
    {
        tell_in(&two, name, 3, |log| {
            let ready = while_the_other_is_busy();
            if before {
                inject(&two, log, "injected");
            }
            spawn(log, "spawn");
            if !before {
                inject(&two, log, "injected");
            }
            ready.wait();
            log.reaches(2);
        });
    }
    tell_in(&two, "mixed.thief.injected_before_a_fork", 3, |log| {
        let ready = while_the_other_is_busy();
        inject(&two, log, "injected");
        let first = || {
            ready.wait();
            log.reaches(2);
        };
        rayon::join(first, || log.add("fork"));
    });
}

/// Keeps the other thread busy until somebody waits at the barrier.
fn while_the_other_is_busy() -> Arc<Barrier> {
    let (begun, over) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (its_begin, its_end) = (Arc::clone(&begun), Arc::clone(&over));
    rayon::spawn(move || {
        its_begin.wait();
        its_end.wait();
    });
    begun.wait();
    over
}

type Way<'w> = &'w (dyn Fn(&Log) + Sync);

/// A thread that waits has several tasks to choose from; what it waits for ends when they have run.
fn waits() {
    let two = pool(2);
    let names = ["1", "2", "3"];
    let ways: [(&str, Way); 5] = [
        ("spawns", &|log| names.into_iter().for_each(|name| spawn(log, name))),
        ("fifo_spawns", &|log| names.into_iter().for_each(|name| spawn_fifo(log, name))),
        ("injected", &|log| names.into_iter().for_each(|name| inject(&two, log, name))),
        ("own_and_injected", &|log| {
            inject(&two, log, "injected");
            spawn(log, "own 1");
            spawn(log, "own 2");
        }),
        ("own_and_broadcast", &|log| {
            let own = log.clone();
            spawn(log, "before");
            let is_first = AtomicBool::new(true);
            // The other thread has to wait with its part.
            rayon::spawn_broadcast(move |_| {
                if is_first.swap(false, SeqCst) {
                    own.add("broadcast")
                }
            });
            spawn(log, "after");
        }),
    ];
    for (name, give) in ways {
        let all = |log: &Log| log.reaches(3);
        tell_in(&two, &format!("mixed.wait.join.{name}"), 4, |log| {
            let stolen = AtomicBool::new(false);
            let first = || {
                until(|| stolen.load(SeqCst));
                give(log);
            };
            let second = || {
                stolen.store(true, SeqCst);
                all(log);
            };
            rayon::join(first, second);
        });
        // A thread that waits for a scope serves what comes from outside now and then before its own.
        if name == "own_and_injected" {
            continue;
        }
        tell_in(&two, &format!("mixed.wait.scope.{name}"), 4, |log| {
            let begun = AtomicBool::new(false);
            rayon::scope(|s| {
                s.spawn(|_| {
                    begun.store(true, SeqCst);
                    all(log);
                });
                until(|| begun.load(SeqCst));
                give(log);
            });
        });
    }
    let (one, other) = (pool(1), pool(1));
    tell_in(&one, "mixed.wait.pool.spawns", 4, |log| {
        names.into_iter().for_each(|name| spawn(log, name));
        other.install(|| log.reaches(3));
    });
}

/// Whether what comes from outside has to wait until a thread has run all of its own.
fn turns() {
    const OWN: usize = 200;
    let one = pool(1);
    let log = Log::default();
    one.install(|| {
        inject(&one, &log, "injected");
        (0..OWN).for_each(|_| spawn(&log, "own"));
    });
    log.reaches(OWN + 1);
    let is_last = log.get().last().is_some_and(|last| last == "injected");
    say("mixed.turns.injected", if is_last { "after all own" } else { "between own" });
}
