//! An exploration: runs a program under loom's model, on a system thread of its own.
//!
//! Invariant: an abandoned run leaks its suspended threads. Nothing unwinds them: their destructors would find no model
//! to run in.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use super::context::{ALONE, CONTEXT, Context, context};
use super::wait::Turns;
use crate::harm::Wrong;
use crate::outcome::Outcome;
use crate::sites::{CallSite, Sites, Weakening};
use crate::tso::Quiet;
use crate::{Make, Program, Setting};

/// The maximum number of threads in a program: loom's own limit, minus the thread that makes the program.
pub const MAX_THREADS: usize = loom::MAX_THREADS - 1;

/// The bounds of an exploration.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The maximum number of preemptions in one execution; `None`: no limit.
    pub preemptions: Option<u8>,
    /// The number of executions after which the exploration stops.
    pub executions: u64,
    /// The time after which it stops.
    pub time: Option<Duration>,
    /// Asked before each execution whether to stop.
    pub stop: fn() -> bool,
    /// The maximum number of decisions in one execution; an execution that needs more has failed.
    pub branches: usize,
    /// An operation to be weakened.
    pub weakening: Option<Weakening>,
}

impl Default for Bounds {
    /// Returns bounds that let the exploration complete.
    fn default() -> Self {
        Self { preemptions: None, executions: u64::MAX, time: None, stop: || false, branches: 1_000, weakening: None }
    }
}

/// The result of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The number of executions started.
    pub executions: u64,
    /// How it ended.
    pub verdict: Verdict,
}

/// How an exploration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything within the bound on preemptions was explored, and every execution passed.
    Passed,
    /// An execution failed: how.
    Failed(String),
    /// A bound was reached: which. Every execution so far passed.
    Stopped(&'static str),
}

/// Explores the executions of a scenario's program until one fails. `progress` is called from time to time with the
/// number so far.
///
/// ```
/// use std::sync::Arc;
///
/// use filch_check::c11::{Bounds, Loom, Verdict, explore};
/// use filch_check::{Make, Program, Setting};
/// use filch_memory::{Atomic, Cell, Memory, Ordering};
///
/// // A message, and the flag that says so.
/// let passing = |order: Ordering| -> Make {
///     Arc::new(move |_| {
///         let shared = Arc::new((
///             <<Loom as Memory>::Cell<u32> as Cell<u32>>::new(0),
///             <<Loom as Memory>::AtomicBool as Atomic<bool>>::new(false),
///         ));
///         let other = Arc::clone(&shared);
///         let send: Box<dyn FnOnce()> = Box::new(move || {
///             // SAFETY: Loom panics if another access might overlap.
///             other.0.with_mut(|message| unsafe { *message = 5 });
///             other.1.store(true, order);
///         });
///         let receive: Box<dyn FnOnce()> = Box::new(move || {
///             if shared.1.load(Ordering::Acquire) {
///                 // SAFETY: as above.
///                 assert_eq!(shared.0.with(|message| unsafe { *message }), 5);
///             }
///         });
///         Program { threads: vec![("a".into(), send), ("b".into(), receive)], finally: Box::new(|| ()) }
///     })
/// };
/// let verdict = |order| explore(&passing(order), Setting::default(), &Bounds::default(), &mut |_| ()).verdict;
/// assert_eq!(verdict(Ordering::Release), Verdict::Passed);
/// assert!(matches!(verdict(Ordering::Relaxed), Verdict::Failed(_)));
/// ```
pub fn explore(make: &Make, setting: Setting, bounds: &Bounds, progress: &mut dyn FnMut(u64)) -> Explored {
    explore_sites(make, setting, bounds, progress, Sites::default()).0
}

/// As [`explore`]; also returns the call sites that were reached.
pub(crate) fn survey(make: &Make, setting: Setting, bounds: &Bounds) -> (Explored, Vec<CallSite>) {
    explore_sites(make, setting, bounds, &mut |_| (), Sites::survey())
}

fn explore_sites(
    make: &Make,
    setting: Setting,
    bounds: &Bounds,
    progress: &mut dyn FnMut(u64),
    sites: Sites,
) -> (Explored, Vec<CallSite>) {
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let exploration = scope.spawn(move || run(make, setting, bounds, sites, sender));
        receiver.iter().for_each(progress);
        exploration.join().expect("an exploration catches its panics")
    })
}

