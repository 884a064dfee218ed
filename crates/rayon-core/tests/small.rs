//! Small programs on the drop-in: fast tests, for Miri and the sanitizers too; natively with each pool and waiting
//! strategy.
//!
//! Invariant: a program borrows, moves and drops its own memory wherever the interface permits, so that a memory
//! checker sees each misuse; and all threads of a pool have left when its test ends.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]

use std::any::Any;
use std::env;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rayon_core::{
    Scope, ScopeFifo, ThreadPool, ThreadPoolBuilder, Yield, broadcast, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, in_place_scope, in_place_scope_fifo, join, join_context,
    scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo, yield_local, yield_now,
};

/// Returns `many`, or `few` under Miri, where each step takes a thousand times as long.
const fn times(many: usize, few: usize) -> usize {
    if cfg!(miri) { few } else { many }
}

/// A pool whose threads are joined when it is dropped.
struct JoinedPool {
    pool: Option<ThreadPool>,
    threads: Vec<JoinHandle<()>>,
}

impl JoinedPool {
    fn new(threads: usize) -> Self {
        Self::build(ThreadPoolBuilder::new().num_threads(threads))
    }

    fn build(builder: ThreadPoolBuilder) -> Self {
        let mut threads = Vec::new();
        let handler = |thread: rayon_core::ThreadBuilder| {
            let named = thread::Builder::new().name(thread.name().unwrap_or("a worker").to_owned());
            threads.push(named.stack_size(1 << 20).spawn(|| thread.run())?);
            Ok(())
        };
        let pool = builder.stack_size(1 << 20).spawn_handler(handler).build().unwrap();
        Self { pool: Some(pool), threads }
    }
}

impl Deref for JoinedPool {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.pool.as_ref().expect("there until dropped")
    }
}

impl Drop for JoinedPool {
    fn drop(&mut self) {
        self.pool = None;
        self.threads.drain(..).for_each(|thread| thread.join().expect("workers do not panic"));
    }
}

fn with_pools(test: impl Fn(&JoinedPool)) {
    (1..=3).for_each(|threads| test(&JoinedPool::new(threads)));
}

/// Waits until `done`, and fails if that takes far too long.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what} does not happen");
        thread::yield_now();
    }
}

/// A payload that no panic hook sees.
struct Thrown(usize);

fn throw(what: usize) -> ! {
    resume_unwind(Box::new(Thrown(what)))
}

fn payload_of(payload: &(dyn Any + Send)) -> usize {
    payload.downcast_ref::<Thrown>().expect("a payload of another type").0
}

fn thrown_by<R>(f: impl FnOnce() -> R) -> usize {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("nothing was thrown") };
    payload_of(&*payload)
}

/// Counts the values that are alive.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(alive: &'c AtomicUsize) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, SeqCst) > 0, "dropped twice");
    }
}

/// Numbers in boxes of their own, which a program reads while others may.
#[expect(clippy::vec_box, reason = "each needs its own allocation")]
fn boxes(number: usize) -> Vec<Box<usize>> {
    (0..number).map(Box::new).collect()
}

fn sum(numbers: &[Box<usize>]) -> Box<usize> {
    match numbers {
        [] => Box::new(0),
        [number] => number.clone(),
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = join(|| sum(left), move || sum(right));
            Box::new(*a + *b)
        }
    }
}

fn sort(numbers: &mut [Box<usize>]) {
    if numbers.len() < 2 {
        return;
    }
    let pivot = numbers.len() - 1;
    let mut middle = 0;
    for at in 0..pivot {
        if numbers[at] < numbers[pivot] {
            numbers.swap(at, middle);
            middle += 1;
        }
    }
    numbers.swap(middle, pivot);
    let (left, right) = numbers.split_at_mut(middle);
    join(|| sort(left), || sort(&mut right[1..]));
}

#[test]
fn joins() {
    const NUMBERS: usize = times(300, 9);
    with_pools(|pool| {
        for _ in 0..times(20, 1) {
            let numbers = boxes(NUMBERS);
            assert_eq!(*pool.install(|| sum(&numbers)), NUMBERS * (NUMBERS - 1) / 2);
            let mut scattered: Vec<_> = (0..NUMBERS).map(|n| Box::new(n * 7919 % 101)).collect();
            pool.install(|| sort(&mut scattered));
            assert!(scattered.is_sorted());
            let far = [7_usize; 20];
            let ((a, moved), b) = pool.join(|| (far, join_context(|a| a.migrated(), |_| sum(&numbers))), move || far);
            assert_eq!((a, b, moved.0, *moved.1), (far, far, false, NUMBERS * (NUMBERS - 1) / 2));
        }
    });
}

