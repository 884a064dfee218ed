//! In which order one thread runs what it has been given. Where a second thread takes part, it has no choice of when.

use std::sync::{Arc, Barrier};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Group, Log, pool, say};

pub const GROUPS: &[Group] = &[
    ("order.spawn", spawns),
    ("order.scope", scopes),
    ("order.join", joins),
    ("order.outside", from_outside),
    ("order.broadcast", broadcasts),
    ("order.yield", yields),
    ("order.breadth_first", breadth_first),
    ("order.thief", thieves),
];

/// Runs `body`, then logs its end, on the only thread of a pool, and prints the order in which `count` things have
/// happened, its end among them.
pub(crate) fn tell(name: &str, count: usize, body: impl FnOnce(&Log) + Send) {
    tell_in(&pool(1), name, count, body);
}

pub(crate) fn tell_in(pool: &ThreadPool, name: &str, count: usize, body: impl FnOnce(&Log) + Send) {
    let log = Log::default();
    pool.install(|| {
        body(&log);
        log.add("end");
    });
    say(name, log.after(count));
}

/// Spawns what logs its name.
pub(crate) fn spawn(log: &Log, name: &'static str) {
    let log = log.clone();
    rayon::spawn(move || log.add(name));
}

pub(crate) fn spawn_fifo(log: &Log, name: &'static str) {
    let log = log.clone();
    rayon::spawn_fifo(move || log.add(name));
}

fn spawns() {
    tell("order.spawn.lifo", 4, |log| ["1", "2", "3"].into_iter().for_each(|name| spawn(log, name)));
    tell("order.spawn.fifo", 4, |log| ["1", "2", "3"].into_iter().for_each(|name| spawn_fifo(log, name)));
    tell("order.spawn.mixed", 5, |log| {
        spawn(log, "lifo1");
        spawn_fifo(log, "fifo1");
        spawn(log, "lifo2");
        spawn_fifo(log, "fifo2");
    });
    tell("order.spawn.within", 6, |log| {
        spawn(log, "1");
        let own = log.clone();
        rayon::spawn(move || {
            own.add("2");
            spawn(&own, "2.1");
            spawn(&own, "2.2");
        });
        spawn(log, "3");
    });
    tell("order.spawn.fifo_within", 6, |log| {
        let own = log.clone();
        rayon::spawn_fifo(move || {
            own.add("1");
            spawn_fifo(&own, "1.1");
            spawn_fifo(&own, "1.2");
        });
        spawn_fifo(log, "2");
        spawn_fifo(log, "3");
    });
    let one = Arc::new(pool(1));
    let inner = Arc::clone(&one);
    tell_in(&one, "order.spawn.install_within", 4, move |log| {
        spawn(log, "1");
        let own = log.clone();
        rayon::spawn(move || {
            inner.install(|| own.add("install"));
            own.add("2");
        });
    });
}

