//! When and where closures, with what they have captured, are dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ThreadId};

use crate::{Group, Log, pool, say};

pub const GROUPS: &[Group] = &[("drop.calls", calls), ("drop.spawned", spawned), ("drop.panic", after_a_panic)];

/// Logs when and where it is dropped.
struct Guard {
    name: &'static str,
    log: Log,
    caller: ThreadId,
}

impl Guard {
    fn new(name: &'static str, log: &Log) -> Self {
        Self { name, log: log.clone(), caller: thread::current().id() }
    }

    /// Logs that its closure runs.
    fn runs(&self) {
        self.log.add(format!("{} runs,", self.name));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let place = if thread::current().id() == self.caller { "its maker's thread" } else { "another thread" };
        self.log.add(format!("{} is dropped on {place},", self.name));
    }
}

fn tell(name: &str, count: usize, call: impl FnOnce(&Log)) {
    let log = Log::default();
    call(&log);
    log.add("returned,");
    say(format!("drop.{name}"), log.after(count));
}

fn calls() {
    let one = pool(1);
    tell("calls.install", 3, |log| {
        let guard = Guard::new("op", log);
        one.install(move || guard.runs());
    });
    tell("calls.result", 3, |log| {
        drop(one.install(|| Guard::new("result", log)));
        log.add("dropped,");
    });
    tell("calls.join", 5, |log| {
        one.install(|| {
            let (first, second) = (Guard::new("first", log), Guard::new("second", log));
            rayon::join(move || first.runs(), move || second.runs());
        });
    });
    tell("calls.join_results", 3, |log| {
        one.install(|| drop(rayon::join(|| Guard::new("first", log), || Guard::new("second", log))));
    });
    tell("calls.broadcast", 3, |log| {
        let guard = Guard::new("op", log);
        one.broadcast(move |_| guard.runs());
    });
    tell("calls.scope_task", 3, |log| {
        let guard = Guard::new("task", log);
        one.scope(|s| s.spawn(move |_| guard.runs()));
    });
    tell("calls.scope_broadcast", 3, |log| {
        let guard = Guard::new("op", log);
        one.scope(|s| s.spawn_broadcast(move |_, _| guard.runs()));
    });
}

fn spawned() {
    let one = pool(1);
    let order = |log: &Log| log.after(2);
    let log = Log::default();
    let guard = Guard::new("task", &log);
    one.spawn(move || guard.runs());
    say("drop.spawned.spawn", order(&log));
    let log = Log::default();
    let guard = Guard::new("task", &log);
    one.spawn_fifo(move || guard.runs());
    say("drop.spawned.spawn_fifo", order(&log));
    // The pool is dropped before its task begins.
    let log = Log::default();
    let guard = Guard::new("task", &log);
    one.spawn(move || guard.runs());
    drop(one);
    say("drop.spawned.with_the_pool", order(&log));
}

fn after_a_panic() {
    let one = pool(1);
    for (name, first, second) in [("first", true, false), ("second", false, true)] {
        tell(&format!("panic.join.{name}"), 5, |log| {
            let branch = |name, panics| {
                let guard = Guard::new(name, log);
                move || {
                    guard.runs();
                    if panics {
                        std::panic::resume_unwind(Box::new(()));
                    }
                }
            };
            let call = || one.install(|| _ = rayon::join(branch("first", first), branch("second", second)));
            _ = catch_unwind(AssertUnwindSafe(call));
        });
    }
    tell("panic.result_of_the_other", 2, |log| {
        let call =
            || one.install(|| _ = rayon::join(|| Guard::new("first", log), || std::panic::resume_unwind(Box::new(()))));
        _ = catch_unwind(AssertUnwindSafe(call));
    });
}
