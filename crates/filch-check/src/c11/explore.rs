//! An exploration: loom's model around a program, with a thread of the system to itself.
//!
//! What must always hold: a run that is given up leaves its suspended threads behind, unwound by nobody: their
//! destructors would find no model to run in.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use filch_memory::Ordering;
use loom::sync::atomic::AtomicBool;

use crate::outcome::{self, Outcome};
use crate::sites::{CallSite, Kind, Sites, Weakening};
use crate::tso::{LOOKS_ALONE, Quiet};
use crate::{Make, Program, Setting};

/// Threads of a program, at most: loom's own limit, less the thread that makes the program.
pub const MAX_THREADS: usize = loom::MAX_THREADS - 1;

/// How far an exploration goes.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// How often a thread that could go on is interrupted in one execution; `None`: as often as it takes.
    pub preemptions: Option<u8>,
    /// Executions after which the exploration stops.
    pub executions: u64,
    /// Time after which it stops.
    pub time: Option<Duration>,
    /// Asked before each execution: whether to stop.
    pub stop: fn() -> bool,
    /// Decisions of one execution; one that needs more has failed.
    pub branches: usize,
    /// An operation to be weakened.
    pub weakening: Option<Weakening>,
}

impl Default for Bounds {
    /// Everything.
    fn default() -> Self {
        Self { preemptions: None, executions: u64::MAX, time: None, stop: || false, branches: 1_000, weakening: None }
    }
}

/// What an exploration has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Executions begun.
    pub executions: u64,
    /// How it ended.
    pub verdict: Verdict,
}

/// How an exploration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything within the bound on preemptions was explored and nothing was wrong.
    Passed,
    /// An execution went wrong, and how.
    Failed(String),
    /// A bound was reached, and which; nothing was wrong so far.
    Stopped(&'static str),
}

/// Explores the executions of a scenario's program, until one fails. `progress` is called now and then with the number
/// so far.
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

/// As [`explore`], and the call sites that were passed.
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

/// What the operations of the running execution have to know.
struct Context {
    sites: Sites,
    executions: u64,
    limit: u64,
    deadline: Option<Instant>,
    stop: fn() -> bool,
    progress: Sender<u64>,
    /// Who sleeps where, in the order of their coming.
    sleepers: Vec<Sleeper>,
    /// Who waits for another's store, and how often it has looked.
    waits: Vec<(loom::thread::ThreadId, u32)>,
    /// What waits and wake-ups have in common, and what fences have: see `take_turn`.
    turns: Option<[Rc<Turns>; 2]>,
    looks_alone: usize,
    /// The program's threads that have begun, by number.
    threads: Vec<(usize, loom::thread::ThreadId)>,
    outcome: Outcome,
    /// The newest value of each variable, and whether it may be an address.
    values: Vec<(u64, bool)>,
    /// The outcome's number, once the threads have ended.
    came_to: u64,
}

impl Context {
    /// Who runs, for the outcome: a thread, or whoever makes the program or ends it.
    fn reader(&self) -> usize {
        if ALONE.get() || self.threads.is_empty() {
            return outcome::ALONE;
        }
        let me = loom::thread::current().id();
        self.threads.iter().find(|&&(_, thread)| thread == me).map_or(outcome::ALONE, |&(index, _)| index + 1)
    }