fn scopes() {
    tell("order.scope.lifo", 5, |log| {
        rayon::scope(|s| {
            ["1", "2", "3"].into_iter().for_each(|name| s.spawn(move |_| log.add(name)));
            log.add("body");
        });
    });
    tell("order.scope.fifo", 5, |log| {
        rayon::scope_fifo(|s| {
            ["1", "2", "3"].into_iter().for_each(|name| s.spawn_fifo(move |_| log.add(name)));
            log.add("body");
        });
    });
    tell("order.scope.lifo_within", 6, |log| {
        rayon::scope(|s| {
            s.spawn(move |_| log.add("1"));
            s.spawn(move |s| {
                log.add("2");
                s.spawn(move |_| log.add("2.1"));
                s.spawn(move |_| log.add("2.2"));
            });
            s.spawn(move |_| log.add("3"));
        });
    });
    tell("order.scope.fifo_within", 6, |log| {
        rayon::scope_fifo(|s| {
            s.spawn_fifo(move |_| log.add("1"));
            s.spawn_fifo(move |s| {
                log.add("2");
                s.spawn_fifo(move |_| log.add("2.1"));
                s.spawn_fifo(move |_| log.add("2.2"));
            });
            s.spawn_fifo(move |_| log.add("3"));
        });
    });
    tell("order.scope.two_fifos", 5, |log| {
        rayon::scope_fifo(|outer| {
            rayon::scope_fifo(|inner| {
                outer.spawn_fifo(move |_| log.add("outer1"));
                inner.spawn_fifo(move |_| log.add("inner1"));
                outer.spawn_fifo(move |_| log.add("outer2"));
                inner.spawn_fifo(move |_| log.add("inner2"));
            });
        });
    });
    tell("order.scope.within_a_scope", 5, |log| {
        rayon::scope(|outer| {
            outer.spawn(move |_| log.add("outer"));
            rayon::scope(|inner| {
                inner.spawn(move |_| log.add("inner"));
                log.add("body");
            });
            log.add("inner ends");
        });
    });
    tell("order.scope.after_a_spawn", 4, |log| {
        spawn(log, "spawn");
        rayon::scope(|s| s.spawn(|_| log.add("task")));
        log.add("scope ends");
    });
    tell("order.scope.spawn_in_it", 4, |log| {
        rayon::scope(|s| {
            s.spawn(|_| log.add("task"));
            spawn(log, "spawn");
        });
        log.add("scope ends");
    });
    tell("order.scope.in_place", 5, |log| {
        rayon::in_place_scope(|s| {
            ["1", "2", "3"].into_iter().for_each(|name| s.spawn(move |_| log.add(name)));
            log.add("body");
        });
    });
    tell("order.scope.loop_in_it", 4, |log| {
        rayon::scope(|s| {
            s.spawn(|_| log.add("task"));
            rayon::join(|| log.add("first"), || log.add("second"));
        });
    });
}

fn joins() {
    tell("order.join.two", 3, |log| _ = rayon::join(|| log.add("first"), || log.add("second")));
    tell("order.join.four", 5, |log| {
        let two = |a, b| rayon::join(|| log.add(a), || log.add(b));
        rayon::join(|| two("1.1", "1.2"), || two("2.1", "2.2"));
    });
    tell("order.join.after_a_spawn", 4, |log| {
        spawn(log, "spawn");
        rayon::join(|| log.add("first"), || log.add("second"));
    });
    tell("order.join.spawn_in_the_second", 4, |log| {
        let second = || {
            spawn(log, "spawn");
            log.add("second");
        };
        rayon::join(|| log.add("first"), second);
    });
    tell("order.join.scope_in_the_first", 4, |log| {
        let first = || {
            rayon::scope(|s| s.spawn(|_| log.add("task")));
            log.add("first");
        };
        rayon::join(first, || log.add("second"));
    });
    let one = pool(1);
    tell_in(&one, "order.join.install_in_the_first", 4, |log| {
        let first = || {
            one.install(|| log.add("install"));
            log.add("first");
        };
        rayon::join(first, || log.add("second"));
    });
}

/// Keeps the only thread of the pool busy while this thread does something.
fn while_busy(pool: &ThreadPool, does: impl FnOnce()) {
    let (begun, over) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (its_begin, its_end) = (Arc::clone(&begun), Arc::clone(&over));
    pool.spawn(move || {
        its_begin.wait();
        its_end.wait();
    });
    begun.wait();
    does();
    over.wait();
}

fn from_outside() {
    let one = pool(1);
    let later = |log: &Log, name: &'static str| {
        let log = log.clone();
        move || log.add(name)
    };
    let log = Log::default();
    while_busy(&one, || ["1", "2", "3"].into_iter().for_each(|name| one.spawn(later(&log, name))));
    say("order.outside.spawn", log.after(3));
    let log = Log::default();
    while_busy(&one, || ["1", "2", "3"].into_iter().for_each(|name| one.spawn_fifo(later(&log, name))));
    say("order.outside.spawn_fifo", log.after(3));
    let log = Log::default();
    while_busy(&one, || {
        one.spawn(later(&log, "lifo1"));
        one.spawn_fifo(later(&log, "fifo1"));
        one.spawn(later(&log, "lifo2"));
        one.spawn_fifo(later(&log, "fifo2"));
    });
    say("order.outside.mixed", log.after(4));
    for (name, count) in [("order.outside.scope", 3), ("order.outside.scope_fifo", 3)] {
        let log = Log::default();
        let (begun, over) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|threads| {
            threads.spawn(|| {
                one.install(|| {
                    begun.wait();
                    over.wait();
                });
            });
            begun.wait();
            if name.ends_with("fifo") {
                one.in_place_scope_fifo(|s| {
                    ["1", "2", "3"].into_iter().for_each(|name| {
                        let log = &log;
                        s.spawn_fifo(move |_| log.add(name));
                    });
                    over.wait();
                });
            } else {
                one.in_place_scope(|s| {
                    ["1", "2", "3"].into_iter().for_each(|name| {
                        let log = &log;
                        s.spawn(move |_| log.add(name));
                    });
                    over.wait();
                });
            }
        });
        say(name, log.after(count));
    }
}

