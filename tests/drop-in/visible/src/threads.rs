//! The threads of a pool: when they start and leave, what they are called, and what handlers see.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use rayon::{ThreadPoolBuilder, current_thread_index};

use crate::{Group, Log, pool, say, until};

pub const GROUPS: &[Group] = &[
    ("thread.count", counts),
    ("thread.count_of_the_global", counts_of_the_global),
    ("thread.count_of_a_built_global", || {
        ThreadPoolBuilder::new().num_threads(3).build_global().expect("the first");
        say("thread.count_of_a_built_global.at_first", others());
    }),
    ("thread.names", names),
    ("thread.stack", stacks),
    ("thread.stack_of_the_environment", || {
        // SAFETY: there are no other threads yet.
        unsafe { std::env::set_var("RUST_MIN_STACK", (100 << 20).to_string()) };
        say("thread.stack_of_the_environment.of_100_in_mib", pool(1).install(stack));
    }),
    ("thread.signals", signals),
    ("thread.handlers", handlers),
    ("thread.exits", exits),
    ("thread.last_task", last_task),
    ("thread.end", ends),
];

/// The threads of this process beside this one.
fn others() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the process's threads").count() - 1
}

fn counts() {
    let three = pool(3);
    say("thread.count.at_first", others());
    three.broadcast(|_| ());
    say("thread.count.after_a_broadcast", others());
    drop(three);
    say("thread.count.after_the_pool", if until(|| others() == 0) { "none" } else { "some" });
    let builder = || ThreadPoolBuilder::new().num_threads(3);
    let three = builder().start_handler(|_| ()).build().expect("a pool");
    say("thread.count.with_a_start_handler", others());
    drop(three);
    until(|| others() == 0);
    let three = builder().exit_handler(|_| ()).build().expect("a pool");
    say("thread.count.with_an_exit_handler", others());
    drop(three);
    until(|| others() == 0);
    let three = builder().use_current_thread().build().expect("a pool");
    say("thread.count.with_the_current_thread", others());
    drop(three);
}

fn counts_of_the_global() {
    rayon::current_thread_index();
    rayon_core::current_thread_has_pending_tasks();
    rayon::yield_now();
    say("thread.count_of_the_global.before_use", others());
    rayon::current_num_threads();
    say("thread.count_of_the_global.after_current_num_threads", others());
    rayon::broadcast(|_| ());
    say("thread.count_of_the_global.after_a_broadcast", others());
}

fn names() {
    let name = || thread::current().name().map(str::to_owned);
    say("thread.names.default", format!("{:?}", pool(1).install(name)));
    say("thread.names.of_the_global", format!("{:?}", rayon::join(name, || ()).0));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (own, main) = (Arc::clone(&asked), thread::current().id());
    let names = move |index| {
        own.lock().expect("no panic").push((index, thread::current().id() == main));
        format!("number {index}")
    };
    let three = ThreadPoolBuilder::new().num_threads(3).thread_name(names).build().expect("a pool");
    say("thread.names.asked_for_by_the_builder", format!("{:?}", asked.lock().expect("no panic")));
    say("thread.names.given", format!("{:?}", three.broadcast(|_| name())));
}

/// The size of this thread's stack in MiB.
fn stack() -> usize {
    // SAFETY: a zeroed value may be written over, and the functions get pointers to what they write.
    let size = unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes), 0, "the thread's attributes");
        let (mut bottom, mut size) = (std::ptr::null_mut(), 0);
        assert_eq!(libc::pthread_attr_getstack(&raw const attributes, &raw mut bottom, &raw mut size), 0, "its stack");
        libc::pthread_attr_destroy(&raw mut attributes);
        size
    };
    (size + (1 << 19)) >> 20
}

fn stacks() {
    say("thread.stack.default_in_mib", pool(1).install(stack));
    say("thread.stack.of_the_global_in_mib", rayon::join(stack, || ()).0);
    let pool = ThreadPoolBuilder::new().num_threads(1).stack_size(5 << 20).build().expect("a pool");
    say("thread.stack.of_5_in_mib", pool.install(stack));
}

/// Which threads block a signal that the builder blocks while it builds.
fn signals() {
    // SAFETY: zeroed sets may be written over, and the functions get pointers to what they read and write.
    let set_blocked = |how| unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        assert_eq!(libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()), 0, "a mask");
    };
    // SAFETY: as above.
    let is_blocked = || unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set), 0, "a mask");
        libc::sigismember(&raw const set, libc::SIGUSR1) == 1
    };
    set_blocked(libc::SIG_BLOCK);
    let three = pool(3);
    set_blocked(libc::SIG_UNBLOCK);
    say("thread.signals.blocked_by_the_builder", format!("{:?}", three.broadcast(|_| is_blocked())));
}

