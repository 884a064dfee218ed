//! Reasons to doubt a number, each with a remedy.

use std::fmt;

use crate::columns::COLUMNS;
use crate::experiment::claim::ENOUGH_ROUNDS;
use crate::record::Run;
use crate::summary::Program;
use crate::terminal::duration;

/// A reason to doubt, with the rows that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Warning {
    Wrong(Vec<String>),
    Broken(Vec<String>),
    Redone(Vec<String>),
    Refused(Vec<String>),
    Debug,
    Busy { processors: f64 },
    Stolen { processors: f64 },
    CapacityMoved(Vec<String>),
    Noisy(Vec<String>),
    TooShort(Vec<String>),
    SlowFirst(Vec<String>),
    Oversubscribed { workers: Vec<usize>, cores: usize },
    FewRounds(usize),
    Interrupted,
    Machines(usize),
    Drifted(Vec<String>),
}

const NOISY: f64 = 0.10;
const SHORT_SECONDS: f64 = 0.010;
const SLOW_FIRST: f64 = 1.2;
/// The largest difference between two sessions' times of the sequential program.
const DRIFTED: f64 = 0.02;
const BUSY_PROCESSORS: f64 = 0.1;
const STOLEN_PROCESSORS: f64 = 0.05;
/// The largest difference between samples of the capacity, as a share of their median.
const MOVED: f64 = 0.10;

impl Warning {
    /// Whether this is a failed check rather than a doubt.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Broken(_))
    }

    /// The remedy.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Wrong(_) => "This is a bug in the scheduler or its adapter: do not use its times; please report it.",
            Self::Broken(_) => "Run that row alone with `filch run` for details.",
            Self::Redone(_) => "The second try succeeded. If it happens again, run that row alone with `filch run`.",
            Self::Refused(_) => "The other rows are not affected.",
            Self::Debug => "Use `cargo run --release`.",
            Self::Busy { .. } => "Close other programs, or wait until they end.",
            Self::Stolen { .. } => "Use a dedicated machine, or measure at another time.",
            Self::CapacityMoved(_) => {
                "Virtual processors may share a core, and this may change every minute: compare speed-ups only with C, and \
                 measure again."
            }
            Self::Noisy(_) => "Raise --budget, and compare medians that differ by more than the spread.",
            Self::TooShort(_) => "Set a larger size, such as `filch compare fib:n=40`.",
            Self::SlowFirst(_) => "Medians hide this; warm up a single run with `filch run --warmup`.",
            Self::Oversubscribed { .. } => "Read these rows as tests of robustness, not of speed-up.",
            Self::FewRounds(_) => "Raise --budget, or set --repeat to 5 or more.",
            Self::Interrupted => "The medians are over fewer runs than planned.",
            Self::Machines(_) => "Compare only rows of the same machine.",
            Self::Drifted(_) => {
                "So T/base shows more than the schedulers' difference: measure both by turns, with `--baseline RUNNER`."
            }
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(rows) => write!(f, "Wrong answers: {}.", list(rows)),
            Self::Broken(rows) => write!(f, "Runs failed twice: {}.", list(rows)),
            Self::Redone(rows) => write!(f, "Runs failed and were redone: {}.", list(rows)),
            Self::Refused(rows) => write!(f, "Omitted, since they cannot run here: {}.", list(rows)),
            Self::Debug => write!(f, "This program was built without optimization."),
            Self::Busy { processors } => {
                write!(f, "Other programs kept {processors:.1} processors busy during the runs.")
            }
            Self::Stolen { processors } => write!(f, "The hypervisor took {processors:.2} processors during the runs."),
            Self::CapacityMoved(rows) => write!(f, "The parallel capacity changed by more than 10 %: {}.", list(rows)),
            Self::Noisy(rows) => write!(f, "The middle half of the times spreads over more than 10 %: {}.", list(rows)),
            Self::TooShort(rows) => write!(f, "Runs take less than 10 ms: {}.", list(rows)),
            Self::SlowFirst(rows) => {
                write!(f, "The first run of a process is more than 20 % slower than the next: {}.", list(rows))
            }
            Self::Oversubscribed { workers, cores } => {
                let workers: Vec<String> = workers.iter().map(ToString::to_string).collect();
                let processors = if *cores == 1 { "processor" } else { "processors" };
                write!(f, "{} workers share {cores} {processors}.", workers.join(" and "))
            }
            // The probability that all rounds are on the same side of the true median.
            Self::FewRounds(rounds) => {
                let of = 1_u32 << (rounds - 1);
                write!(f, "An interval of {rounds} rounds spans them all, but misses the true ratio one time in {of}.")
            }
            Self::Interrupted => write!(f, "The session was interrupted."),
            Self::Machines(n) => write!(f, "The runs come from {n} machines or builds."),
            Self::Drifted(rows) => {
                write!(f, "The sequential program takes another time than in the file: {}.", list(rows))
            }
        }
    }
}