/// Another thread steals the second branch.
#[test]
fn stolen_branches() {
    for threads in [2, 3] {
        let pool = JoinedPool::new(threads);
        for _ in 0..times(20, 2) {
            let (numbers, is_taken) = (boxes(7), AtomicBool::new(false));
            let until_taken = || {
                wait_for("a steal", || {
                    // Pools that share on request poll at forks.
                    is_taken.load(SeqCst) || join(|| is_taken.load(SeqCst), || ()).0
                });
            };
            let second = |n: usize| {
                is_taken.store(true, SeqCst);
                (sum(&numbers), [n; 20])
            };
            let ((), (total, far)) = pool.install(|| join(until_taken, || second(3)));
            assert_eq!((*total, far), (21, [3; 20]));
            is_taken.store(false, SeqCst);
            let moved = pool.install(|| {
                let second = |context: rayon_core::FnContext| {
                    is_taken.store(true, SeqCst);
                    context.migrated()
                };
                join_context(|_| until_taken(), second).1
            });
            assert!(moved);
        }
    }
}

fn grow<'s>(s: &Scope<'s>, numbers: &'s mut [Box<usize>]) {
    let Some((first, others)) = numbers.split_first_mut() else { return };
    **first += 1;
    let (left, right) = others.split_at_mut(others.len() / 2);
    s.spawn(move |s| grow(s, left));
    s.spawn(move |s| grow(s, right));
}

fn grow_in_order<'s>(s: &ScopeFifo<'s>, numbers: &'s mut [Box<usize>]) {
    let Some((first, others)) = numbers.split_first_mut() else { return };
    **first += 1;
    let (left, right) = others.split_at_mut(others.len() / 2);
    s.spawn_fifo(move |s| grow_in_order(s, left));
    s.spawn_fifo(move |s| grow_in_order(s, right));
}

#[test]
fn scopes() {
    const NUMBERS: usize = times(100, 7);
    with_pools(|pool| {
        let mut numbers = boxes(NUMBERS);
        pool.scope(|s| grow(s, &mut numbers));
        pool.in_place_scope(|s| grow(s, &mut numbers));
        pool.install(|| scope(|s| grow(s, &mut numbers)));
        pool.scope_fifo(|s| grow_in_order(s, &mut numbers));
        pool.in_place_scope_fifo(|s| grow_in_order(s, &mut numbers));
        pool.install(|| scope_fifo(|s| grow_in_order(s, &mut numbers)));
        pool.install(|| {
            // A value that stays on this thread.
            let local = Rc::new(1);
            in_place_scope(|s| grow(s, &mut numbers[*local - 1..]));
            in_place_scope_fifo(|s| grow_in_order(s, &mut numbers[*local - 1..]));
        });
        assert!(numbers.iter().enumerate().all(|(at, number)| **number == at + 8));
        let (count, mut there) = (AtomicUsize::new(0), 0);
        pool.scope(|s| {
            s.spawn_broadcast(|s, _| s.spawn(|_| _ = count.fetch_add(1, SeqCst)));
            s.spawn(|_| {
                scope(|s| s.spawn(|_| join(|| there += 1, || count.fetch_add(1, SeqCst)).0));
            });
        });
        pool.scope_fifo(|s| s.spawn_broadcast(|_, context| _ = count.fetch_add(context.num_threads(), SeqCst)));
        let threads = pool.current_num_threads();
        assert_eq!((count.into_inner(), there), (threads + 1 + threads * threads, 1));
    });
}

#[test]
fn broadcasts() {
    with_pools(|pool| {
        let threads = pool.current_num_threads();
        for _ in 0..times(20, 1) {
            let numbers = boxes(threads);
            let here = |context: rayon_core::BroadcastContext<'_>| numbers[context.index()].clone();
            assert_eq!(pool.broadcast(here), numbers);
            assert_eq!(pool.install(|| broadcast(here)), numbers);
            let branches = pool.install(|| join(|| broadcast(here), || broadcast(|context| context.index())));
            assert_eq!(branches.0, numbers);
            let (sender, receiver) = channel();
            let again = sender.clone();
            pool.spawn_broadcast(move |context| sender.send(Box::new(context.index())).unwrap());
            pool.install(|| spawn_broadcast(move |context| again.send(Box::new(context.index())).unwrap()));
            assert_eq!(receiver.iter().map(|index| *index).sum::<usize>(), threads * (threads - 1));
        }
    });
}

