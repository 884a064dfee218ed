//! Which panic arrives where.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder, current_thread_index};

use crate::{Group, Log, pool, say};

pub const GROUPS: &[Group] = &[
    ("panic.join", in_a_join),
    ("panic.scope", in_a_scope),
    ("panic.call", in_a_call),
    ("panic.handler", to_the_handler),
    ("panic.spawn", || {
        rayon::spawn(|| panic("spawn"));
        thread::park();
    }),
    ("panic.spawn_fifo", || {
        rayon::spawn_fifo(|| panic("spawn"));
        thread::park();
    }),
    ("panic.spawn_broadcast", || {
        rayon::spawn_broadcast(|_| panic("spawn"));
        thread::park();
    }),
    ("panic.in_the_handler", || {
        let pool = ThreadPoolBuilder::new().num_threads(1).panic_handler(|_| panic("handler")).build().expect("a pool");
        pool.spawn(|| panic("spawn"));
        thread::park();
    }),
    ("panic.start_handler", || {
        let pool = ThreadPoolBuilder::new().num_threads(1).start_handler(|_| panic("start")).build().expect("a pool");
        pool.install(|| ());
        thread::park();
    }),
    ("panic.exit_handler", || {
        drop(ThreadPoolBuilder::new().num_threads(1).exit_handler(|_| panic("exit")).build().expect("a pool"));
        thread::park();
    }),
];

/// Panics without a message on standard error.
fn panic(payload: &'static str) {
    std::panic::resume_unwind(Box::new(payload));
}

fn text(payload: &(dyn Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("another payload")
}

/// Prints with which payload `call` panics, and what it has logged.
fn tell(name: &str, call: impl FnOnce(&Log)) {
    let log = Log::default();
    let ended = match catch_unwind(AssertUnwindSafe(|| call(&log))) {
        Ok(()) => "no panic".to_owned(),
        Err(payload) => format!("panic {}", text(&*payload)),
    };
    log.add(ended);
    say(format!("panic.{name}"), log.get().join(", "));
}

fn in_a_join() {
    let one = pool(1);
    let runs = |log: &Log, name: &'static str, panics: bool| {
        log.add(name);
        if panics {
            panic(name);
        }
    };
    for (name, first, second) in [("first", true, false), ("second", false, true), ("both", true, true)] {
        tell(&format!("join.inside.{name}"), |log| {
            one.install(|| _ = rayon::join(|| runs(log, "first", first), || runs(log, "second", second)));
        });
    }
    // On threads of their own, in no order.
    for (name, first, second) in [("first", true, false), ("second", false, true), ("both", true, true)] {
        let (quiet, log) = (Log::default(), Log::default());
        let ended = catch_unwind(|| rayon::join(|| runs(&log, "first", first), || runs(&log, "second", second)));
        quiet.add(ended.map_or_else(|payload| text(&*payload), |_| "no panic"));
        say(format!("panic.join.from_main.{name}"), format!("{} of {}", quiet.after(1), log.set_after(2)));
    }
    // The second is stolen, and panics before or after the first.
    for (name, first, second) in [("first", true, false), ("second", false, true), ("both", true, true)] {
        let (two, (taken, is_taken)) = (pool(2), channel());
        tell(&format!("join.stolen.{name}"), |log| {
            let first = move || {
                is_taken.recv().expect("a thief");
                if first {
                    panic("first");
                }
            };
            let second = move || {
                taken.send(()).expect("somebody waits");
                if second {
                    panic("second");
                }
            };
            two.install(|| _ = rayon::join(first, second));
            log.add("returned");
        });
    }
}

