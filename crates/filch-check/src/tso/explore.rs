//! The explorer: every execution of a small program, up to the order of steps that does not matter.
//!
//! **Method.** Stateless: a program is run again and again from the start, and what is kept between runs is only the
//! list of decisions on the way to where the next run differs. Dynamic partial-order reduction with source sets and
//! sleep sets after Abdulla, Aronis, Jonsson and Sagonas, *Optimal Dynamic Partial Order Reduction*, POPL 2014,
//! algorithm 1. A run is watched for races: two steps that depend on each other with nothing in between to order them. For each,
//! a run is planned in which the second comes first. A process whose next step has been tried in a state sleeps until a step
//! is taken that this step depends on. So of the executions that differ only in the order of independent steps, at least one
//! is run to its end, and at most one is.
//!
//! Store buffers are processes of their own, hence drains are reduced like all other steps.
//!
//! **Waiting.** A thread in a waiting loop is not runnable until something that it looked at has changed: another round that
//! reads the same would end in the same state. Where a race asks for a step of a thread that waits, all runnable processes are
//! tried instead.
//!
//! What must always hold: `frames[i]` is the state before step `i`; `done` and the chosen process are in `backtrack`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::clock::MAX_PROCESSES;
use super::history::History;
use super::machine::{Machine, Mode, Op, Processor};
use super::memory::{ThrownAway, with_machine};
use super::record::Recorder;
use super::schedule::{Actor, Schedule};
use crate::program::Program;
use crate::sites::{CallSite, Sites, Weakening};

/// How far an exploration goes.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The machine to run on.
    pub processor: Processor,
    /// Steps of one execution; one that needs more has failed.
    pub steps: usize,
    /// Executions after which the exploration stops.
    pub executions: u64,
    /// Asked now and then: whether to stop.
    pub stop: fn() -> bool,
    /// An operation to be weakened.
    pub weakening: Option<Weakening>,
    /// Whether to leave out executions that differ only in the order of independent steps.
    pub reduce: bool,
    /// Whether to count the executions that differ in who reads from whom.
    pub count_distinct: bool,
}

impl Bounds {
    /// Everything, on a processor with `buffer` entries for each thread.
    pub fn buffer(buffer: usize) -> Self {
        Self {
            processor: Processor { buffer, coalesces: false },
            steps: 2_000,
            executions: u64::MAX,
            stop: || false,
            weakening: None,
            reduce: true,
            count_distinct: false,
        }
    }

    /// With an entry beyond the buffer, which merges stores to one location.
    #[must_use]
    pub fn coalescing(mut self) -> Self {
        self.processor.coalesces = true;
        self
    }
}

/// What an exploration has come to.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Executions run to their end, no two alike.
    pub executions: u64,
    /// Executions that turned out to be like an earlier one.
    pub redundant: u64,
    /// Executions that differ in who reads from whom or in the order of writes to a location, if counted.
    pub distinct: Option<usize>,
    /// Steps of the longest one.
    pub longest: usize,
    /// How it ended.
    pub verdict: Verdict,
}

/// How an exploration ended.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Everything was explored and nothing was wrong.
    Passed,
    /// An execution went wrong.
    Failed(Failure),
    /// The bound on executions was reached, or somebody said stop; nothing was wrong so far.
    Stopped,
}

/// An execution that went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was wrong.
    pub message: String,
    /// The decisions that lead to it.
    pub schedule: Schedule,
}

/// The state before a step.
#[derive(Clone, Copy, Debug)]
struct Frame {
    chosen: u8,
    enabled: u16,
    /// Processes whose next step leads to nothing new.
    sleep: u16,
    /// Processes tried.
    done: u16,
    /// Processes to be tried.
    backtrack: u16,
}

/// Runs programs on one machine.
pub(crate) struct Runner {
    machine: *mut Machine,
    stacks: Vec<DefaultStack>,
}

type Thread = Coroutine<(), (), Option<String>, DefaultStack>;

/// How one execution ended.
pub(crate) enum End {
    Complete,
    Failed(String),
}

impl Runner {
    pub(crate) fn new(processor: Processor) -> Self {
        Self { machine: Box::into_raw(Box::new(Machine::new(processor))), stacks: Vec::new() }
    }

    pub(crate) fn machine(&mut self) -> &mut Machine {
        // SAFETY: allocated in `new` and freed in `drop`; `&mut self`, so no program is running.
        unsafe { &mut *self.machine }
    }