/// The most rows to name.
const NAMED: usize = 4;

fn list(rows: &[String]) -> String {
    let named = rows.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    match rows.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{named}; and {more} more"),
        _ => named,
    }
}

/// Returns all warnings about these lines.
pub(crate) fn warnings(runs: &[Run], programs: &[Program]) -> Vec<Warning> {
    let mut found = Vec::new();
    let cores = runs.iter().map(|run| run.machine.cores).max().unwrap_or(1);
    let rows = |select: &dyn Fn(&crate::summary::Row) -> Option<String>| -> Vec<String> {
        let each = programs.iter().flat_map(|program| program.rows.iter().map(move |row| (program, row)));
        each.filter_map(|(program, row)| {
            select(row).map(|what| format!("{}, {} on {}{what}", program.title, row.label, row.workers))
        })
        .collect()
    };
    let mut push = |rows: Vec<String>, make: fn(Vec<String>) -> Warning| {
        if !rows.is_empty() {
            found.push(make(rows));
        }
    };
    push(rows(&|row| row.wrong.first().map(|why| format!(" ({why})"))), Warning::Wrong);
    let broken = |row: &crate::summary::Row| row.broken.len() > 1 || (row.time.is_none() && !row.broken.is_empty());
    push(rows(&|row| row.broken.last().filter(|_| broken(row)).map(|why| format!(" ({why})"))), Warning::Broken);
    push(rows(&|row| row.broken.last().filter(|_| !broken(row)).map(|why| format!(" ({why})"))), Warning::Redone);
    push(moved(programs), Warning::CapacityMoved);
    push(rows(&|row| Some(row.time?.spread()).filter(|&spread| spread > NOISY).map(percent)), Warning::Noisy);
    push(
        rows(&|row| row.median().filter(|&time| time < SHORT_SECONDS).map(|time| format!(" ({})", duration(time)))),
        Warning::TooShort,
    );
    push(
        rows(&|row| row.first_slower.filter(|&ratio| ratio > SLOW_FIRST).map(|ratio| percent(ratio - 1.0))),
        Warning::SlowFirst,
    );
    let drift = |row: &crate::summary::Row| row.compared.to_baseline.filter(|_| row.is_serial());
    push(
        rows(&|row| drift(row).map(|ratio| ratio.value - 1.0).filter(|drift| drift.abs() > DRIFTED).map(percent)),
        Warning::Drifted,
    );
    if runs.iter().any(|run| run.machine.is_debug()) {
        found.push(Warning::Debug);
    }
    let alone = || runs.iter().filter(|run| run.copies == 1);
    let (others, stolen) = (weighted(alone(), |run| run.others), weighted(alone(), |run| run.stolen));
    if others > BUSY_PROCESSORS {
        found.push(Warning::Busy { processors: others });
    }
    if stolen > STOLEN_PROCESSORS {
        found.push(Warning::Stolen { processors: stolen });
    }
    let mut over: Vec<usize> = runs.iter().map(|run| run.workers).filter(|&workers| workers > cores).collect();
    over.sort_unstable();
    over.dedup();
    if !over.is_empty() {
        found.push(Warning::Oversubscribed { workers: over, cores });
    }
    found.extend(fewest_rounds(programs).filter(|&rounds| rounds < ENOUGH_ROUNDS).map(Warning::FewRounds));
    let mut machines = Vec::new();
    for run in runs {
        let key = (&run.machine, &run.commit);
        if !machines.contains(&key) {
            machines.push(key);
        }
    }
    if machines.len() > 1 {
        found.push(Warning::Machines(machines.len()));
    }
    found
}

/// The fewest rounds of any interval.
fn fewest_rounds(programs: &[Program]) -> Option<usize> {
    let rows = programs.iter().flat_map(|program| &program.rows);
    let estimates = rows.flat_map(|row| COLUMNS.iter().filter_map(|column| column.estimate(row)));
    estimates
        .filter(|estimate| estimate.interval.is_some() && estimate.rounds > 0)
        .map(|estimate| estimate.rounds)
        .min()
}

fn percent(share: f64) -> String {
    format!(" ({:.0} %)", share * 100.0)
}

/// Returns the programs whose capacity changed, with the range.
fn moved(programs: &[Program]) -> Vec<String> {
    let each = programs.iter().flat_map(|program| program.capacities.iter().map(move |capacity| (program, capacity)));
    each.filter(|(_, capacity)| capacity.sample.range() > MOVED)
        .map(|(program, capacity)| {
            let (least, most) = (capacity.sample.min, capacity.sample.max);
            format!("{}, C{} from {least:.2} to {most:.2}", program.title, capacity.copies)
        })
        .collect()
}