/// Says that it is dropped.
struct Guard(&'static str, Log);

impl Drop for Guard {
    fn drop(&mut self) {
        self.1.add(self.0);
    }
}

/// What happens when a thread leaves, and what becomes of the handlers.
fn exits() {
    thread_local! {
        static OWN: RefCell<Option<Guard>> = const { RefCell::new(None) };
    }
    let log = Log::default();
    let own = log.clone();
    let one =
        ThreadPoolBuilder::new().num_threads(1).exit_handler(move |_| own.add("handler")).build().expect("a pool");
    one.install(|| OWN.set(Some(Guard("thread-local", log.clone()))));
    drop(one);
    say("thread.exits.order", log.after(2));
    let log = Log::default();
    let [name, start, exit, panic] = ["name", "start", "exit", "panic"].map(|name| Guard(name, log.clone()));
    let builder = ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| {
        let Guard(name, _) = &name;
        (*name).to_owned()
    });
    let builder = builder.start_handler(move |_| _ = &start).exit_handler(move |_| _ = &exit);
    let one = builder.panic_handler(move |_| _ = &panic).build().expect("a pool");
    one.install(|| ());
    say("thread.exits.dropped_once_built", log.get().join(" "));
    drop(one);
    say("thread.exits.dropped_with_the_pool", log.set_after(4));
}

/// What becomes of a task that a thread spawns when it leaves.
fn last_task() {
    let log = Log::default();
    let task = Mutex::new(Some(Guard("dropped", log.clone())));
    let own = log.clone();
    let exit = move |_| {
        let (task, own) = (task.lock().expect("no panic").take(), own.clone());
        rayon::spawn(move || {
            own.add("runs");
            drop(task);
        });
    };
    drop(ThreadPoolBuilder::new().num_threads(1).exit_handler(exit).build().expect("a pool"));
    until(|| others() == 0);
    say("thread.last_task.of_an_exit_handler", format!("{:?}", log.get()));
}

fn handlers() {
    let (started, exited) = (Log::default(), Log::default());
    let notes = |log: &Log, main| {
        let log = log.clone();
        move |number: usize| {
            let place = if thread::current().id() == main { "the builder" } else { "its own thread" };
            log.add(format!("[{number} on {place}, number {:?}]", current_thread_index()));
        }
    };
    let main = thread::current().id();
    let builder = ThreadPoolBuilder::new().num_threads(2).start_handler(notes(&started, main));
    let two = builder.exit_handler(notes(&exited, main)).build().expect("a pool");
    say("thread.handlers.start", started.set_after(2));
    two.broadcast(|_| ());
    say("thread.handlers.exits_while_it_lives", exited.get().len());
    drop(two);
    say("thread.handlers.exit", exited.set_after(2));
    // What a handler spawns, or calls.
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let start = move |_| {
        let sender = sender.lock().expect("no panic").clone();
        rayon::spawn(move || sender.send(current_thread_index()).expect("somebody waits"));
    };
    let one = ThreadPoolBuilder::new().num_threads(1).start_handler(start).build().expect("a pool");
    say("thread.handlers.start_spawns", format!("{:?}", receiver.recv()));
    drop(one);
    let log = Log::default();
    let own = log.clone();
    let joins = move |_| {
        let sum = rayon::join(|| 1, || 2);
        own.add(format!("{sum:?} {}", rayon::current_num_threads()));
    };
    drop(
        ThreadPoolBuilder::new()
            .num_threads(1)
            .start_handler(joins.clone())
            .exit_handler(joins)
            .build()
            .expect("a pool"),
    );
    say("thread.handlers.join", log.after(2));
    // The global pool.
    let started = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&started);
    let builder = ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| _ = own.fetch_add(1, SeqCst));
    builder.build_global().expect("the first");
    rayon::broadcast(|_| ());
    say("thread.handlers.of_the_global", started.load(SeqCst));
}

fn ends() {
    // A dropped pool finishes its tasks, and whoever drops it does not wait for them.
    let (log, gate) = (Log::default(), Arc::new(Barrier::new(2)));
    let one = pool(1);
    for name in ["1", "2"] {
        let (log, gate) = (log.clone(), Arc::clone(&gate));
        one.spawn(move || {
            gate.wait();
            log.add(name);
        });
    }
    drop(one);
    log.add("dropped");
    gate.wait();
    gate.wait();
    say("thread.end.of_a_pool_with_tasks", log.after(3));
    // What they spawn runs, too.
    let log = Log::default();
    let one = pool(1);
    let own = log.clone();
    let gate = Arc::new(Barrier::new(2));
    let opens = Arc::clone(&gate);
    one.spawn(move || {
        opens.wait();
        rayon::spawn(move || own.add("spawned"));
    });
    drop(one);
    gate.wait();
    say("thread.end.of_a_pool_whose_task_spawns", log.after(1));
    // A pool that its own task drops.
    let log = Log::default();
    let (own, one) = (log.clone(), Arc::new(pool(1)));
    let inner = Arc::clone(&one);
    one.spawn(move || {
        until(|| Arc::strong_count(&inner) == 1);
        drop(inner);
        own.add(format!("{:?} {}", current_thread_index(), rayon::join(|| 1, || 2).1));
    });
    drop(one);
    say("thread.end.by_its_own_task", log.after(1));
    say("thread.end.leaves", if until(|| others() == 0) { "none" } else { "some" });
}