fn in_a_scope() {
    let one = pool(1);
    let spawns = |log: &Log, body: bool, tasks: &'static [(&'static str, bool)]| {
        one.scope(|s| {
            for &(name, panics) in tasks {
                s.spawn(move |_| {
                    log.add(name);
                    if panics {
                        panic(name);
                    }
                });
            }
            if body {
                panic("body");
            }
        });
        log.add("returned");
    };
    tell("scope.body", |log| spawns(log, true, &[("1", false), ("2", false)]));
    tell("scope.task", |log| spawns(log, false, &[("1", true), ("2", false)]));
    tell("scope.tasks", |log| spawns(log, false, &[("1", true), ("2", true)]));
    tell("scope.all", |log| spawns(log, true, &[("1", true), ("2", true)]));
    tell("scope.broadcast", |log| {
        one.scope(|s| s.spawn_broadcast(|_, _| panic("broadcast")));
        log.add("returned");
    });
    tell("scope.in_place", |log| {
        one.in_place_scope(|s| {
            s.spawn(|_| log.add("task"));
            panic("body");
        });
    });
    tell("scope.from_main", |_| rayon::scope(|s| s.spawn(|_| panic("task"))));
}

fn in_a_call() {
    let (one, three) = (pool(1), pool(3));
    tell("call.install", |_| one.install(|| panic("install")));
    tell("call.install_elsewhere", |_| three.install(|| one.install(|| panic("install"))));
    tell("call.usable_afterwards", |log| log.add(one.install(|| "usable")));
    tell("call.broadcast.one", |_| {
        _ = three.broadcast(|context| {
            if context.index() == 1 {
                panic("of 1")
            }
        })
    });
    let all = ["of 0", "of 1", "of 2"];
    tell("call.broadcast.all", |_| _ = three.broadcast(|context| panic(all[context.index()])));
    let ran = Log::default();
    let of_one = || {
        _ = three.broadcast(|context| {
            ran.add(all[context.index()]);
            panic(all[context.index()]);
        })
    };
    _ = catch_unwind(AssertUnwindSafe(of_one));
    say("panic.call.broadcast.ran", ran.set_after(3));
    tell("call.result", |_| {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic("the result's destructor");
            }
        }
        drop(one.install(|| Panics));
    });
}

/// Prints what reaches the panic handler, and on which thread.
fn to_the_handler() {
    let handled = |name: &str,
                   set: &dyn Fn(ThreadPoolBuilder) -> ThreadPoolBuilder,
                   use_it: &dyn Fn(&ThreadPool),
                   count: usize| {
        let (log, main) = (Log::default(), thread::current().id());
        let own = log.clone();
        let handler = move |payload: Box<dyn Any + Send>| {
            let place = if thread::current().id() == main { "the caller" } else { "another thread" };
            own.add(format!("[{} on {place}, number {:?}]", text(&*payload), current_thread_index()));
        };
        let pool = set(ThreadPoolBuilder::new().num_threads(1)).panic_handler(handler).build().expect("a pool");
        use_it(&pool);
        drop(pool);
        say(format!("panic.handler.{name}"), log.after(count));
    };
    let as_is = |builder| builder;
    handled("spawn", &as_is, &|pool| pool.spawn(|| panic("spawn")), 1);
    handled("spawn_fifo", &as_is, &|pool| pool.spawn_fifo(|| panic("spawn")), 1);
    handled("spawn_broadcast", &as_is, &|pool| pool.spawn_broadcast(|_| panic("broadcast")), 1);
    handled("within", &as_is, &|pool| pool.install(|| rayon::spawn(|| panic("spawn"))), 1);
    handled(
        "yield",
        &as_is,
        &|pool| {
            pool.install(|| {
                rayon::spawn(|| panic("spawn"));
                rayon::yield_now();
            });
        },
        1,
    );
    handled("start_handler", &|builder| builder.start_handler(|_| panic("start")), &|pool| pool.install(|| ()), 1);
    handled("exit_handler", &|builder| builder.exit_handler(|_| panic("exit")), &|pool| pool.install(|| ()), 1);
    let destructor = &|pool: &ThreadPool| {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic("destructor");
            }
        }
        let captured = Arc::new(Mutex::new(Some(Panics)));
        pool.spawn(move || drop(captured));
    };
    handled("destructor", &as_is, destructor, 1);
}
