//! The explorer: runs every execution of a small program, up to the order of independent steps.
//!
//! Invariant: an execution that a bound stops does not count as passed.

use super::history::History;
use super::machine::Processor;
use super::record::Recorder;
use super::runner::{End, Phase, Quiet, Runner};
use super::schedule::Schedule;
use super::search::Search;
use crate::harm::{Harm, Wrong};
use crate::program::Program;
use crate::sites::{CallSite, Sites, Slip, Weakening};

/// The bounds of an exploration.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The machine to run on.
    pub processor: Processor,
    /// The maximum number of steps in one execution; an execution that needs more has failed.
    pub steps: usize,
    /// The number of executions after which the exploration stops.
    pub executions: u64,
    /// Asked from time to time whether to stop.
    pub stop: fn() -> bool,
    /// An operation to be weakened.
    pub weakening: Option<Weakening>,
    /// A mistake to be made.
    pub slip: Option<Slip>,
    /// Whether to leave out executions that differ only in the order of independent steps.
    pub reduce: bool,
    /// Whether to count the executions that differ in which write a read sees.
    pub count_distinct: bool,
}

impl Bounds {
    /// Returns bounds that let the exploration complete, on a processor with `buffer` entries for each thread.
    pub fn buffer(buffer: usize) -> Self {
        Self {
            processor: Processor { buffer, coalesces: false },
            steps: 2_000,
            executions: u64::MAX,
            stop: || false,
            weakening: None,
            slip: None,
            reduce: true,
            count_distinct: false,
        }
    }

    /// Adds an entry beyond the buffer that merges stores to one location.
    #[must_use]
    pub fn coalescing(mut self) -> Self {
        self.processor.coalesces = true;
        self
    }
}

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The number of completed executions, all different.
    pub executions: u64,
    /// The number of executions that repeated an earlier one, or had a wrong guess.
    pub redundant: u64,
    /// The number of executions that differ in which write a read sees, or in the order of writes to a location, if
    /// counted.
    pub distinct: Option<usize>,
    /// The number of steps of the longest execution.
    pub longest: usize,
    /// How it ended.
    pub verdict: Verdict,
}

/// How an exploration ended.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every execution passed.
    Passed,
    /// An execution failed.
    Failed(Failure),
    /// The bound on executions was reached, or the caller stopped it; every execution so far passed.
    Stopped,
}

/// An execution that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The harm.
    pub wrong: Wrong,
    /// The schedule that leads to it.
    pub schedule: Schedule,
}

/// Explores all executions of a program until one fails. `progress` is called from time to time with the number so far.
pub fn explore(program: &dyn Fn() -> Program, bounds: &Bounds, progress: &mut dyn FnMut(u64)) -> Explored {
    explore_sites(program, bounds, progress, Sites::default()).0
}

/// As [`explore`]; also returns the call sites that were reached.
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
    runner.machine().sites = bounds.weakening.clone().map_or(sites, Sites::weaken).slip(bounds.slip);
    let mut search = Search::new(bounds.reduce);
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
            // Start again: until now, stores were treated as steps that no other thread can distinguish.
            machine.stores_are_steps = true;
            machine.choices.clear();
            search = Search::new(bounds.reduce);
            continue;
        }
        result.longest = result.longest.max(machine.steps.len());
        let end = if too_long && !machine.is_in_doubt() {
            End::Failed(Wrong::new(Harm::Hang, format!("no end after {limit} steps: a loop without progress?")))
        } else {
            end
        };
        if let End::Failed(wrong) = end {
            result.executions += 1;
            result.verdict = Verdict::Failed(Failure { wrong, schedule: runner.schedule() });
            break;
        }
        if search.redundant || matches!(end, End::Void) {
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

/// Replays one execution, with a mistake if there is one, and returns its history. After the schedule's end, any
/// enabled process runs.
///
/// # Errors
/// If a step of the schedule is impossible in this program.
pub fn replay(
    program: &dyn Fn() -> Program,
    processor: Processor,
    schedule: &Schedule,
    slip: Option<Slip>,
) -> Result<History, String> {
    let _quiet = Quiet::new();
    let mut runner = Runner::new(processor);
    runner.machine().sites = Sites::default().slip(slip);
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
                return machine.first_enabled();
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
    // The schedule of a program with a barrier has steps for its stores, and may not reach the barrier without them.
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
        End::Complete | End::Void => None,
        End::Failed(wrong) => Some(wrong),
    };
    let machine = runner.machine();
    let recorder = machine.recorder.take().expect("set above");
    Ok(History::new(recorder, machine, failure))
}