/// The payload of a panic that ends an exploration early.
struct Stop(&'static str);

fn run(
    make: &Make,
    setting: Setting,
    bounds: &Bounds,
    sites: Sites,
    progress: Sender<u64>,
) -> (Explored, Vec<CallSite>) {
    let _quiet = Quiet::new();
    let sites = bounds.weakening.clone().map_or(sites, Sites::weaken);
    let deadline = bounds.time.map(|time| Instant::now() + time);
    CONTEXT.set(Some(Context {
        sites,
        executions: 0,
        limit: bounds.executions,
        deadline,
        stop: bounds.stop,
        progress,
        sleepers: Vec::new(),
        waits: Vec::new(),
        turns: None,
        looks_alone: 0,
        threads: Vec::new(),
        outcome: Outcome::default(),
        values: Vec::new(),
        came_to: 0,
    }));
    let mut model = loom::model::Builder::new();
    // Set every bound, since the environment presets some.
    model.max_threads = loom::MAX_THREADS;
    model.max_branches = bounds.branches;
    model.max_permutations = None;
    model.max_duration = None;
    model.preemption_bound = bounds.preemptions.map(usize::from);
    model.checkpoint_file = None;
    model.checkpoint_interval = usize::MAX;
    model.expect_explicit_explore = false;
    model.location = true;
    model.log = false;
    let make = Arc::clone(make);
    let end = catch_unwind(AssertUnwindSafe(|| model.check(move || execute(&make, setting))));
    ALONE.set(false);
    let context = CONTEXT.take().expect("put there above");
    let verdict = end.map_or_else(|payload| verdict(&*payload, bounds), |()| Verdict::Passed);
    (Explored { executions: context.executions, verdict }, context.sites.found())
}

fn verdict(payload: &(dyn Any + Send), bounds: &Bounds) -> Verdict {
    if let Some(Stop(why)) = payload.downcast_ref() {
        return Verdict::Stopped(why);
    }
    let text = Wrong::told_by(payload).message;
    Verdict::Failed(if text.starts_with("deadlock;") {
        "all threads that have not ended sleep, and nobody is left to wake them".into()
    } else if text.starts_with("Model exceeded") {
        format!("no end after {} decisions: a loop without progress?", bounds.branches)
    } else {
        text.trim().into()
    })
}

/// Runs one execution.
fn execute(make: &Make, setting: Setting) {
    ALONE.set(false);
    let stop = context(|context| {
        context.sleepers.clear();
        context.waits.clear();
        context.looks_alone = 0;
        context.threads.clear();
        context.outcome.reset();
        context.values.clear();
        if context.executions >= context.limit {
            return Some("as many executions as were asked for");
        }
        if context.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some("the time is up");
        }
        if (context.stop)() {
            return Some("it was asked to");
        }
        context.executions += 1;
        if context.executions.is_multiple_of(1024) {
            // The receiver may be gone.
            let _ = context.progress.send(context.executions);
        }
        None
    });
    if let Some(why) = stop {
        panic_any(Stop(why));
    }
    let turns = Some([(); 2].map(|()| Rc::new(Turns::new())));
    context(|context| context.turns = turns);
    let Program { threads, finally } = make(setting);
    let count = threads.len();
    assert!(count <= MAX_THREADS, "a program has at most {MAX_THREADS} threads under loom");
    let left = Rc::new(Cell::new(count));
    let last = Rc::new(Cell::new(Some(finally)));
    let end = move || {
        ALONE.set(true);
        context(|context| {
            let Context { outcome, values, .. } = context;
            let left = values.iter().map(|&(value, is_address)| if is_address { outcome.name(value) } else { value });
            context.came_to = outcome.number(left);
        });
        last.take().expect("there is one last thread")();
    };
    if count == 0 {
        return end();
    }
    for (index, (_, body)) in threads.into_iter().enumerate() {
        let (left, end) = (Rc::clone(&left), end.clone());
        // Not joined: a join would be one more step, and loom would try every other step before it.
        loom::thread::spawn(move || {
            let me = loom::thread::current().id();
            context(|context| context.threads.push((index, me)));
            body();
            left.set(left.get() - 1);
            if left.get() == 0 {
                end();
            }
        });
    }
}