fn broadcasts() {
    let broadcast = |log: &Log, name: &'static str| {
        let log = log.clone();
        rayon::spawn_broadcast(move |_| log.add(name));
    };
    tell("order.broadcast.two", 3, |log| ["1", "2"].into_iter().for_each(|name| broadcast(log, name)));
    tell("order.broadcast.after_own", 4, |log| {
        spawn(log, "before");
        broadcast(log, "broadcast");
        spawn(log, "after");
    });
    tell("order.broadcast.at_once", 4, |log| {
        spawn(log, "spawn");
        rayon::broadcast(|_| log.add("broadcast"));
        log.add("broadcast ends");
    });
}

fn yields() {
    tell("order.yield.lifo", 5, |log| {
        ["1", "2", "3"].into_iter().for_each(|name| spawn(log, name));
        rayon::yield_now();
        log.add("yielded");
    });
    tell("order.yield.fifo", 5, |log| {
        ["1", "2", "3"].into_iter().for_each(|name| spawn_fifo(log, name));
        rayon::yield_local();
        log.add("yielded");
    });
    let one = pool(1);
    tell_in(&one, "order.yield.outside", 4, |log| {
        let outside = log.clone();
        thread::scope(|s| _ = s.spawn(|| one.spawn(move || outside.add("outside"))));
        spawn(log, "own");
        rayon::yield_now();
        log.add("yielded");
    });
}

#[allow(deprecated, reason = "it is part of the interface")]
fn breadth_first() {
    let build = || ThreadPoolBuilder::new().num_threads(1).breadth_first().build().expect("a pool");
    tell_in(&build(), "order.breadth_first.spawn", 4, |log| {
        ["1", "2", "3"].into_iter().for_each(|name| spawn(log, name))
    });
    tell_in(&build(), "order.breadth_first.scope", 4, |log| {
        rayon::scope(|s| ["1", "2", "3"].into_iter().for_each(|name| s.spawn(move |_| log.add(name))));
    });
    tell_in(&build(), "order.breadth_first.join", 4, |log| {
        let inner = || rayon::join(|| log.add("1.1"), || log.add("1.2"));
        rayon::join(inner, || log.add("2"));
    });
    tell_in(&build(), "order.breadth_first.join_after_a_spawn", 4, |log| {
        spawn(log, "spawn");
        rayon::join(|| log.add("first"), || log.add("second"));
    });
}

/// One of two threads waits in the middle of its task until the other has run everything.
fn thieves() {
    let two = pool(2);
    tell_in(&two, "order.thief.spawns", 4, |log| {
        ["1", "2", "3"].into_iter().for_each(|name| spawn(log, name));
        log.reaches(3);
    });
    tell_in(&two, "order.thief.fifo_spawns", 4, |log| {
        ["1", "2", "3"].into_iter().for_each(|name| spawn_fifo(log, name));
        log.reaches(3);
    });
    tell_in(&two, "order.thief.scope", 4, |log| {
        rayon::scope(|s| {
            ["1", "2", "3"].into_iter().for_each(|name| s.spawn(move |_| log.add(name)));
            log.reaches(3);
        });
    });
    tell_in(&two, "order.thief.forks", 3, |log| {
        let inner = || rayon::join(|| log.reaches(2), || log.add("inner"));
        rayon::join(inner, || log.add("outer"));
    });
}
