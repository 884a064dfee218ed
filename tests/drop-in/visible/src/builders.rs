//! What builders do with what they are asked.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder, current_num_threads, current_thread_index};

use crate::{GLOBAL, Group, Log, say, until};

pub const GROUPS: &[Group] = &[
    ("build.number", numbers),
    ("build.global", || {
        let build = || ThreadPoolBuilder::new().num_threads(3).build_global().map_err(|error| error.to_string());
        say("build.global.first", format!("{:?}", build()));
        say("build.global.second", format!("{:?}", build()));
        say("build.global.threads", current_num_threads());
    }),
    ("build.global_after_use", || {
        rayon::join(|| (), || ());
        let built = ThreadPoolBuilder::new().num_threads(3).build_global();
        say("build.global_after_use.result", format!("{:?}", built.map_err(|error| error.to_string())));
        say("build.global_after_use.threads", current_num_threads() == GLOBAL);
    }),
    ("build.global_refused", global_refused),
    ("build.global_of_the_current_thread", || {
        ThreadPoolBuilder::new().num_threads(2).use_current_thread().build_global().expect("the first");
        say("build.global_of_the_current_thread.number", format!("{:?}", current_thread_index()));
        let here = thread::current().id();
        let stays = || thread::current().id() == here;
        let (first, in_scope) = (rayon::join(stays, || ()).0, rayon::scope(|_| stays()));
        say("build.global_of_the_current_thread.runs_here", format!("{first} {in_scope}"));
        let elsewhere = thread::spawn(|| rayon::join(current_thread_index, || ()).0.is_some()).join();
        say("build.global_of_the_current_thread.from_a_thread", format!("{:?}", elsewhere.expect("no panic")));
    }),
    ("build.current_thread", with_the_current_thread),
    ("build.spawn_handler", with_a_spawn_handler),
    ("build.scoped", scoped),
];

