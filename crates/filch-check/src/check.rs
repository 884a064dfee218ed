//! The checks: a scenario, a machine, the expected verdict, and the result.

use std::time::{Duration, Instant};

use crate::tso::{self, History, Schedule};
use crate::{Dependence, Scenario, Setting, c11};

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Bounded TSO.
    Tso {
        /// The number of entries in each store buffer.
        buffer: usize,
        /// Whether an entry beyond the buffer merges stores to one location.
        coalesces: bool,
    },
    /// C11, as loom implements it.
    C11,
}

impl Room {
    /// Returns the least correct δ: half the stores that can be pending, rounded up; `None` where there is no bound.
    pub fn least_delta(self) -> Option<usize> {
        match self {
            Self::Tso { buffer: usize::MAX, .. } | Self::C11 => None,
            Self::Tso { buffer, coalesces } => Some((buffer + usize::from(coalesces)).div_ceil(2)),
        }
    }
}

/// A scenario, a machine, and the expected verdict.
#[derive(Clone, Debug)]
pub struct Check {
    /// The scenario.
    pub scenario: Scenario,
    /// The machine.
    pub room: Room,
    /// δ, if the scenario depends on it.
    pub delta: Option<usize>,
    /// Whether every execution must pass; otherwise one must fail.
    pub should_hold: bool,
}

/// A selection of checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The queues and protocols; empty: all.
    pub subjects: Vec<String>,
    /// The scenario of this name alone.
    pub scenario: Option<String>,
    /// Whether to include the slow ones.
    pub all: bool,
    /// Whether to check on bounded TSO.
    pub tso: bool,
    /// Whether to check on C11.
    pub c11: bool,
    /// The sizes of the buffers; empty: the usual ones.
    pub buffers: Vec<usize>,
    /// This δ instead of the correct one. The question is whether it suffices, so all should hold.
    pub delta: Option<usize>,
}

/// Returns the selected checks.
pub fn plan(scenarios: &[Scenario], wanted: &Wanted) -> Vec<Check> {
    let mut checks = Vec::new();
    let named = |scenario: &&Scenario| {
        (wanted.subjects.is_empty() || wanted.subjects.iter().any(|subject| subject == scenario.subject))
            && wanted.scenario.as_ref().is_none_or(|name| *name == scenario.name)
    };
    // Naming a scenario selects it whatever its cost.
    let all = wanted.all || wanted.scenario.is_some();
    for scenario in scenarios.iter().filter(named) {
        let mut add = |room, delta, should_hold| {
            checks.push(Check { scenario: scenario.clone(), room, delta, should_hold });
        };
        if wanted.tso && (all || scenario.is_quick_on_tso) {
            for room in rooms(scenario, all, &wanted.buffers) {
                let least = room.least_delta();
                match (scenario.delta, wanted.delta, least) {
                    (Dependence::None, _, _) => add(room, None, true),
                    (_, Some(delta), _) => add(room, Some(delta), true),
                    (_, None, None) => {}
                    (dependence, None, Some(least)) => {
                        add(room, Some(least), true);
                        if dependence == Dependence::Exact && least > 0 {
                            add(room, Some(least - 1), false);
                        }
                    }
                }
            }
        }
        if wanted.c11
            && scenario.c11.is_ok()
            && (all || scenario.is_quick_on_c11 || scenario.delta == Dependence::Exact)
        {
            match scenario.delta {
                Dependence::None => add(Room::C11, None, true),
                Dependence::Holds => {}
                Dependence::Exact => add(Room::C11, wanted.delta.or(Some(1)), false),
            }
        }
    }
    checks
}

/// The usual machines.
fn rooms(scenario: &Scenario, all: bool, buffers: &[usize]) -> Vec<Room> {
    let plain = |buffer| Room::Tso { buffer, coalesces: false };
    let merging = |buffer| Room::Tso { buffer, coalesces: true };
    match (buffers, scenario.delta, all) {
        // A buffer of four allows every behaviour of the smaller ones.
        ([], Dependence::None, false) => vec![plain(4)],
        ([], Dependence::None, true) => [0, 1, 2, 3, 4, usize::MAX].map(plain).to_vec(),
        ([], _, _) => [1, 2, 3, 4].map(plain).into_iter().chain([1, 2, 3].map(merging)).collect(),
        (buffers, Dependence::None, _) => buffers.iter().copied().map(plain).collect(),
        (buffers, _, _) => buffers.iter().flat_map(|&buffer| [plain(buffer), merging(buffer)]).collect(),
    }
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Result {
    /// The number of executions explored.
    pub executions: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
    /// Whether that was expected.
    pub as_expected: bool,
}

/// How a check ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Everything was explored, and every execution passed.
    Holds,
    /// Every execution within the limits passed.
    HoldsSoFar,
    /// Every execution passed until it was stopped.
    Interrupted,
    /// An execution failed: how, and on bounded TSO the schedule that leads there.
    Breaks(String, Option<Schedule>),
}

