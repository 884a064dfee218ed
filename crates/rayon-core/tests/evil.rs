//! Programs on the drop-in whose payloads, results and captured values panic when they are dropped.
//!
//! What must always hold: a program shows what it says, or its process is aborted where it may be; nothing else, whoever runs what, and
//! whatever becomes of standard error. Each program runs with each pool and each way of waiting that the environment can name, in
//! children; and those that never abort also here, which is for Miri.
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

const POOLS: [&str; 7] = ["split", "wool", "chase-lev", "lace", "the", "pdq-r", "heartbeat-request"];
const WAITS: [&str; 4] = ["leapfrog", "transitive", "leapfrog-random", "random"];

/// Panics when dropped, so many times: what comes out of it is evil in its turn, a little less.
struct Evil(Box<usize>);

impl Evil {
    fn new(depth: usize) -> Self {
        Self(Box::new(depth))
    }

    /// Makes it harmless, and says how evil it was.
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

/// With the message of a panic only where somebody might fail to be told it.
fn throw(depth: usize) -> ! {
    let payload = Evil::new(depth);
    if children::asked().is_some() && !children::is_heard() {
        panic_any(payload)
    } else {
        resume_unwind(Box::new(payload))
    }
}

/// What comes of `f`: what it returns, or how evil its payload is.
fn outcome(f: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| format!("throws {}", told(payload)))
}

fn told(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<Evil>() {
        Ok(evil) => format!("Evil({})", evil.defuse()),
        // The text must not get lost, whatever it says.
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => {
                payload.downcast::<&str>().map_or_else(|_| "something else".to_owned(), |text| (*text).to_owned())
            }
        },
    }
}

/// What a frame owns, and tasks look at.
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

