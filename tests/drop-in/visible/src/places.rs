//! On which thread each closure runs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rayon::prelude::*;
use rayon::{ThreadPool, current_num_threads, current_thread_index};

use crate::{Group, pool, say, until};

pub const GROUPS: &[Group] = &[
    ("place.main", || {
        from_outside("place.main");
    }),
    ("place.plain", || thread::spawn(|| from_outside("place.plain")).join().expect("no panic")),
    ("place.worker", from_a_worker),
    ("place.other", from_a_worker_of_another_pool),
    ("place.own", what_belongs_to_the_thread),
];

/// Where closures have run, by their names.
#[derive(Clone)]
struct Places {
    caller: ThreadId,
    seen: Arc<Mutex<BTreeMap<&'static str, BTreeSet<String>>>>,
}

impl Places {
    fn new() -> Self {
        Self { caller: thread::current().id(), seen: Arc::default() }
    }

    /// Notes that the closure of this name runs here.
    fn here(&self, name: &'static str) {
        let thread = if thread::current().id() == self.caller { "the caller" } else { "another thread" };
        let role = if current_thread_index().is_some() { "a worker" } else { "outside" };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(name).or_default().insert(format!("{thread}, {role} of {}", current_num_threads()));
    }

    /// Prints where each closure has run, once the spawned ones have too.
    fn tell(&self, of: &str, spawned: &[&'static str]) {
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for name in spawned {
            until(|| seen().contains_key(name));
        }
        for (name, places) in &*seen() {
            say(format!("{of}.{name}"), places.iter().cloned().collect::<Vec<_>>().join("; "));
        }
    }
}

/// Those that nobody waits for.
const SPAWNED: &[&str] = &["spawn", "spawn_fifo", "spawn_broadcast"];

/// The functions that use the current thread's pool, or else the global one.
fn free(places: &Places) {
    let at = |name| move || places.here(name);
    rayon::join(at("join.first"), at("join.second"));
    rayon::join_context(|_| places.here("join_context.first"), |_| places.here("join_context.second"));
    rayon::scope(|s| {
        places.here("scope.body");
        s.spawn(|_| places.here("scope.task"));
        s.spawn_broadcast(|_, _| places.here("scope.broadcast"));
    });
    rayon::scope_fifo(|s| {
        places.here("scope_fifo.body");
        s.spawn_fifo(|_| places.here("scope_fifo.task"));
    });
    rayon::in_place_scope(|s| {
        places.here("in_place_scope.body");
        s.spawn(|_| places.here("in_place_scope.task"));
    });
    rayon::in_place_scope_fifo(|s| {
        places.here("in_place_scope_fifo.body");
        s.spawn_fifo(|_| places.here("in_place_scope_fifo.task"));
    });
    rayon::broadcast(|_| places.here("broadcast"));
    (0..1000).into_par_iter().for_each(|_| places.here("loop"));
    let [one, two, three] = std::array::from_fn(|_| places.clone());
    rayon::spawn(move || one.here("spawn"));
    rayon::spawn_fifo(move || two.here("spawn_fifo"));
    rayon::spawn_broadcast(move |_| three.here("spawn_broadcast"));
}

/// The functions of a pool.
fn of_pool(pool: &ThreadPool, places: &Places) {
    let at = |name| move || places.here(name);
    pool.install(at("install"));
    pool.install(|| (0..1000).into_par_iter().for_each(|_| places.here("install.loop")));
    pool.join(at("join.first"), at("join.second"));
    pool.scope(|s| {
        places.here("scope.body");
        s.spawn(|_| places.here("scope.task"));
    });
    pool.scope_fifo(|s| {
        places.here("scope_fifo.body");
        s.spawn_fifo(|_| places.here("scope_fifo.task"));
    });
    pool.in_place_scope(|s| {
        places.here("in_place_scope.body");
        s.spawn(|_| places.here("in_place_scope.task"));
    });
    pool.in_place_scope_fifo(|s| {
        places.here("in_place_scope_fifo.body");
        s.spawn_fifo(|_| places.here("in_place_scope_fifo.task"));
    });
    pool.broadcast(|_| places.here("broadcast"));
    let [one, two, three] = std::array::from_fn(|_| places.clone());
    pool.spawn(move || one.here("spawn"));
    pool.spawn_fifo(move || two.here("spawn_fifo"));
    pool.spawn_broadcast(move |_| three.here("spawn_broadcast"));
}

/// Several times, since a pool whose threads sleep may do otherwise than one whose threads are awake.
fn several_times(call: impl Fn()) {
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(1));
        call();
    }
}

fn from_outside(of: &str) {
    let places = Places::new();
    several_times(|| free(&places));
    places.tell(&format!("{of}.global"), SPAWNED);
    let (pool, places) = (pool(3), Places::new());
    several_times(|| of_pool(&pool, &places));
    places.tell(&format!("{of}.pool"), SPAWNED);
}

/// The pool has one thread, so that nothing depends on thieves.
fn from_a_worker() {
    let pool = pool(1);
    let places = pool.install(|| {
        let places = Places::new();
        free(&places);
        places
    });
    places.tell("place.worker.free", SPAWNED);
    let places = pool.install(|| {
        let places = Places::new();
        of_pool(&pool, &places);
        places
    });
    places.tell("place.worker.pool", SPAWNED);
}

fn from_a_worker_of_another_pool() {
    let (own, pool) = (pool(1), pool(3));
    let places = own.install(|| {
        let places = Places::new();
        several_times(|| of_pool(&pool, &places));
        places
    });
    places.tell("place.other.pool", SPAWNED);
    let back =
        pool.install(|| own.install(|| pool.install(|| (current_num_threads(), current_thread_index().is_some()))));
    say("place.other.and_back", format!("{back:?}"));
}

thread_local! {
    static MARK: Cell<&'static str> = const { Cell::new("unset") };
}

/// What the closures of a call from `main` see of it.
fn what_belongs_to_the_thread() {
    const NEAR: usize = 1 << 20;
    MARK.set("set");
    let here = 0_u8;
    let base = black_box(&raw const here).addr();
    let (marks, stacks) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let look = || {
        let here = 0_u8;
        let stack = if black_box(&raw const here).addr().abs_diff(base) < NEAR { "the caller's" } else { "its own" };
        stacks.lock().unwrap_or_else(PoisonError::into_inner).insert(stack);
        marks.lock().unwrap_or_else(PoisonError::into_inner).insert(MARK.get());
    };
    several_times(|| {
        rayon::join(look, look);
        rayon::scope(|s| s.spawn(|_| look()));
        (0..1000).into_par_iter().for_each(|_| look());
    });
    say("place.own.thread_local", format!("{:?}", marks.into_inner().expect("no panic")));
    say("place.own.stack", format!("{:?}", stacks.into_inner().expect("no panic")));
}