/// The mean over runs, weighted by their duration.
fn weighted<'r>(runs: impl Iterator<Item = &'r Run>, value: fn(&Run) -> f64) -> f64 {
    let (sum, weight) = runs.fold((0.0, 0.0), |(sum, weight), run| {
        let seconds = run.seconds.unwrap_or(0.0);
        (sum + value(run) * seconds, weight + seconds)
    });
    if weight > 0.0 { sum / weight } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    fn of(runs: &[Run]) -> Vec<Warning> {
        warnings(runs, &summarize(runs, &[]))
    }

    fn quiet(seconds: &[f64]) -> Vec<Run> {
        let mut runs: Vec<Run> = seconds.iter().map(|&seconds| run("fib", "rayon", 1, seconds)).collect();
        runs.iter_mut().for_each(|run| run.machine.cores = 2);
        runs
    }

    #[test]
    fn a_quiet_session_has_none() {
        assert_eq!(of(&quiet(&[1.0, 1.01, 1.02])), []);
    }

    #[test]
    fn each_warning_is_found() {
        assert!(matches!(of(&quiet(&[1.0, 1.3, 1.6]))[..], [Warning::Noisy(_)]));
        assert!(matches!(of(&quiet(&[0.001, 0.001]))[..], [Warning::TooShort(_)]));
        let mut runs = quiet(&[1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        runs[1..].iter_mut().for_each(|run| run.repeat = 1);
        assert!(matches!(of(&runs)[..], [Warning::SlowFirst(_)]));
        let mut runs = quiet(&[1.0]);
        runs[0].workers = 8;
        assert_eq!(of(&runs), [Warning::Oversubscribed { workers: vec![8], cores: 2 }]);
        let mut runs = quiet(&[1.0]);
        (runs[0].others, runs[0].stolen) = (0.5, 0.2);
        assert_eq!(of(&runs), [Warning::Busy { processors: 0.5 }, Warning::Stolen { processors: 0.2 }]);
        let mut runs = quiet(&[1.0]);
        runs[0].machine.profile = "debug".to_owned();
        assert_eq!(of(&runs), [Warning::Debug]);
        let mut runs = quiet(&[1.0, 1.0]);
        runs[1].commit = "def".to_owned();
        assert_eq!(of(&runs), [Warning::Machines(2)]);
    }

    #[test]
    fn few_rounds_are_reported_with_their_error_rate() {
        let session = |rounds: usize| -> Vec<Run> {
            let visits = (0..rounds).flat_map(|round| ["serial", "rayon"].map(|scheduler| (round, scheduler)));
            visits
                .map(|(round, scheduler)| {
                    let mut run = run("fib", scheduler, 1, 1.0);
                    (run.round, run.machine.cores) = (round, 2);
                    run
                })
                .collect()
        };
        assert_eq!(of(&session(1)), []);
        assert_eq!(of(&session(3)), [Warning::FewRounds(3)]);
        assert!(Warning::FewRounds(3).to_string().ends_with("one time in 4."));
        assert_eq!(of(&session(5)), []);
    }

    #[test]
    fn wrong_and_broken_runs_are_failures() {
        let mut runs = quiet(&[1.0, 1.0, 1.0]);
        (runs[0].correct, runs[0].error) = (false, Some("5 is wrong".to_owned()));
        let found = of(&runs);
        assert!(found[0].is_failure() && found[0].to_string().contains("5 is wrong"), "{found:?}");
        let mut runs = quiet(&[1.0, 1.0, 1.0]);
        for run in &mut runs[..2] {
            (run.seconds, run.correct, run.error) = (None, false, Some("killed".to_owned()));
        }
        assert!(matches!(of(&runs)[..], [Warning::Broken(_)]));
        runs[0] = runs[2].clone();
        assert!(matches!(of(&runs)[..], [Warning::Redone(_)]));
    }

    #[test]
    fn a_changing_capacity_is_reported_with_its_range() {
        let mut runs = Vec::new();
        for (round, side_by_side) in [1.0, 1.25].into_iter().enumerate() {
            let mut alone = run("fib", "serial", 1, 1.0);
            let mut copy = run("fib", "serial", 1, side_by_side);
            (alone.round, copy.round, copy.copies) = (round, round, 2);
            runs.extend([alone, copy.clone(), copy]);
        }
        let found = of(&runs);
        assert!(found[0].to_string().ends_with("fib:n=30, C2 from 1.60 to 2.00."), "{found:?}");
    }

    #[test]
    fn long_lists_are_truncated() {
        let rows: Vec<String> = (0..6).map(|row| row.to_string()).collect();
        assert_eq!(list(&rows), "0; 1; 2; 3; and 2 more");
    }
}
