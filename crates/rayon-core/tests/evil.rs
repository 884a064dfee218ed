//! Programs on the drop-in whose payloads, results and captured values panic when dropped.
//!
//! Invariant: a program shows its expected outcome, or its process aborts where that is permitted, in every schedule
//! and in every state of standard error. Each program runs in child processes with each pool and each waiting strategy
//! that the environment can name. Those that never abort also run here, for Miri.
#![allow(clippy::disallowed_types, reason = "tests count; what they test is the algorithm")]
#![cfg(unix)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind, set_hook};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{FnContext, ScopeFifo, ThreadPool, ThreadPoolBuilder, join, join_context};

#[path = "../../filch/tests/common/children.rs"]
mod children;

use children::{End, Order, StandardError};

const POOLS: [&str; 7] = ["split", "wool", "chase-lev", "lace", "the", "pdq-r-async", "heartbeat-request"];
const WAITS: [&str; 4] = ["leapfrog", "transitive", "leapfrog-random", "random"];

/// Panics when dropped, the given number of times: the payload is another `Evil`, one less evil.
struct Evil(Box<usize>);

impl Evil {
    fn new(depth: usize) -> Self {
        Self(Box::new(depth))
    }

    /// Makes it harmless and returns its depth.
    fn defuse(mut self) -> usize {
        std::mem::take(&mut *self.0)
    }
}

impl Drop for Evil {
    fn drop(&mut self) {
        if *self.0 > 0 {
            throw(*self.0 - 1);
        }
    }
}

/// Prints a panic message only where reporting it might fail.
fn throw(depth: usize) -> ! {
    let payload = Evil::new(depth);
    if children::asked().is_some() && !children::is_heard() {
        panic_any(payload)
    } else {
        resume_unwind(Box::new(payload))
    }
}

/// Describes the end of `f`: its result, or the depth of its payload.
fn outcome(f: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| format!("throws {}", told(payload)))
}

fn told(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<Evil>() {
        Ok(evil) => format!("Evil({})", evil.defuse()),
        // The text must not get lost.
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => {
                payload.downcast::<&str>().map_or_else(|_| "something else".to_owned(), |text| (*text).to_owned())
            }
        },
    }
}

/// A value that a frame owns and tasks access.
struct Owned<'o> {
    number: Box<usize>,
    ran: &'o AtomicUsize,
}

impl Owned<'_> {
    fn look(&self) {
        assert_eq!(*self.number, 7, "the frame is gone");
        self.ran.fetch_add(1, SeqCst);
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        *self.number = 0;
    }
}