#[test]
fn a_pool_dropped_with_work_in_flight() {
    fn spread(left: usize, ran: &Arc<AtomicUsize>) {
        ran.fetch_add(1, SeqCst);
        for nth in 0..2 * usize::from(left > 0) {
            let ran = Arc::clone(ran);
            let task = move || spread(left - 1, &ran);
            if nth == 0 { spawn(task) } else { spawn_fifo(task) }
        }
    }
    const DEPTH: usize = times(4, 2);
    with_pools(|pool| {
        // The fixture's pool lives longer. This one is dropped while its tasks run.
        let (own, ran) = (JoinedPool::new(pool.current_num_threads()), Arc::new(AtomicUsize::new(0)));
        for nth in 0..4 {
            let ran = Arc::clone(&ran);
            let task = move || spread(DEPTH, &ran);
            if nth % 2 == 0 { own.spawn(task) } else { own.spawn_fifo(task) }
        }
        drop(own);
        assert_eq!(Arc::into_inner(ran).map(AtomicUsize::into_inner), Some(4 * ((1 << (DEPTH + 1)) - 1)));
    });
}

#[test]
fn panics_out_of_joins() {
    with_pools(|pool| {
        let (alive, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let branch = |me: usize, thrower: usize| {
            let (small, large) = (Counted::new(&alive), [(); 9].map(|()| Counted::new(&alive)));
            let ran = &ran;
            move || {
                ran.fetch_add(1, SeqCst);
                let large = large;
                if me & thrower > 0 {
                    throw(me)
                }
                (small, large.len())
            }
        };
        for _ in 0..times(20, 1) {
            for thrower in 1..=3 {
                ran.store(0, SeqCst);
                let nested = || join(branch(1, thrower), branch(2, thrower)).0.1;
                let first = thrown_by(|| pool.install(|| join(nested, branch(2, thrower))));
                assert_eq!((first, ran.load(SeqCst)), (if thrower == 2 { 2 } else { 1 }, 3), "all branches run");
                assert_eq!(alive.load(SeqCst), 0);
            }
        }
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    });
}

#[test]
fn panics_out_of_stolen_branches() {
    let pool = JoinedPool::new(2);
    for thrower in (0..times(10, 1)).flat_map(|_| 1..=3) {
        let (alive, is_taken) = (AtomicUsize::new(0), AtomicBool::new(false));
        let result = Counted::new(&alive);
        let a = || {
            wait_for("a steal", || is_taken.load(SeqCst) || join(|| is_taken.load(SeqCst), || ()).0);
            if thrower & 1 > 0 {
                throw(1)
            }
        };
        let b = || {
            is_taken.store(true, SeqCst);
            if thrower & 2 > 0 { throw(2) } else { result }
        };
        assert_eq!(thrown_by(|| pool.install(|| join(a, b))), if thrower == 2 { 2 } else { 1 });
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn panics_out_of_scopes_and_broadcasts() {
    with_pools(|pool| {
        let (alive, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for body_throws in [false, true] {
            ran.store(0, SeqCst);
            let spawns = || {
                pool.scope(|s| {
                    for n in 0..4 {
                        let (captured, ran) = (Counted::new(&alive), &ran);
                        s.spawn(move |s| {
                            let _captured = captured;
                            s.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                            if n % 2 == 1 {
                                throw(1)
                            }
                        });
                    }
                    if body_throws {
                        throw(1)
                    }
                });
            };
            assert_eq!(thrown_by(spawns), 1);
            assert_eq!((ran.load(SeqCst), alive.load(SeqCst)), (4, 0), "the others still run");
        }
        let last = pool.current_num_threads() - 1;
        let some =
            || pool.broadcast(|context| if context.index() == last { throw(last) } else { Counted::new(&alive) });
        assert_eq!((thrown_by(some), alive.load(SeqCst)), (last, 0));
        let captured = Counted::new(&alive);
        let all = || {
            pool.scope_fifo(|s| {
                s.spawn_broadcast(move |_, _| {
                    let captured = &captured;
                    throw(captured.0.load(SeqCst))
                });
            });
        };
        assert_eq!((thrown_by(all), alive.load(SeqCst)), (1, 0));
    });
}

#[test]
fn panics_out_of_spawns_and_handlers() {
    for threads in 1..=2 {
        let caught = Arc::new(Mutex::new(Vec::new()));
        let handler = {
            let caught = Arc::clone(&caught);
            move |payload: Box<dyn Any + Send>| caught.lock().unwrap().push(payload_of(&*payload))
        };
        let builder = ThreadPoolBuilder::new().num_threads(threads).panic_handler(handler);
        let pool = JoinedPool::build(builder.start_handler(|_| throw(1)).exit_handler(|_| throw(2)));
        pool.spawn(|| throw(3));
        pool.spawn_fifo(|| throw(3));
        pool.spawn_broadcast(|_| throw(4));
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        drop(pool);
        let mut caught = Arc::into_inner(caught).expect("the handler is gone").into_inner().unwrap();
        caught.sort_unstable();
        let expected = [vec![1; threads], vec![2; threads], vec![3; 2], vec![4; threads]].concat();
        assert_eq!(caught, expected);
    }
}

/// Pools whose threads borrow, have names, and have start and exit handlers.
#[test]
fn threads_of_all_kinds() {
    let greeting = Box::new(5);
    let (started, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |which: &Arc<AtomicUsize>| {
        let which = Arc::clone(which);
        move |_| _ = which.fetch_add(1, SeqCst)
    };
    let builder = ThreadPoolBuilder::new().num_threads(2).thread_name(|n| format!("number {n}"));
    let sum = builder.start_handler(count(&started)).exit_handler(count(&left)).build_scoped(
        |thread| {
            assert_eq!(thread.name(), Some(&*format!("number {}", thread.index())));
            assert_eq!(*greeting, 5);
            thread.run();
        },
        |pool| pool.install(|| join(|| *greeting, current_num_threads)),
    );
    assert_eq!(sum.unwrap(), (5, 2));
    assert_eq!([started, left].map(|count| Arc::into_inner(count).map(AtomicUsize::into_inner)), [Some(2), Some(2)]);
}

#[test]
#[allow(deprecated, reason = "it is part of the interface")]
fn a_yielding_thread_runs_its_own_tasks() {
    let pool = JoinedPool::build(ThreadPoolBuilder::new().num_threads(1).breadth_first());
    assert_eq!((yield_now(), yield_local(), current_thread_has_pending_tasks()), (None, None, None));
    let order = Arc::new(Mutex::new(Vec::new()));
    pool.install(|| {
        spawn_broadcast(|_| ());
        assert_eq!(
            current_thread_has_pending_tasks(),
            Some(false),
            "as on rayon, only what others may take is pending"
        );
        assert_eq!(yield_local(), Some(Yield::Executed));
        for n in 0..4 {
            let order = Arc::clone(&order);
            spawn(move || order.lock().unwrap().push(n));
        }
        assert_eq!((current_thread_has_pending_tasks(), current_thread_index()), (Some(true), Some(0)));
        assert_eq!((yield_now(), yield_local()), (Some(Yield::Executed), Some(Yield::Executed)));
        assert_eq!(*order.lock().unwrap(), [0, 1]);
        // The forker runs the second branch before the first has ended.
        let ran = AtomicBool::new(false);
        let until = || {
            while !ran.load(SeqCst) {
                assert_eq!(yield_local(), Some(Yield::Executed));
            }
        };
        join(until, || ran.store(true, SeqCst));
    });
    drop(pool);
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn pools_inside_each_other() {
    fn alternate(here: &ThreadPool, there: &ThreadPool, depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let (a, b) = join(
            || there.install(|| alternate(there, here, depth - 1)),
            || there.scope(|s| there.join(|| alternate(there, here, depth - 1), || s.spawn(|_| ())).0),
        );
        a + b
    }
    const DEPTH: usize = times(4, 1);
    let (one, two) = (JoinedPool::new(1), JoinedPool::new(2));
    thread::scope(|s| {
        s.spawn(|| assert_eq!(one.install(|| alternate(&one, &two, DEPTH)), 1 << DEPTH));
        s.spawn(|| assert_eq!(two.install(|| alternate(&two, &one, DEPTH)), 1 << DEPTH));
    });
}

/// Runs all of the above with every choice of the environment. Under Miri the environment chooses for the whole run.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn every_pool_and_strategy() {
    if env::var_os("FILCH_POOL").is_some() || env::var_os("FILCH_WAIT").is_some() {
        return;
    }
    let pools =
        ["wool", "chase-lev", "lace", "the", "pdq-r-async", "heartbeat-request"].map(|pool| ("FILCH_POOL", pool));
    let waits = ["leapfrog", "transitive", "random"].map(|wait| ("FILCH_WAIT", wait));
    for (name, value) in pools.into_iter().chain(waits) {
        let output = Command::new(env::current_exe().unwrap()).env(name, value).output().unwrap();
        assert!(output.status.success(), "{name}={value}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