    /// Runs a program once; `next` decides which of the enabled processes takes each step, and is told of the step after
    /// it. `None` breaks the execution off.
    pub(crate) fn run(
        &mut self,
        program: &dyn Fn() -> Program,
        next: &mut dyn FnMut(&mut Machine, Phase) -> Option<usize>,
    ) -> End {
        let raw = self.machine;
        // SAFETY: the machine lives as long as `self`. Below, references to it are confined to single expressions that run no
        // code of the program's.
        unsafe { with_machine(raw, || self.run_on(raw, program, next)) }
    }

    fn run_on(
        &mut self,
        raw: *mut Machine,
        program: &dyn Fn() -> Program,
        next: &mut dyn FnMut(&mut Machine, Phase) -> Option<usize>,
    ) -> End {
        // SAFETY: see `run`.
        let machine = || unsafe { &mut *raw };
        machine().reset();
        let Program { threads, finally } = program();
        let count = threads.len();
        machine().set_threads(count);
        if let Some(recorder) = &mut machine().recorder {
            recorder.names = threads.iter().map(|(name, _)| name.clone()).collect();
        }
        let mut running: Vec<Thread> = Vec::with_capacity(count);
        for (index, (_, body)) in threads.into_iter().enumerate() {
            let stack = self.stacks.pop().unwrap_or_else(|| DefaultStack::new(1 << 18).expect("memory for a stack"));
            running.push(Coroutine::with_stack(stack, move |yielder, ()| {
                // SAFETY: as in `machine` above.
                unsafe { &mut *raw }.threads[index].yielder = yielder;
                catch_unwind(AssertUnwindSafe(body)).err().and_then(|payload| message(&*payload))
            }));
        }
        machine().mode = Mode::Threads;
        let resume = |running: &mut Vec<Thread>, index: usize| {
            machine().running = index;
            if let CoroutineResult::Return(panic) = running[index].resume(()) {
                machine().threads[index].op = Op::Done;
                if let Some(panic) = panic {
                    machine().violate(panic);
                }
            }
        };
        (0..count).for_each(|index| resume(&mut running, index));
        let mut end = None;
        while end.is_none() {
            // Whatever can go on without a step does.
            let mut settled = machine().violation.is_some();
            while !settled {
                settled = true;
                for index in 0..count {
                    if machine().unblock(index) {
                        resume(&mut running, index);
                        settled = machine().violation.is_some();
                    }
                }
            }
            if let Some(violation) = machine().violation.take() {
                end = Some(End::Failed(violation.0));
            } else if machine().enabled() != 0 {
                match next(machine(), Phase::Choose) {
                    Some(process) => {
                        machine().step(process);
                        next(machine(), Phase::Taken);
                    }
                    None => end = Some(End::Complete),
                }
            } else if machine().threads.iter().all(|thread| matches!(thread.op, Op::Done)) {
                machine().end();
                let verdict = catch_unwind(AssertUnwindSafe(finally)).err().and_then(|payload| message(&*payload));
                self.stacks.extend(running.into_iter().map(Coroutine::into_stack));
                return verdict.map_or(End::Complete, End::Failed);
            } else {
                end = Some(End::Failed(machine().stuck()));
            }
        }
        // Thrown away: each thread unwinds, alone.
        machine().mode = Mode::Alone;
        for (index, mut thread) in running.into_iter().enumerate() {
            machine().running = index;
            while !thread.done() {
                thread.resume(());
            }
            self.stacks.push(thread.into_stack());
        }
        drop(catch_unwind(AssertUnwindSafe(|| drop(finally))));
        end.expect("the loop ends with a value")
    }

    /// The schedule of the last run.
    pub(crate) fn schedule(&mut self) -> Schedule {
        let machine = self.machine();
        let steps = machine.steps.iter().map(|step| {
            let (thread, role) = machine.role(step.process);
            Actor { role, thread }
        });
        let steps = steps.collect();
        let mut choices: Vec<usize> =
            machine.choices[..machine.choices_made].iter().map(|choice| choice.value).collect();
        while choices.last() == Some(&0) {
            choices.pop();
        }
        Schedule { steps, choices }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `new`; no program is running.
        drop(unsafe { Box::from_raw(self.machine) });
    }
}

/// What the explorer is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// For the process that takes the next step.
    Choose,
    /// To look at the step just taken.
    Taken,
}

fn message(payload: &(dyn std::any::Any + Send)) -> Option<String> {
    if payload.is::<ThrownAway>() {
        return None;
    }
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
    Some(text.unwrap_or_else(|| "a panic".to_owned()))
}

thread_local! {
    static EXPLORING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A failing execution is a result, reported with its history; its panic message on standard error would be noise.
fn be_quiet_about_expected_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !EXPLORING.get() {
                usual(info);
            }
        }));
    });
}

/// Says that panics on this thread are results, as long as it lives.
pub(crate) struct Quiet(bool);