/// Calls `f` with a value owned by its frame, and counts the accesses.
fn owning(f: impl FnOnce(&Owned<'_>) -> String) -> String {
    let ran = AtomicUsize::new(0);
    let what = outcome(|| {
        let owned = Owned { number: Box::new(7), ran: &ran };
        f(&owned)
    });
    format!("{what}, {} looked", ran.into_inner())
}

/// A pool whose threads are joined when it is dropped.
struct JoinedPool {
    pool: Option<ThreadPool>,
    threads: Vec<thread::JoinHandle<()>>,
    /// The payloads given to the panic handler.
    handled: Arc<Mutex<Vec<String>>>,
}

impl JoinedPool {
    fn new(threads: usize) -> Self {
        Self::build(ThreadPoolBuilder::new().num_threads(threads))
    }

    fn build(builder: ThreadPoolBuilder) -> Self {
        let handled = Arc::new(Mutex::new(Vec::new()));
        let told_of = Arc::clone(&handled);
        Self::build_with(builder, handled, move |payload| told_of.lock().unwrap().push(told(payload)))
    }

    fn build_with(
        builder: ThreadPoolBuilder,
        handled: Arc<Mutex<Vec<String>>>,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        let mut threads = Vec::new();
        let start = |thread: rayon_core::ThreadBuilder| {
            threads.push(thread::Builder::new().stack_size(1 << 20).spawn(|| thread.run())?);
            Ok(())
        };
        let pool = builder.stack_size(1 << 20).panic_handler(handler).spawn_handler(start).build().unwrap();
        Self { pool: Some(pool), threads, handled }
    }

    fn pool(&self) -> &ThreadPool {
        self.pool.as_ref().expect("there until the end")
    }

    /// Waits for the end of all threads, and lists the payloads given to the handler.
    fn end(mut self) -> String {
        self.leave();
        let mut handled = std::mem::take(&mut *self.handled.lock().unwrap());
        handled.sort_unstable();
        handled.join(", ")
    }

    fn leave(&mut self) {
        self.pool = None;
        self.threads.drain(..).for_each(|thread| thread.join().expect("workers do not panic"));
    }
}

impl Drop for JoinedPool {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Waits until another thread has begun the second branch, if there is another thread.
fn until_taken(threads: usize, is_taken: &AtomicBool) {
    let start = Instant::now();
    // Pools that share on request poll at forks.
    while threads > 1 && !is_taken.load(SeqCst) && !join(|| is_taken.load(SeqCst), || ()).0 {
        assert!(start.elapsed() < Duration::from_secs(120), "nobody takes it");
        thread::yield_now();
    }
}

/// Joins the branches. If there is another thread, it has stolen the second branch before the first does anything.
fn fork<RA: Send, RB: Send>(
    threads: usize,
    a: impl FnOnce(&Owned<'_>) -> RA + Send,
    b: impl FnOnce(&Owned<'_>) -> RB + Send,
    tell: impl Fn((RA, RB)) -> String + Send,
) -> String {
    let joined = JoinedPool::new(threads);
    let is_taken = AtomicBool::new(false);
    owning(|owned| {
        let first = |_: FnContext| {
            until_taken(threads, &is_taken);
            owned.look();
            a(owned)
        };
        let second = |_: FnContext| {
            is_taken.store(true, SeqCst);
            owned.look();
            b(owned)
        };
        tell(joined.pool().install(|| join_context(first, second)))
    })
}

fn both<R>(_: R) -> String {
    "returns".to_owned()
}

fn first_throws(threads: usize) -> String {
    fork(threads, |_| -> () { throw(2) }, |_| (), both)
}

fn second_throws(threads: usize) -> String {
    fork(threads, |_| (), |_| -> () { throw(2) }, both)
}

fn both_throw(threads: usize) -> String {
    fork(threads, |_| -> () { throw(3) }, |_| -> () { throw(2) }, both)
}

fn both_return(threads: usize) -> String {
    let tell = |(a, b): (Evil, Evil)| format!("returns {} and {}", a.defuse(), b.defuse());
    fork(threads, |_| Evil::new(3), |_| Evil::new(2), tell)
}

/// Unwinding drops the first result.
fn first_returns(threads: usize) -> String {
    fork(threads, |_| Evil::new(1), |_| -> () { throw(0) }, both)
}

fn branches_drop(threads: usize) -> String {
    let (first, second) = (Evil::new(2), Evil::new(1));
    fork(threads, move |_| drop(first), move |_| _ = second.defuse(), both)
}

const TASKS: usize = 4;

/// Runs every kind of scope. Each has tasks that carry something, access the frame's value, some of them late, and call
/// `task`.
fn scopes(
    threads: usize,
    cargo: impl Fn(usize) -> Evil,
    task: impl Fn(usize) + Sync,
    body: impl Fn() + Send + Sync,
) -> String {
    let joined = JoinedPool::new(threads);
    let task = |owned: &Owned<'_>, n: usize| {
        (0..n % 2 * 20).for_each(|_| thread::yield_now());
        owned.look();
        task(n);
    };
    macro_rules! outcomes {
        ($($scope:ident by $spawn:ident,)*) => {
            [$(owning(|owned| {
                let cargo: Vec<_> = (0..TASKS).map(&cargo).collect();
                joined.pool().$scope(|s| {
                    for (n, cargo) in cargo.into_iter().enumerate() {
                        let task = &task;
                        s.$spawn(move |_| {
                            task(owned, n);
                            drop(cargo);
                        });
                    }
                    body();
                });
                "returns".to_owned()
            })),*]
        };
    }
    let outcomes = outcomes! {
        scope by spawn,
        in_place_scope by spawn,
        scope_fifo by spawn_fifo,
        in_place_scope_fifo by spawn_fifo,
    };
    same(outcomes)
}

/// Returns the common outcome of all.
fn same(outcomes: impl IntoIterator<Item = String>) -> String {
    let mut outcomes = Vec::from_iter(outcomes);
    outcomes.dedup();
    outcomes.join("; ")
}

fn harmless(_: usize) -> Evil {
    Evil::new(0)
}

fn body_throws(threads: usize) -> String {
    scopes(threads, harmless, |_| (), || throw(2))
}

fn task_throws(threads: usize) -> String {
    scopes(
        threads,
        harmless,
        |n| {
            if n == 2 {
                throw(2)
            }
        },
        || (),
    )
}

/// One payload continues, and nobody sees the others.
fn all_throw(threads: usize) -> String {
    scopes(threads, harmless, |_| throw(2), || throw(2))
}

fn task_drops(threads: usize) -> String {
    scopes(threads, |n| Evil::new(if n == 1 { 2 } else { 0 }), |_| (), || ())
}

/// Unwinding drops the body's result.
fn body_returns(threads: usize) -> String {
    let joined = JoinedPool::new(threads);
    owning(|owned| {
        let result = joined.pool().scope(|s| {
            s.spawn(|_| {
                owned.look();
                throw(1)
            });
            Evil::new(1)
        });
        format!("returns {}", result.defuse())
    })
}

/// Broadcasts to every thread as tasks of a scope. The last task drops what they share.
fn scope_broadcasts_throw(threads: usize) -> String {
    let joined = JoinedPool::new(threads);
    let what = owning(|owned| {
        let shared = Evil::new(3);
        joined.pool().in_place_scope_fifo(|s: &ScopeFifo<'_>| {
            s.spawn_broadcast(move |_, _| {
                let _ = &shared;
                owned.look();
                throw(2)
            });
        });
        "returns".to_owned()
    });
    what.replace(&format!("{threads} looked"), "all looked")
}

fn calls_throw(threads: usize) -> String {
    let (joined, other) = (JoinedPool::new(threads), JoinedPool::new(1));
    owning(|owned| {
        let innermost = || -> String {
            owned.look();
            throw(2)
        };
        joined.pool().install(|| other.pool().install(|| join(|| joined.pool().install(innermost), || ()).0))
    })
}

fn broadcast_throws(threads: usize) -> String {
    let joined = JoinedPool::new(threads);
    let what = owning(|owned| {
        let results = joined.pool().broadcast(|context| {
            owned.look();
            if context.index() + 1 == threads { throw(2) } else { harmless(0) }
        });
        results.len().to_string()
    });
    what.replace(&format!("{threads} looked"), "all looked")
}

fn broadcasts_throw(threads: usize) -> String {
    let joined = JoinedPool::new(threads);
    let what = owning(|owned| {
        joined.pool().broadcast(|_| -> () {
            owned.look();
            throw(2)
        });
        "returns".to_owned()
    });
    what.replace(&format!("{threads} looked"), "all looked")
}

/// Unwinding drops the results.
fn broadcasts_return(threads: usize) -> String {
    let joined = JoinedPool::new(threads);
    let broadcast = |thrower| {
        let result = |index| if index == thrower { throw(2) } else { Evil::new(1) };
        let results = joined.pool().broadcast(|context| result(context.index()));
        same(results.into_iter().map(|evil| format!("returns {}", evil.defuse())))
    };
    format!("{}, {}", outcome(|| broadcast(threads)), outcome(|| broadcast(0)))
}

/// Spawned tasks that throw, one that carries something, and a broadcast.
fn spawns_throw(threads: usize) -> String {
    let joined = JoinedPool::new(threads);
    let pool = joined.pool();
    pool.spawn(|| throw(2));
    pool.spawn_fifo(|| throw(2));
    let carried = Evil::new(3);
    pool.spawn(move || drop(carried));
    let shared = Evil::new(3);
    pool.spawn_broadcast(move |_| {
        let _ = &shared;
        throw(2)
    });
    joined.end().replace(&vec!["Evil(2)"; 4 + threads].join(", "), "all handled")
}

/// Start and exit handlers that throw.
fn hooks_throw(threads: usize) -> String {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let joined = JoinedPool::build(builder.start_handler(|_| throw(2)).exit_handler(|_| throw(2)));
    let sum = joined.pool().install(|| join(|| 1, || 2));
    format!("{sum:?}, {}", joined.end().replace(&vec!["Evil(2)"; 2 * threads].join(", "), "all handled"))
}

/// The process ends while a branch, stolen if there is another thread, accesses the frame's value.
fn nobody_handles(threads: usize) -> String {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    owning(|owned| {
        let is_taken = AtomicBool::new(false);
        let first = || {
            until_taken(threads, &is_taken);
            rayon_core::spawn(|| throw(2));
        };
        let second = || {
            is_taken.store(true, SeqCst);
            (0..20).for_each(|_| thread::yield_now());
            owned.look();
        };
        both(pool.install(|| join(first, second)));
        // The pool's threads leave after all tasks.
        drop(pool);
        thread::sleep(Duration::from_secs(60));
        "goes on".to_owned()
    })
}

fn handler_throws(threads: usize) -> String {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let joined = JoinedPool::build_with(builder, Arc::default(), drop);
    joined.pool().spawn(|| throw(2));
    joined.end()
}

/// Whether the process of a program may abort before the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Abort {
    Never,
    /// A sequential run aborts or may abort.
    Perhaps,
    /// The documentation says so.
    Always,
}

/// A name, the program for a number of threads, its expected outcome, and whether it may abort.
type Row = (&'static str, fn(usize) -> String, &'static str, Abort);

const PROGRAMS: [Row; 20] = [
    ("first throws", first_throws, "throws Evil(2), 2 looked", Abort::Never),
    ("second throws", second_throws, "throws Evil(2), 2 looked", Abort::Never),
    ("both throw", both_throw, "throws Evil(3), 2 looked", Abort::Perhaps),
    ("both return", both_return, "returns 3 and 2, 2 looked", Abort::Never),
    ("first returns", first_returns, "throws Evil(0), 2 looked", Abort::Perhaps),
    ("branches drop", branches_drop, "throws Evil(1), 2 looked", Abort::Never),
    ("body throws", body_throws, "throws Evil(2), 4 looked", Abort::Never),
    ("task throws", task_throws, "throws Evil(2), 4 looked", Abort::Never),
    ("all throw", all_throw, "throws Evil(2), 4 looked", Abort::Never),
    ("task drops", task_drops, "throws Evil(1), 4 looked", Abort::Never),
    ("body returns", body_returns, "throws Evil(1), 1 looked", Abort::Perhaps),
    ("scope broadcasts throw", scope_broadcasts_throw, "throws Evil(2), all looked", Abort::Perhaps),
    ("calls throw", calls_throw, "throws Evil(2), 1 looked", Abort::Never),
    ("broadcast throws", broadcast_throws, "throws Evil(2), all looked", Abort::Never),
    ("broadcasts throw", broadcasts_throw, "throws Evil(2), all looked", Abort::Never),
    ("broadcasts return", broadcasts_return, "returns 1, throws Evil(2)", Abort::Perhaps),
    ("spawns throw", spawns_throw, "all handled", Abort::Never),
    ("hooks throw", hooks_throw, "(1, 2), all handled", Abort::Never),
    ("nobody handles", nobody_handles, "", Abort::Always),
    ("handler throws", handler_throws, "", Abort::Always),
];

/// Every program with one and with two threads. If standard error is unusable, this omits the programs that only the
/// language aborts: it prints its stack first, which takes longer than everything else.
fn cases(is_heard: bool) -> impl Iterator<Item = (Row, usize)> {
    let programs = PROGRAMS.into_iter().filter(move |row| is_heard || row.3 != Abort::Perhaps);
    programs.flat_map(|row| [1, 2].map(|threads| (row, threads)))
}

#[test]
fn here() {
    for ((name, program, shows, abort), threads) in cases(true) {
        if abort == Abort::Never {
            println!("{name} on {threads}");
            assert_eq!(program(threads), shows, "{name} on {threads}");
        }
    }
}

fn in_children(variables: &[(&str, &str)], error: StandardError) {
    let cases: Vec<_> = cases(error == StandardError::Heard).collect();
    let order = Order { main: "child", program: "all", cases: cases.len(), error, variables };
    children::run(order, |nth, end| {
        let ((name, _, shows, abort), threads) = cases[nth];
        let may = match &end {
            End::Said(what) => abort != Abort::Always && what == shows,
            End::Aborted => abort != Abort::Never,
        };
        assert!(may, "{name} on {threads}, {variables:?}, {error:?}: {end:?} instead of {shows}, abort: {abort:?}");
    });
}

/// Not a test by itself.
#[test]
#[ignore = "run by the others"]
fn child() {
    let Some((_, first)) = children::asked() else { return };
    if children::is_heard() {
        // Suppresses the stack trace, as above.
        set_hook(Box::new(|_| ()));
    }
    cases(children::is_heard()).skip(first).for_each(|((_, program, ..), threads)| children::say(&program(threads)));
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn every_pool_and_way_of_waiting() {
    for pool in POOLS {
        for wait in WAITS {
            if wait != "transitive" || ["split", "wool"].contains(&pool) {
                in_children(&[("FILCH_POOL", pool), ("FILCH_WAIT", wait)], StandardError::Heard);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn standard_error_is_closed_full_or_broken() {
    for pool in POOLS {
        for error in [StandardError::Closed, StandardError::Full, StandardError::Broken] {
            in_children(&[("FILCH_POOL", pool)], error);
        }
    }
}