/// Limits of one check.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of executions.
    pub executions: u64,
    /// The time limit, on C11.
    pub time: Option<Duration>,
    /// The maximum number of preemptions in one execution on C11; `None`: no limit.
    pub preemptions: Option<u8>,
    /// Asked from time to time whether to stop.
    pub stop: fn() -> bool,
}

impl Default for Limits {
    /// Returns limits within which every quick check is complete.
    fn default() -> Self {
        Self { executions: 3_000_000, time: Some(Duration::from_secs(120)), preemptions: Some(2), stop: || false }
    }
}

impl Check {
    /// Returns the machine's name.
    pub fn memory(&self) -> &'static str {
        match self.room {
            Room::Tso { coalesces: false, .. } => "tso",
            Room::Tso { coalesces: true, .. } => "tso+merge",
            Room::C11 => "c11",
        }
    }

    /// Returns the size of its buffers, as S.
    pub fn buffer(&self) -> String {
        match self.room {
            Room::Tso { buffer: usize::MAX, .. } => "∞".to_owned(),
            Room::Tso { buffer, .. } => buffer.to_string(),
            Room::C11 => String::new(),
        }
    }

    fn setting(&self) -> Setting {
        Setting { delta: self.delta }
    }

    fn bounds(&self, limits: Limits) -> Option<tso::Bounds> {
        let Room::Tso { buffer, coalesces } = self.room else { return None };
        let bounds = tso::Bounds { executions: limits.executions, stop: limits.stop, ..tso::Bounds::buffer(buffer) };
        Some(if coalesces { bounds.coalescing() } else { bounds })
    }

    /// Runs the check. `progress` is called from time to time with the number of executions.
    pub fn run(&self, limits: Limits, progress: &mut dyn FnMut(u64)) -> Result {
        let start = Instant::now();
        let (executions, outcome) = match self.bounds(limits) {
            Some(bounds) => {
                let explored = tso::explore(&|| (self.scenario.tso)(self.setting()), &bounds, progress);
                let outcome = match explored.verdict {
                    tso::Verdict::Passed => Outcome::Holds,
                    tso::Verdict::Stopped => Outcome::HoldsSoFar,
                    tso::Verdict::Failed(failure) => Outcome::Breaks(failure.wrong.message, Some(failure.schedule)),
                };
                (explored.executions, outcome)
            }
            None => self.run_on_c11(limits, progress),
        };
        let outcome = match outcome {
            Outcome::HoldsSoFar if (limits.stop)() => Outcome::Interrupted,
            other => other,
        };
        let as_expected = match outcome {
            Outcome::Interrupted => true,
            Outcome::Holds | Outcome::HoldsSoFar => self.should_hold,
            Outcome::Breaks(..) => !self.should_hold,
        };
        Result { executions, outcome, seconds: start.elapsed().as_secs_f64(), as_expected }
    }

    fn run_on_c11(&self, limits: Limits, progress: &mut dyn FnMut(u64)) -> (u64, Outcome) {
        let make = self.scenario.c11.as_ref().expect("planned only where there is one");
        let Limits { executions, time, preemptions, stop } = limits;
        let bounds = c11::Bounds { preemptions, executions, time, stop, ..c11::Bounds::default() };
        let explored = c11::explore(make, self.setting(), &bounds, progress);
        let outcome = match explored.verdict {
            c11::Verdict::Passed => Outcome::Holds,
            c11::Verdict::Stopped(_) => Outcome::HoldsSoFar,
            c11::Verdict::Failed(message) => Outcome::Breaks(message, None),
        };
        (explored.executions, outcome)
    }

    /// Returns the shortest failing history found within `time`, or that of `schedule`, and the schedule that leads to
    /// it. Returns `None` on C11, which has no histories.
    ///
    /// # Errors
    /// If this scenario cannot follow the schedule.
    pub fn history(
        &self,
        schedule: &Schedule,
        time: Duration,
    ) -> Option<std::result::Result<(Schedule, History), String>> {
        let bounds = self.bounds(Limits::default())?;
        let program = || (self.scenario.tso)(self.setting());
        let shortest = (!time.is_zero()).then(|| tso::shortest(&program, &bounds, time)).flatten();
        let schedule = shortest.map_or_else(|| schedule.clone(), |failure| failure.schedule);
        Some(tso::replay(&program, bounds.processor, &schedule, None).map(|history| (schedule, history)))
    }
}
