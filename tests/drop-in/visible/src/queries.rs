//! What functions tell a thread about itself: its number, its pending tasks, whether a closure has moved, and what a
//! yield did.

use std::sync::mpsc::channel;

use rayon::{FnContext, Yield};

use crate::{Group, Log, pool, say};

pub const GROUPS: &[Group] = &[
    ("query.number", numbers),
    ("query.pending", pending),
    ("query.migrated", migrated),
    ("query.yield", yields),
    ("query.default", || say("query.default.current_num_threads", rayon::current_num_threads())),
    ("query.max", || say("query.max.num_threads", rayon::max_num_threads())),
];

fn numbers() {
    let index = rayon::current_thread_index;
    let (one, three) = (pool(1), pool(3));
    say("query.number.outside", format!("{:?} {:?}", index(), one.current_thread_index()));
    say(
        "query.number.inside",
        format!("{:?}", one.install(|| (index(), one.current_thread_index(), three.current_thread_index()))),
    );
    say("query.number.broadcast", format!("{:?}", three.broadcast(|context| (context.index(), context.num_threads()))));
    let all = three.broadcast(|context| Some(context.index()) == index());
    say("query.number.broadcast_is_the_threads", format!("{all:?}"));
    say(
        "query.number.threads",
        format!("{} {}", three.current_num_threads(), three.install(rayon::current_num_threads)),
    );
}

fn pending() {
    let has = || format!("{:?}", rayon_core::current_thread_has_pending_tasks());
    let one = pool(1);
    say("query.pending.outside", format!("{} {:?}", has(), one.current_thread_has_pending_tasks()));
    say("query.pending.elsewhere", format!("{:?}", pool(1).install(|| one.current_thread_has_pending_tasks())));
    let tell = |name: &str, probe: &(dyn Fn() -> String + Sync)| {
        say(format!("query.pending.{name}"), one.install(probe));
        // The next one begins with nothing.
        one.install(|| while rayon::yield_now() == Some(Yield::Executed) {});
    };
    tell("nothing", &has);
    tell("spawned", &|| {
        rayon::spawn(|| ());
        has()
    });
    tell("spawned_fifo", &|| {
        rayon::spawn_fifo(|| ());
        has()
    });
    tell("spawned_and_run", &|| {
        rayon::spawn(|| ());
        rayon::yield_local();
        has()
    });
    tell("broadcast", &|| {
        rayon::spawn_broadcast(|_| ());
        has()
    });
    tell("injected", &|| {
        std::thread::scope(|s| _ = s.spawn(|| one.spawn(|| ())));
        has()
    });
    tell("joined", &|| {
        let (first, second) = rayon::join(has, has);
        format!("{first}, {second}, {}", has())
    });
    tell("scope", &|| {
        rayon::scope(|s| {
            s.spawn(|_| ());
            has()
        })
    });
}

fn migrated() {
    let both = || rayon::join_context(|first| first.migrated(), |second| second.migrated());
    let (one, two) = (pool(1), pool(2));
    say("query.migrated.from_main", format!("{:?}", both()));
    say("query.migrated.inside", format!("{:?}", one.install(both)));
    say("query.migrated.in_another_pool", format!("{:?}", two.install(|| one.install(both))));
    let (taken, is_taken) = channel();
    let stolen = two.install(|| {
        let first = move |context: FnContext| {
            is_taken.recv().expect("a thief");
            context.migrated()
        };
        let second = move |context: FnContext| {
            taken.send(()).expect("somebody waits");
            context.migrated()
        };
        rayon::join_context(first, second)
    });
    say("query.migrated.stolen", format!("{stolen:?}"));
    let popped = one.install(|| rayon::join_context(|_| both(), |second| second.migrated()));
    say("query.migrated.nested", format!("{popped:?}"));
}

fn yields() {
    let (now, local) = (|| format!("{:?}", rayon::yield_now()), || format!("{:?}", rayon::yield_local()));
    let one = pool(1);
    say("query.yield.outside", format!("{} {} {:?} {:?}", now(), local(), one.yield_now(), one.yield_local()));
    say("query.yield.elsewhere", format!("{:?}", pool(1).install(|| (one.yield_now(), one.yield_local()))));
    say("query.yield.nothing", one.install(|| format!("{} {}", now(), local())));
    for (name, yields) in [("now", &now as &(dyn Fn() -> String + Sync)), ("local", &local)] {
        let tell = |of: &str, prepare: &(dyn Fn() + Sync)| {
            let told = one.install(|| {
                prepare();
                format!("{} {}", yields(), yields())
            });
            say(format!("query.yield.{of}.{name}"), told);
            one.install(|| while rayon::yield_now() == Some(Yield::Executed) {});
        };
        tell("spawned", &|| rayon::spawn(|| ()));
        tell("spawned_fifo", &|| rayon::spawn_fifo(|| ()));
        tell("broadcast", &|| rayon::spawn_broadcast(|_| ()));
        tell("injected", &|| std::thread::scope(|s| _ = s.spawn(|| one.spawn(|| ()))));
    }
    let log = Log::default();
    let ran = one.install(|| {
        rayon::join_context(
            |_| {
                let yielded = now();
                log.add(format!("yielded {yielded}"));
            },
            |second| log.add(format!("second, migrated {}", second.migrated())),
        );
        log.get().join("; ")
    });
    say("query.yield.forked", ran);
}