impl Quiet {
    pub(crate) fn new() -> Self {
        be_quiet_about_expected_panics();
        Self(EXPLORING.replace(true))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        EXPLORING.set(self.0);
    }
}

/// Explores all executions of a program, until one fails. `progress` is called now and then with the number so far.
pub fn explore(program: &dyn Fn() -> Program, bounds: &Bounds, progress: &mut dyn FnMut(u64)) -> Explored {
    explore_sites(program, bounds, progress, Sites::default()).0
}

/// As [`explore`], and the call sites that were passed.
pub(crate) fn survey(program: &dyn Fn() -> Program, bounds: &Bounds) -> (Explored, Vec<CallSite>) {
    explore_sites(program, bounds, &mut |_| (), Sites::survey())
}

fn explore_sites(
    program: &dyn Fn() -> Program,
    bounds: &Bounds,
    progress: &mut dyn FnMut(u64),
    sites: Sites,
) -> (Explored, Vec<CallSite>) {
    let _quiet = Quiet::new();
    let mut runner = Runner::new(bounds.processor);
    runner.machine().sites = bounds.weakening.clone().map_or(sites, Sites::weaken);
    let mut search = Search { reduce: bounds.reduce, ..Search::default() };
    let mut result = Explored { executions: 0, redundant: 0, distinct: None, longest: 0, verdict: Verdict::Passed };
    let mut distinct = bounds.count_distinct.then(std::collections::HashSet::new);
    loop {
        search.redundant = false;
        let limit = bounds.steps;
        let mut too_long = false;
        let end = runner.run(program, &mut |machine, phase| match phase {
            Phase::Choose if machine.steps.len() >= limit => {
                too_long = true;
                None
            }
            Phase::Choose => Some(search.choose(machine)),
            Phase::Taken => {
                search.taken(machine);
                None
            }
        });
        let machine = runner.machine();
        if machine.barrier_seen && !machine.stores_are_steps {
            // Start again: until now, stores were taken for steps that nobody could tell apart.
            machine.stores_are_steps = true;
            machine.choices.clear();
            search = Search { reduce: bounds.reduce, ..Search::default() };
            continue;
        }
        result.longest = result.longest.max(machine.steps.len());
        let end =
            if too_long { End::Failed(format!("no end after {limit} steps: a loop without progress?")) } else { end };
        if let End::Failed(message) = end {
            result.executions += 1;
            result.verdict = Verdict::Failed(Failure { message, schedule: runner.schedule() });
            break;
        }
        if search.redundant {
            result.redundant += 1;
        } else {
            result.executions += 1;
            if let Some(distinct) = &mut distinct {
                distinct.insert(machine.fingerprint());
            }
        }
        let all = result.executions + result.redundant;
        if all.is_multiple_of(4096) {
            progress(all);
        }
        if !search.backtrack(machine) {
            break;
        }
        if all >= bounds.executions || all.is_multiple_of(64) && (bounds.stop)() {
            result.verdict = Verdict::Stopped;
            break;
        }
    }
    result.distinct = distinct.map(|distinct| distinct.len());
    (result, runner.machine().sites.found())
}

/// The search: the decisions on the way to the present execution, and what is left to try at each.
#[derive(Debug, Default)]
struct Search {
    reduce: bool,
    frames: Vec<Frame>,
    /// Steps from here on have not been taken after these decisions before.
    fresh: usize,
    /// What sleeps after the last frame.
    sleep: u16,
    /// The rest of this execution is like one that was run before.
    redundant: bool,
}

impl Search {
    fn choose(&mut self, machine: &mut Machine) -> usize {
        let step = machine.steps.len();
        let enabled = machine.enabled();
        if self.redundant {
            return enabled.trailing_zeros() as usize;
        }
        if step == self.frames.len() {
            let awake = enabled & !self.sleep;
            if awake == 0 {
                self.redundant = true;
                return enabled.trailing_zeros() as usize;
            }
            // The thread that ran last goes on, if it can: fewer switches make a history easier to read.
            let last = machine.steps.last().map_or(0, |step| step.process);
            let chosen = if awake >> last & 1 == 1 { last } else { awake.trailing_zeros() as usize };
            self.frames.push(Frame {
                chosen: chosen as u8,
                enabled,
                sleep: self.sleep,
                done: 0,
                backtrack: if self.reduce { 1 << chosen } else { enabled },
            });
        }
        let frame = self.frames[step];
        let chosen = frame.chosen as usize;
        debug_assert!(machine.is_enabled(chosen), "a program must be deterministic but for its memory");
        if step + 1 == self.frames.len() {
            self.sleep = 0;
            let sleeping = (frame.sleep | frame.done) & !(1 << chosen);
            if sleeping != 0 && self.reduce {
                let step = machine.footprint(chosen);
                for process in (0..MAX_PROCESSES).filter(|&process| sleeping >> process & 1 == 1) {
                    if !machine.footprint(process).depends_on(step) {
                        self.sleep |= 1 << process;
                    }
                }
            }
        }
        chosen
    }