    fn find_sleeper(&self, thread: loom::thread::ThreadId) -> usize {
        self.sleepers.iter().position(|sleeper| sleeper.thread.id() == thread).expect("it lay down")
    }
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
    /// Whether the program's threads have ended and one of them runs `finally`.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

fn context<R>(work: impl FnOnce(&mut Context) -> R) -> R {
    CONTEXT
        .with_borrow_mut(|context| work(context.as_mut().expect("this memory exists only while a program is explored")))
}

/// Whether an operation must not reach loom.
#[inline]
pub(super) fn is_aside() -> bool {
    ALONE.get() || std::thread::panicking()
}

/// The ordering that an operation is to use: its own, but for surveys and weakenings.
#[inline]
pub(super) fn order_at(site: &'static Location<'static>, kind: Kind, order: Ordering) -> Option<Ordering> {
    context(|context| if context.sites.is_idle() { Some(order) } else { context.sites.visit(site, kind, order) })
}

/// A new variable, for the outcome: its number.
pub(super) fn number_variable(value: u64, is_address: bool) -> usize {
    let number = context(|context| {
        context.values.push((value, is_address));
        context.values.len() - 1
    });
    has_written(number, value);
    number
}

/// The running thread has written this to a variable.
#[inline]
pub(super) fn has_written(variable: usize, value: u64) {
    context(|context| {
        let is_address = context.values[variable].1;
        context.values[variable].0 = value;
        if is_address {
            let reader = context.reader();
            context.outcome.writes_address(reader, value);
        }
    });
}

/// The running thread has read this from a variable.
#[inline]
pub(super) fn has_read(variable: usize, value: u64, succeeds: bool) {
    context(|context| {
        let is_address = context.values[variable].1;
        let reader = context.reader();
        let value = if is_address { context.outcome.name(value) } else { value };
        context.outcome.reads(reader, value, succeeds);
    });
}

/// What the program's threads, which have ended, have come to.
pub(super) fn outcome() -> u64 {
    context(|context| context.came_to)
}

/// A thread that sleeps, or is about to.
struct Sleeper {
    place: usize,
    thread: loom::thread::Thread,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// It has yet to make sure that it may sleep.
    Lying,
    Asleep,
    /// Woken before it slept, perhaps with all others.
    Called {
        all: bool,
    },
}

/// Enters the running thread among those that sleep at a place, before it has made sure that it may.
pub(super) fn lie_down(place: usize) {
    take_turn(Turn::Sleep);
    let thread = loom::thread::current();
    context(|context| context.sleepers.push(Sleeper { place, thread, state: State::Lying }));
}

/// Sleeps, unless somebody has woken the running thread since it lay down.
pub(super) fn fall_asleep() {
    let me = loom::thread::current().id();
    let sleeps = context(|context| {
        let index = context.find_sleeper(me);
        let lying = context.sleepers[index].state == State::Lying;
        if lying {
            context.sleepers[index].state = State::Asleep;
        } else {
            context.sleepers.remove(index);
        }
        lying
    });
    if sleeps {
        loom::thread::park();
    }
}

/// Takes the running thread from the sleepers: it may not sleep. A wake-up that it has had is another's.
pub(super) fn get_up() {
    let me = loom::thread::current().id();
    let Sleeper { place, state, .. } = context(|context| {
        let index = context.find_sleeper(me);
        context.sleepers.remove(index)
    });
    if state == (State::Called { all: false }) {
        wake(place, false);
    }
}

/// Wakes one or all of the threads that sleep at a place.
pub(super) fn call(place: usize, all: bool) {
    take_turn(Turn::Sleep);
    wake(place, all);
}

fn wake(place: usize, all: bool) {
    let mut woken = Vec::new();
    let mut more = true;
    context(|context| {
        context.sleepers.retain_mut(|sleeper| {
            if sleeper.place != place || !more || matches!(sleeper.state, State::Called { .. }) {
                return true;
            }
            more = all;
            let asleep = sleeper.state == State::Asleep;
            if asleep {
                woken.push(sleeper.thread.clone());
            } else {
                sleeper.state = State::Called { all };
            }
            !asleep
        });
    });
    woken.iter().for_each(loom::thread::Thread::unpark);
}

/// Looks of one wait after which an execution is followed in one order only. One that looks in vain more often is like
/// one that looks less often; and two threads that wait keep each other going, as long as anybody wants to know more.
const LOOKS: u32 = 3;

/// Lets the others go on, since the running thread waits for them.
pub(super) fn wait_for_others() {
    let me = loom::thread::current().id();
    let is_long = context(|context| {
        let index = context.waits.iter().position(|&(thread, _)| thread == me).unwrap_or_else(|| {
            context.waits.push((me, 0));
            context.waits.len() - 1
        });
        context.waits[index].1 += 1;
        context.waits[index].1 > LOOKS
    });
    if is_long {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// A look in a waiting loop of the last thread, or of one that unwinds.
pub(super) fn look_alone() {
    context(|context| context.looks_alone += 1);
    let is_over = context(|context| context.looks_alone >= LOOKS_ALONE);
    assert!(!is_over || std::thread::panicking(), "the only thread waits for ever");
}

/// The running thread has written something: its wait is over.
#[inline]
pub(super) fn end_wait() {
    context(|context| {
        if !context.waits.is_empty() {
            let me = loom::thread::current().id();
            context.waits.retain(|&(thread, _)| thread != me);
        }
    });
}

/// What a turn is for.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    Sleep,
    Fence,
}

/// The running thread's turn at what has no order of its own.
pub(super) fn take_turn(turn: Turn) {
    let turns = context(|context| {
        let turns = context.turns.as_ref().expect("made at the start of the execution");
        Rc::clone(&turns[turn as usize])
    });
    turns.take();
}

/// Steps that loom tries in every order with one another, and that make nothing visible.
#[derive(Debug)]
pub(super) struct Turns(AtomicBool);

impl Turns {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(super) fn take(&self) {
        // An update that fails: loom takes it for one that might write.
        let failed = self.0.compare_exchange(true, true, Ordering::Relaxed, Ordering::Relaxed);
        debug_assert!(failed.is_err());
    }
}

/// The payload of a panic that ends an exploration before its time.
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
    // All of them, since the environment presets some.
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
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Verdict::Failed(if text.starts_with("deadlock;") {
        "all threads that have not ended sleep, and nobody is left to wake them".into()
    } else if text.starts_with("Model exceeded") {
        format!("no end after {} decisions: a loop without progress?", bounds.branches)
    } else {
        text.trim().into()
    })
}

/// One execution.
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
            // Nobody need listen.
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
        // Not joined: a join would be one more step, which every other step has to be tried before.
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