/// Calls `f` with what its frame owns, and says how often that was looked at.
fn owning(f: impl FnOnce(&Owned<'_>) -> String) -> String {
    let ran = AtomicUsize::new(0);
    let what = outcome(|| {
        let owned = Owned { number: Box::new(7), ran: &ran };
        f(&owned)
    });
    format!("{what}, {} looked", ran.into_inner())
}

/// A pool whose threads have left when it is dropped.
struct Crew {
    pool: Option<ThreadPool>,
    threads: Vec<thread::JoinHandle<()>>,
    /// What the panic handler was given.
    handled: Arc<Mutex<Vec<String>>>,
}

impl Crew {
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

    /// Waits for the end of all threads, and says what the handler was given.
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

impl Drop for Crew {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Until another thread has begun the second branch, if there is another.
fn until_taken(threads: usize, is_taken: &AtomicBool) {
    let start = Instant::now();
    // Pools that share when they are asked are asked at forks.
    while threads > 1 && !is_taken.load(SeqCst) && !join(|| is_taken.load(SeqCst), || ()).0 {
        assert!(start.elapsed() < Duration::from_secs(120), "nobody takes it");
        thread::yield_now();
    }
}

/// Joins the branches; the second is another thread's, if there is one, before the first does anything.
fn fork<RA: Send, RB: Send>(
    threads: usize,
    a: impl FnOnce(&Owned<'_>) -> RA + Send,
    b: impl FnOnce(&Owned<'_>) -> RB + Send,
    tell: impl Fn((RA, RB)) -> String + Send,
) -> String {
    let crew = Crew::new(threads);
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
        tell(crew.pool().install(|| join_context(first, second)))
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

/// The unwinding drops the first result.
fn first_returns(threads: usize) -> String {
    fork(threads, |_| Evil::new(1), |_| -> () { throw(0) }, both)
}

fn branches_drop(threads: usize) -> String {
    let (first, second) = (Evil::new(2), Evil::new(1));
    fork(threads, move |_| drop(first), move |_| _ = second.defuse(), both)
}

const TASKS: usize = 4;

/// Every kind of scope, each with tasks that carry something, look at what the frame owns, some of them late, and do what `task` says.
fn scopes(
    threads: usize,
    cargo: impl Fn(usize) -> Evil,
    task: impl Fn(usize) + Sync,
    body: impl Fn() + Send + Sync,
) -> String {
    let crew = Crew::new(threads);
    let task = |owned: &Owned<'_>, n: usize| {
        (0..n % 2 * 20).for_each(|_| thread::yield_now());
        owned.look();
        task(n);
    };
    macro_rules! outcomes {
        ($($scope:ident by $spawn:ident,)*) => {
            [$(owning(|owned| {
                let cargo: Vec<_> = (0..TASKS).map(&cargo).collect();
                crew.pool().$scope(|s| {
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

/// What all of them are.
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

/// One payload goes on, and nobody sees the others.
fn all_throw(threads: usize) -> String {
    scopes(threads, harmless, |_| throw(2), || throw(2))
}

fn task_drops(threads: usize) -> String {
    scopes(threads, |n| Evil::new(if n == 1 { 2 } else { 0 }), |_| (), || ())
}

/// The unwinding drops the body's result.
fn body_returns(threads: usize) -> String {
    let crew = Crew::new(threads);
    owning(|owned| {
        let result = crew.pool().scope(|s| {
            s.spawn(|_| {
                owned.look();
                throw(1)
            });
            Evil::new(1)
        });
        format!("returns {}", result.defuse())
    })
}

/// On every thread, as tasks of a scope; what they share is dropped by the last of them.
fn scope_broadcasts_throw(threads: usize) -> String {
    let crew = Crew::new(threads);
    let what = owning(|owned| {
        let shared = Evil::new(3);
        crew.pool().in_place_scope_fifo(|s: &ScopeFifo<'_>| {
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
    let (crew, other) = (Crew::new(threads), Crew::new(1));
    owning(|owned| {
        let innermost = || -> String {
            owned.look();
            throw(2)
        };
        crew.pool().install(|| other.pool().install(|| join(|| crew.pool().install(innermost), || ()).0))
    })
}

fn broadcast_throws(threads: usize) -> String {
    let crew = Crew::new(threads);
    let what = owning(|owned| {
        let results = crew.pool().broadcast(|context| {
            owned.look();
            if context.index() + 1 == threads { throw(2) } else { harmless(0) }
        });
        results.len().to_string()
    });
    what.replace(&format!("{threads} looked"), "all looked")
}

fn broadcasts_throw(threads: usize) -> String {
    let crew = Crew::new(threads);
    let what = owning(|owned| {
        crew.pool().broadcast(|_| -> () {
            owned.look();
            throw(2)
        });
        "returns".to_owned()
    });
    what.replace(&format!("{threads} looked"), "all looked")
}

/// The unwinding drops the results.
fn broadcasts_return(threads: usize) -> String {
    let crew = Crew::new(threads);
    let broadcast = |thrower| {
        let result = |index| if index == thrower { throw(2) } else { Evil::new(1) };
        let results = crew.pool().broadcast(|context| result(context.index()));
        same(results.into_iter().map(|evil| format!("returns {}", evil.defuse())))
    };
    format!("{}, {}", outcome(|| broadcast(threads)), outcome(|| broadcast(0)))
}

/// Spawned tasks that throw, and one that carries something; and on every thread.
fn spawns_throw(threads: usize) -> String {
    let crew = Crew::new(threads);
    let pool = crew.pool();
    pool.spawn(|| throw(2));
    pool.spawn_fifo(|| throw(2));
    let carried = Evil::new(3);
    pool.spawn(move || drop(carried));
    let shared = Evil::new(3);
    pool.spawn_broadcast(move |_| {
        let _ = &shared;
        throw(2)
    });
    crew.end().replace(&vec!["Evil(2)"; 4 + threads].join(", "), "all handled")
}

/// What threads do first and last.
fn hooks_throw(threads: usize) -> String {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let crew = Crew::build(builder.start_handler(|_| throw(2)).exit_handler(|_| throw(2)));
    let sum = crew.pool().install(|| join(|| 1, || 2));
    format!("{sum:?}, {}", crew.end().replace(&vec!["Evil(2)"; 2 * threads].join(", "), "all handled"))
}

/// The process ends while a branch, another thread's if there is one, looks at what the frame owns.
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
        // Its threads leave after all tasks.
        drop(pool);
        thread::sleep(Duration::from_secs(60));
        "goes on".to_owned()
    })
}

fn handler_throws(threads: usize) -> String {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let crew = Crew::build_with(builder, Arc::default(), drop);
    crew.pool().spawn(|| throw(2));
    crew.end()
}

/// Whether the process of a program may end, by an abort, before the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Abort {
    Never,
    /// As a sequential run ends, or might.
    Perhaps,
    /// As the documentation says.
    Always,
}

/// A name, the program for so many threads, what it shows, and whether it may abort.
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

/// Every program alone and with another thread. Where nobody hears of it, without those that only the language aborts: it lists its
/// stack first, which takes longer than all the rest.
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

/// Not a test of its own.
#[test]
#[ignore = "run by the others"]
fn child() {
    let Some((_, first)) = children::asked() else { return };
    if children::is_heard() {
        // The stack again.
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