    /// Plans the reversal of the races of the step just taken.
    fn taken(&mut self, machine: &mut Machine) {
        if self.redundant || !self.reduce || machine.steps.len() <= self.fresh {
            return;
        }
        for index in 0..machine.races.len() {
            self.reverse(machine, machine.races[index] as usize);
        }
    }

    /// Plans an execution in which the newest step comes before `earlier`, with which it races: from the state before
    /// `earlier`, first everything that does not depend on it.
    fn reverse(&mut self, machine: &Machine, earlier: usize) {
        let event = &machine.steps[earlier];
        let newest = machine.steps.len() - 1;
        let mut first = [0u16; MAX_PROCESSES];
        let mut initials = 0u16;
        for (index, step) in machine.steps.iter().enumerate().skip(earlier + 1) {
            if index != newest && step.clock.get(event.process) >= event.index {
                continue;
            }
            if first[step.process] == 0 {
                let starts = (0..MAX_PROCESSES).all(|other| first[other] == 0 || step.clock.get(other) < first[other]);
                if starts {
                    initials |= 1 << step.process;
                }
                first[step.process] = step.index;
            }
        }
        let frame = &mut self.frames[earlier];
        if initials & (frame.backtrack | frame.sleep) != 0 {
            return;
        }
        let able = initials & frame.enabled;
        let process = machine.steps[newest].process;
        frame.backtrack |= if able == 0 {
            frame.enabled
        } else if able >> process & 1 == 1 {
            1 << process
        } else {
            1 << able.trailing_zeros()
        };
    }

    /// Turns to the next execution; `false` if there is none.
    fn backtrack(&mut self, machine: &mut Machine) -> bool {
        let choices = &mut machine.choices;
        loop {
            let decided = self.frames.len();
            match (choices.last_mut(), self.frames.last_mut()) {
                (Some(choice), _) if choice.step >= decided => {
                    if choice.value + 1 < choice.count {
                        choice.value += 1;
                        self.fresh = decided;
                        return true;
                    }
                    choices.pop();
                }
                (_, Some(frame)) => {
                    frame.done |= 1 << frame.chosen;
                    let left = frame.backtrack & !frame.done & !frame.sleep;
                    if left != 0 {
                        frame.chosen = left.trailing_zeros() as u8;
                        self.fresh = decided - 1;
                        return true;
                    }
                    self.frames.pop();
                }
                (_, None) => return false,
            }
        }
    }
}

/// Runs one execution again and tells its history. After the schedule's end, whoever can run does.
///
/// # Errors
/// A step of the schedule that is impossible in this program.
pub fn replay(
    program: &dyn Fn() -> Program,
    processor: Processor,
    schedule: &Schedule,
    weakening: Option<Weakening>,
) -> Result<History, String> {
    let _quiet = Quiet::new();
    let mut runner = Runner::new(processor);
    runner.machine().sites = weakening.map_or_else(Sites::default, Sites::weaken);
    runner.machine().recorder = Some(Recorder::default());
    let mut wrong = None;
    let run = |runner: &mut Runner, wrong: &mut Option<String>| {
        runner.machine().preset_choices(&schedule.choices);
        runner.run(program, &mut |machine, phase| {
            if phase == Phase::Taken {
                return None;
            }
            let step = machine.steps.len();
            let Some(actor) = schedule.steps.get(step) else {
                return Some(machine.enabled().trailing_zeros() as usize);
            };
            let process = actor.role * machine.threads.len() + actor.thread;
            let able = actor.thread < machine.threads.len() && machine.is_enabled(process);
            if !able {
                *wrong = Some(format!("step {} of the schedule is impossible in this program", step + 1));
            }
            able.then_some(process)
        })
    };
    let mut end = run(&mut runner, &mut wrong);
    // A schedule of a program with a barrier has steps for its stores, and may not get to the barrier without them.
    let without = wrong.take();
    if (runner.machine().barrier_seen || without.is_some()) && !runner.machine().stores_are_steps {
        runner.machine().stores_are_steps = true;
        runner.machine().recorder = Some(Recorder::default());
        end = run(&mut runner, &mut wrong);
    }
    if let Some(wrong) = if runner.machine().barrier_seen { wrong } else { without } {
        return Err(wrong);
    }
    let failure = match end {
        End::Complete => None,
        End::Failed(message) => Some(message),
    };
    let machine = runner.machine();
    let recorder = machine.recorder.take().expect("set above");
    Ok(History::new(recorder, machine, failure))
}
