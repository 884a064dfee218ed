//! The checks: which scenario is explored on which machine, what is expected of it, and what came of it.

use std::time::{Duration, Instant};

use crate::tso::{self, History, Schedule};
use crate::{Dependence, Scenario, Setting, c11};

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Bounded TSO.
    Tso {
        /// Entries of each store buffer.
        buffer: usize,
        /// With an entry beyond the buffer that merges stores to one location.
        coalesces: bool,
    },
    /// C11, as far as loom goes.
    C11,
}

impl Room {
    /// The least δ that is right here: half the stores that can be pending, rounded up; `None` where there is no bound.
    pub fn least_delta(self) -> Option<usize> {
        match self {
            Self::Tso { buffer: usize::MAX, .. } | Self::C11 => None,
            Self::Tso { buffer, coalesces } => Some((buffer + usize::from(coalesces)).div_ceil(2)),
        }
    }
}

/// A scenario, a machine, and what should come of it.
#[derive(Clone, Debug)]
pub struct Check {
    /// What to run.
    pub scenario: Scenario,
    /// Where.
    pub room: Room,
    /// With which δ, if the scenario depends on it.
    pub delta: Option<usize>,
    /// Whether no execution should go wrong. If not, one must.
    pub should_hold: bool,
}

/// Which checks are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of these queues and protocols; empty: of all.
    pub subjects: Vec<String>,
    /// Only scenarios with this name.
    pub scenario: Option<String>,
    /// Not only the quick ones.
    pub all: bool,
    /// On bounded TSO.
    pub tso: bool,
    /// On C11.
    pub c11: bool,
    /// On buffers of these sizes; empty: on the usual ones.
    pub buffers: Vec<usize>,
    /// With this δ, whatever is right.
    pub delta: Option<usize>,
}

/// The checks that are wanted.
pub fn plan(scenarios: &[Scenario], wanted: &Wanted) -> Vec<Check> {
    let mut checks = Vec::new();
    let named = |scenario: &&Scenario| {
        (wanted.subjects.is_empty() || wanted.subjects.iter().any(|subject| subject == scenario.subject))
            && wanted.scenario.as_ref().is_none_or(|name| *name == scenario.name)
    };
    // Whoever names a scenario wants it whatever it costs.
    let all = wanted.all || wanted.scenario.is_some();
    for scenario in scenarios.iter().filter(named) {
        let mut add = |room, delta, should_hold| {
            checks.push(Check { scenario: scenario.clone(), room, delta, should_hold });
        };
        if wanted.tso && (all || scenario.is_quick()) {
            for room in rooms(scenario, all, &wanted.buffers) {
                let least = room.least_delta();
                match (scenario.delta, wanted.delta, least) {
                    (Dependence::None, _, _) => add(room, None, true),
                    (_, Some(delta), least) => add(room, Some(delta), least.is_some_and(|least| delta >= least)),
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
        if wanted.c11 && scenario.c11.is_ok() && (all || scenario.quick.1 || scenario.delta == Dependence::Exact) {
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
        ([], Dependence::None, false) => scenario.quick.0.iter().copied().map(plain).collect(),
        ([], Dependence::None, true) => [0, 1, 2, 3, 4, usize::MAX].map(plain).to_vec(),
        ([], _, _) => [1, 2, 3, 4].map(plain).into_iter().chain([1, 2, 3].map(merging)).collect(),
        (buffers, Dependence::None, _) => buffers.iter().copied().map(plain).collect(),
        (buffers, _, _) => buffers.iter().flat_map(|&buffer| [plain(buffer), merging(buffer)]).collect(),
    }
}

/// What came of a check.
#[derive(Clone, Debug)]
pub struct Result {
    /// Executions explored.
    pub executions: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
    /// Whether that is what was expected.
    pub as_expected: bool,
}

/// How a check ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Everything was explored and nothing went wrong.
    Holds,
    /// Nothing went wrong in what could be explored within the limits.
    HoldsSoFar,
    /// Nothing went wrong until it was stopped.
    Interrupted,
    /// An execution went wrong: how, and on bounded TSO the decisions that lead there.
    Breaks(String, Option<Schedule>),
}

/// Limits of one check.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions.
    pub executions: u64,
    /// Time, on C11.
    pub time: Option<Duration>,
    /// On C11, how often a thread that could go on is interrupted in one execution; `None`: as often as it takes.
    pub preemptions: Option<u8>,
    /// Asked now and then: whether to stop.
    pub stop: fn() -> bool,
}

impl Default for Limits {
    /// Enough for every quick check to be complete.
    fn default() -> Self {
        Self { executions: 3_000_000, time: Some(Duration::from_secs(120)), preemptions: Some(2), stop: || false }
    }
}

impl Check {
    /// The machine's name.
    pub fn memory(&self) -> &'static str {
        match self.room {
            Room::Tso { coalesces: false, .. } => "tso",
            Room::Tso { coalesces: true, .. } => "tso+merge",
            Room::C11 => "c11",
        }
    }

    /// The size of its buffers, as S.
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

    /// Explores. `progress` is called now and then with the number of executions.
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

    /// The shortest failing history that can be found within `time`, or the one of `schedule`, and the decisions that
    /// lead to it. `None` on C11, which tells no histories.
    ///
    /// # Errors
    /// A schedule that this scenario cannot follow.
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