fn numbers() {
    let build = |threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").current_num_threads();
    // The environment of all groups sets two.
    say("build.number.of_0", build(0));
    say("build.number.of_5", build(5));
    let processors = thread::available_parallelism().expect("known").get();
    let with = |variables: &[(&str, &str)]| {
        for name in ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
            let value = variables.iter().find(|(variable, _)| *variable == name);
            // SAFETY: what still runs of the pools before reads the environment by the standard library, which has a
            // lock, or not at all.
            unsafe {
                match value {
                    Some((_, value)) => std::env::set_var(name, value),
                    None => std::env::remove_var(name),
                }
            }
        }
        let more = build(0).checked_sub(processors).expect("as many as processors, or more");
        format!("processors + {more}")
    };
    let (many, more) = (&*(processors + 1).to_string(), &*(processors + 2).to_string());
    say("build.number.unset", with(&[]));
    say("build.number.set", with(&[("RAYON_NUM_THREADS", many)]));
    say("build.number.zero", with(&[("RAYON_NUM_THREADS", "0")]));
    say("build.number.zero_and_old", with(&[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", many)]));
    say("build.number.no_number", with(&[("RAYON_NUM_THREADS", "many")]));
    say("build.number.no_number_and_old", with(&[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", many)]));
    say("build.number.old", with(&[("RAYON_RS_NUM_CPUS", many)]));
    say("build.number.both", with(&[("RAYON_NUM_THREADS", many), ("RAYON_RS_NUM_CPUS", more)]));
    say("build.number.blank", with(&[("RAYON_NUM_THREADS", "")]));
    say("build.number.negative", with(&[("RAYON_NUM_THREADS", "-1")]));
}

fn refuse(_: ThreadBuilder) -> io::Result<()> {
    Err(io::Error::other("refused"))
}

fn global_refused() {
    std::panic::set_hook(Box::new(|_| ()));
    let first = ThreadPoolBuilder::new().num_threads(2).spawn_handler(refuse).build_global();
    say("build.global_refused.first", format!("{:?}", first.map_err(|error| error.to_string())));
    let again = ThreadPoolBuilder::new().num_threads(3).build_global();
    say("build.global_refused.again", format!("{:?}", again.map_err(|error| error.to_string())));
    say("build.global_refused.use", catch_unwind(|| rayon::join(|| (), || ())).map_or("panics", |_| "works"));
}

fn with_the_current_thread() {
    let build = || ThreadPoolBuilder::new().num_threads(2).use_current_thread().build();
    let two = build().expect("a pool");
    let index = current_thread_index;
    say("build.current_thread.number", format!("{:?} {:?}", index(), two.current_thread_index()));
    say("build.current_thread.threads", format!("{} {}", two.current_num_threads(), current_num_threads()));
    let here = thread::current().id();
    say("build.current_thread.install_runs_here", two.install(|| thread::current().id() == here));
    say("build.current_thread.again", format!("{:?}", build().map(|_| ()).map_err(|error| error.to_string())));
    let source = build().expect_err("again");
    say("build.current_thread.again_source", format!("{:?}", source.source().map(ToString::to_string)));
    let other = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let inside = other.install(|| build().map(|_| ()).map_err(|error| error.to_string()));
    say("build.current_thread.on_a_worker", format!("{inside:?}"));
    say("build.current_thread.calls_another_pool", other.install(|| thread::current().id() != here));
    let log = Log::default();
    let own = log.clone();
    two.spawn(move || own.add("spawned"));
    say("build.current_thread.spawn", log.after(1));
    drop(two);
    say("build.current_thread.number_after_the_pool", format!("{:?}", index()));
    say("build.current_thread.threads_after_the_pool", current_num_threads());
    let one = thread::spawn(|| {
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().expect("a pool");
        let log = Log::default();
        let own = log.clone();
        alone.spawn(move || own.add("spawned"));
        let pending = rayon_core::current_thread_has_pending_tasks();
        let yielded = rayon::yield_now();
        format!("{:?} {pending:?} {yielded:?} {:?}", alone.join(|| 1, || 2), log.get())
    });
    say("build.current_thread.alone", one.join().expect("no panic"));
    // Handlers are for threads that the pool starts.
    let called = thread::spawn(|| {
        let log = Log::default();
        let own = log.clone();
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let two = builder.start_handler(move |number| own.add(number.to_string())).build().expect("a pool");
        two.broadcast(|_| ());
        log.set_after(1)
    });
    say("build.current_thread.start_handlers", called.join().expect("no panic"));
}

fn with_a_spawn_handler() {
    let log = Log::default();
    let main = thread::current().id();
    let mut threads = Vec::new();
    let builder = ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("n{n}")).stack_size(3 << 20);
    let two = builder.spawn_handler(|thread| {
        let place = if thread::current().id() == main { "here" } else { "elsewhere" };
        log.add(format!("[{} {:?} {:?} {place}]", thread.index(), thread.name(), thread.stack_size()));
        threads.push(thread::spawn(|| thread.run()));
        Ok(())
    });
    let two = two.build().expect("a pool");
    say("build.spawn_handler.called", log.after(2));
    let numbers = two.broadcast(|_| (current_thread_index(), thread::current().name().map(str::to_owned)));
    say("build.spawn_handler.threads", format!("{numbers:?}"));
    drop(two);
    let ended = threads.into_iter().map(|thread| thread.join().is_ok()).collect::<Vec<_>>();
    say("build.spawn_handler.run_returns", format!("{ended:?}"));
    // The second thread is refused, and the first leaves again.
    let exits = Log::default();
    let own = exits.clone();
    let builder = ThreadPoolBuilder::new().num_threads(2).exit_handler(move |number| own.add(number.to_string()));
    let refused = builder.spawn_handler(|thread| {
        if thread.index() == 1 {
            return refuse(thread);
        }
        thread::spawn(|| thread.run());
        Ok(())
    });
    say("build.spawn_handler.refused", format!("{:?}", refused.build().map(|_| ()).map_err(|error| error.to_string())));
    say("build.spawn_handler.refused_exits", exits.after(1));
    // Threads that come only after `build`.
    let mut waiting = Vec::new();
    let late = ThreadPoolBuilder::new().num_threads(1).spawn_handler(|thread| {
        waiting.push(thread);
        Ok(())
    });
    let late = late.build().expect("a pool");
    let log = Log::default();
    let own = log.clone();
    late.spawn(move || own.add("ran"));
    say("build.spawn_handler.before_its_thread_runs", log.get().len());
    waiting.into_iter().for_each(|thread| _ = thread::spawn(|| thread.run()));
    say("build.spawn_handler.once_it_runs", log.after(1));
    // A name that panics.
    std::panic::set_hook(Box::new(|_| ()));
    let panics = || ThreadPoolBuilder::new().num_threads(2).thread_name(|_| panic!("name")).build();
    say("build.spawn_handler.name_panics", catch_unwind(AssertUnwindSafe(panics)).is_err());
}

fn scoped() {
    let (log, left) = (Log::default(), Mutex::new(0));
    let wrapper = |thread: ThreadBuilder| {
        log.add(format!("n{}", thread.index()));
        thread.run();
        *left.lock().expect("no panic") += 1;
    };
    let built = ThreadPoolBuilder::new().num_threads(2).build_scoped(wrapper, |pool| {
        until(|| log.get().len() == 2);
        (pool.current_num_threads(), pool.install(current_thread_index).is_some())
    });
    say("build.scoped.result", format!("{:?}", built.map_err(|error| error.to_string())));
    say("build.scoped.threads", log.set_after(2));
    say("build.scoped.left", left.into_inner().expect("no panic"));
}
