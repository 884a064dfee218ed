//! The columns of results. The table on the terminal, the report and the JSON summary all use them.

use filch_catalogue::Memory;

use crate::error::{Result, usage};
use crate::experiment::quantity::Quantity;
use crate::stats::{Estimate, Sample};
use crate::summary::{LEAST_DEPTH, Row};
use crate::terminal::{count, duration, significant};

/// A column: its name, its meaning, and the source of its values.
#[derive(Debug)]
pub(crate) struct Column {
    /// Its name in JSON; `--columns` takes this and the heading.
    pub(crate) name: &'static str,
    /// Its name in tables and in CSV.
    pub(crate) heading: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) unit: Unit,
    source: Source,
    /// Whether the smallest or the largest value is highlighted.
    best: Option<Best>,
    place: Place,
}

/// A field that identifies a row; it precedes the columns.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// Its heading in tables; none if it is constant within a program's table.
    pub(crate) heading: Option<&'static str>,
    pub(crate) meaning: &'static str,
}

pub(crate) const PROGRAM: Identity = Identity { name: "program", heading: None, meaning: "the program and its size" };
pub(crate) const SCHEDULER: Identity =
    Identity { name: "scheduler", heading: Some("scheduler"), meaning: "the scheduler and its settings" };
pub(crate) const VERSION: Identity = Identity { name: "version", heading: None, meaning: "the scheduler's version" };
pub(crate) const WORKERS: Identity = Identity { name: "workers", heading: Some("P"), meaning: "workers" };
pub(crate) const BASELINE: Identity =
    Identity { name: "baseline", heading: None, meaning: "the scheduler that T/base refers to" };

/// The identities in the order of JSON.
pub(crate) const IDENTITIES: [&Identity; 5] = [&PROGRAM, &SCHEDULER, &VERSION, &WORKERS, &BASELINE];

/// Returns the headings of a program's table that precede those of the columns.
pub(crate) fn heads() -> impl Iterator<Item = &'static str> {
    IDENTITIES.iter().filter_map(|identity| identity.heading)
}

/// The unit of a column's values, which determines their format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Seconds,
    /// Seconds so short that they are written in nanoseconds.
    ForkSeconds,
    Ratio,
    /// A ratio, written in per cent.
    Share,
    PerSecond,
    Count,
    Processors,
    Bytes,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Time(fn(&Sample) -> f64),
    Number(fn(&Row) -> Option<f64>),
    /// A number with an interval.
    Estimate(fn(&Row) -> Option<Estimate>),
    /// The scheduler's counter of this name.
    Counter(&'static str),
    /// The scheduler's counter of this name, which is a time in nanoseconds.
    Nanoseconds(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Best {
    Least,
    Most,
}

/// Where a column is shown by default: the report and the JSON summary show all.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Place {
    NarrowTerminal,
    Terminal,
    WideTerminal,
    Report,
}

use Best::{Least, Most};
use Place::{NarrowTerminal, Report, Terminal, WideTerminal};

pub(crate) const COLUMNS: &[Column] = &[
    time("median", "median time of a run", |time| time.median).best(Least).on(NarrowTerminal),
    number("spread", "spread", "distance between the quartiles over the median", Unit::Share, |row| {
        Some(row.time?.spread())
    })
    .on(NarrowTerminal),
    time("mean", "mean time of a run", |time| time.mean),
    time("min", "shortest time of a run", |time| time.min),
    time("p10", "time below which a tenth of the runs lie", |time| time.p10),
    time("q1", "lower quartile of the times", |time| time.lower_quartile),
    time("q3", "upper quartile of the times", |time| time.upper_quartile),
    time("p90", "time below which nine tenths of the runs lie", |time| time.p90),
    time("max", "longest time of a run", |time| time.max),
    number("runs", "runs", "timed runs", Unit::Count, |row| whole(row.seconds.len())),
    number("rounds", "rounds", "rounds that the runs come from", Unit::Count, |row| whole(row.rounds.len()))
        .on(Terminal),
    estimate("overhead", "T1/Ts", "overhead, time on one worker over the sequential program's", Unit::Ratio, |row| {
        row.compared.overhead
    })
    .best(Least)
    .on(NarrowTerminal),
    estimate("speedup", "Ts/TP", "speed-up over the sequential program", Unit::Ratio, |row| row.compared.speedup)
        .best(Most)
        .on(NarrowTerminal),
    estimate("relative-speedup", "T1/TP", "speed-up over one worker", Unit::Ratio, |row| row.compared.relative_speedup)
        .on(NarrowTerminal),
    estimate("capacity-share", "T1/TP/C", "share of the parallel capacity that becomes speed-up", Unit::Share, |row| {
        row.compared.of_capacity
    })
    .best(Most)
    .on(NarrowTerminal),
    estimate("to-baseline", "T/base", "time over the base's on as many workers", Unit::Ratio, |row| {
        row.compared.to_baseline
    })
    .best(Least)
    .on(NarrowTerminal),
    number("tasks-per-second", "tasks/s", "tasks per second of all workers together", Unit::PerSecond, |row| {
        row.tasks_per_second()
    })
    .on(Terminal),
    estimate("fork", "per fork", "cost of a fork and its join: (T1 − Ts) / tasks", Unit::ForkSeconds, |row| {
        row.compared.fork_seconds
    })
    .best(Least)
    .on(Terminal),
    number("task-time", "per task", "time over tasks", Unit::ForkSeconds, |row| Some(1.0 / row.tasks_per_second()?)),
    estimate(
        "task-overhead",
        "over per task",
        "time of all workers beyond the sequential program's: (P × TP − Ts) / tasks",
        Unit::ForkSeconds,
        |row| row.compared.task_overhead_seconds,
    ),
    number("cpu", "cpu", "processors in use, median of a run", Unit::Processors, |row| row.processors),
    number("memory", "memory", "largest resident set of a process", Unit::Bytes, |row| {
        #[expect(clippy::cast_precision_loss, reason = "exact up to petabytes")]
        Some(row.peak_rss_bytes as f64).filter(|&bytes| bytes > 0.0)
    }),
    number(
        "own-memory",
        "own",
        "of it what files do not back, as they do programs and libraries",
        Unit::Bytes,
        |row| {
            #[expect(clippy::cast_precision_loss, reason = "exact up to petabytes")]
            row.own_bytes.map(|bytes| bytes as f64)
        },
    )
    .on(Report),
    start("first", "start", "from the start of a pool to its first result, median of the processes", "first_ns"),
    start("stop", "stop", "of stopping the pool, median of the processes", "stop_ns"),
    counter("steals", "tasks taken by idle workers, median of a run", "steals"),
    counter("leaps", "tasks taken by waiting workers, median of a run", "leaps"),
    counter("grows", "times work was shared, median of a run", "grows"),
    counter("shrinks", "times shared work was taken back, median of a run", "shrinks"),
    counter("migrations", "tasks that came to a worker from another's queue, median of a run", "migrations").on(Report),
    counter("idle", "nanoseconds of all workers without work, median of a run", "idle_ns").on(Report),
    number(
        "idle-per-migration",
        "idle/migration",
        "time without work for each task that came from another worker's queue",
        Unit::Seconds,
        |row| Some(row.counted("idle_ns")? * 1e-9 / row.counted("migrations").filter(|&migrations| migrations > 0.0)?),
    ),
    counter("retries", "attempts that left without an answer to their request, median of a run", "retries").on(Report),
    counter("grants", "tasks given to thieves on request, median of a run", "grants").on(Report),
    counter("declined", "requests answered with nothing, median of a run", "declined").on(Report),
    counter("revocations", "granted tasks taken back, median of a run", "revocations").on(Report),
    counter("crossings", "tasks taken that were granted to another thief, median of a run", "crossings").on(Report),
    counter("polls", "times an owner looked for requests and there were some, median of a run", "polls").on(Report),
    counter("deals-tried", "times an owner tried to deal a task, median of a run", "deals_tried").on(Report),
    counter("deals", "tasks dealt to idle workers, median of a run", "deals").on(Report),
    estimate("owner-rate", "owner/s", "pushes and pops of a queue's owner per second", Unit::PerSecond, |row| {
        Quantity::OWNER_RATE.estimate(row)
    }),
    estimate("stolen", "stolen", "share of the tasks that thieves took", Unit::Share, |row| {
        Quantity::STOLEN.estimate(row)
    }),
    estimate("steal-rate", "steals/s", "tasks taken per second by all thieves together", Unit::PerSecond, |row| {
        Quantity::STEAL_RATE.estimate(row)
    }),
    estimate(
        "retries-per-steal",
        "retries/steal",
        "attempts that found no task in a queue that had some, per steal",
        Unit::Ratio,
        |row| Quantity::RETRIES.estimate(row),
    ),
    steal_time("steal-mean", "steal", "mean time of a steal", "steal_ns"),
    steal_time(
        "steal-elapsed",
        "steal elapsed",
        "the same from the first attempt on, with all that the thief did in between",
        "steal_elapsed_ns",
    ),
    steal_time("steal-p50", "steal p50", "time below which half of the steals lie", "steal_p50_ns"),
    steal_time("steal-p90", "steal p90", "time below which nine tenths of the steals lie", "steal_p90_ns"),
    steal_time("steal-p99", "steal p99", "time below which 99 % of the steals lie", "steal_p99_ns"),
    counter("parks", "times a worker went to sleep, median of a run", "parks"),
    counter("depth", "most tasks on a worker's stack, median of a run", "peak_depth"),
    counter("least-depth", "the same on the worker whose stack stayed lowest, median of a run", LEAST_DEPTH).on(Report),
];

const fn number(
    name: &'static str,
    heading: &'static str,
    meaning: &'static str,
    unit: Unit,
    value: fn(&Row) -> Option<f64>,
) -> Column {
    Column { name, heading, meaning, unit, source: Source::Number(value), best: None, place: Report }
}

const fn estimate(
    name: &'static str,
    heading: &'static str,
    meaning: &'static str,
    unit: Unit,
    value: fn(&Row) -> Option<Estimate>,
) -> Column {
    Column { name, heading, meaning, unit, source: Source::Estimate(value), best: None, place: Report }
}

const fn time(name: &'static str, meaning: &'static str, value: fn(&Sample) -> f64) -> Column {
    Column { name, heading: name, meaning, unit: Unit::Seconds, source: Source::Time(value), best: None, place: Report }
}

const fn counter(name: &'static str, meaning: &'static str, counter: &'static str) -> Column {
    let source = Source::Counter(counter);
    Column { name, heading: name, meaning, unit: Unit::Count, source, best: None, place: WideTerminal }
}

const fn start(name: &'static str, heading: &'static str, meaning: &'static str, counter: &'static str) -> Column {
    let source = Source::Nanoseconds(counter);
    Column { name, heading, meaning, unit: Unit::Seconds, source, best: Some(Least), place: Report }
}

const fn steal_time(name: &'static str, heading: &'static str, meaning: &'static str, counter: &'static str) -> Column {
    let source = Source::Nanoseconds(counter);
    Column { name, heading, meaning, unit: Unit::ForkSeconds, source, best: None, place: Report }
}

#[expect(clippy::cast_precision_loss, reason = "few runs")]
#[expect(clippy::unnecessary_wraps, reason = "the type of a column's source")]
fn whole(count: usize) -> Option<f64> {
    Some(count as f64)
}

impl Column {
    const fn best(mut self, best: Best) -> Self {
        self.best = Some(best);
        self
    }

    const fn on(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    pub(crate) fn value(&self, row: &Row) -> Option<f64> {
        match self.source {
            Source::Time(value) => row.time.as_ref().map(value),
            Source::Number(value) => value(row),
            Source::Estimate(value) => value(row).map(|estimate| estimate.value),
            Source::Counter(name) => row.counted(name).map(f64::round),
            Source::Nanoseconds(name) => row.counted(name).filter(|&time| time > 0.0).map(|time| time * 1e-9),
        }
    }

    pub(crate) fn estimate(&self, row: &Row) -> Option<Estimate> {
        if let Source::Estimate(value) = self.source { value(row) } else { None }
    }

    /// The 95 % interval of the value over the rounds, if it is a median.
    pub(crate) fn interval(&self, row: &Row) -> Option<(f64, f64)> {
        let of = |quantity: Quantity, unit: f64| {
            let (low, high) = quantity.estimate(row)?.interval?;
            Some((low * unit, high * unit))
        };
        match self.source {
            Source::Estimate(value) => value(row)?.interval,
            Source::Counter(name) => of(Quantity::Counter(name), 1.0),
            Source::Nanoseconds(name) => of(Quantity::Counter(name), 1e-9),
            Source::Time(_) if self.name == "median" => of(Quantity::Time, 1.0),
            Source::Time(_) | Source::Number(_) => None,
        }
    }

    /// Whether the values have intervals.
    pub(crate) fn is_estimate(&self) -> bool {
        matches!(self.source, Source::Estimate(_))
    }

    /// Formats the value, optionally with its interval: `1.67 [1.62, 1.70]`.
    pub(crate) fn text(&self, row: &Row, with_interval: bool) -> Option<String> {
        let text = self.unit.text(self.value(row)?);
        let interval = self.estimate(row).and_then(|estimate| estimate.interval).filter(|_| with_interval);
        Some(interval.map_or_else(
            || text.clone(),
            |(low, high)| format!("{text} [{}, {}]", self.unit.digits(low), self.unit.digits(high)),
        ))
    }

    /// Returns a number that is smaller for better rows; `None` if the column has no best end.
    pub(crate) fn rank(&self, row: &Row) -> Option<f64> {
        match self.best? {
            Least => self.value(row),
            Most => self.value(row).map(|value| -value),
        }
    }
}

impl Unit {
    /// The unit of an unformatted value.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seconds | Self::ForkSeconds => "seconds",
            Self::Ratio | Self::Share => "ratio",
            Self::PerSecond => "per second",
            Self::Count => "count",
            Self::Processors => "processors",
            Self::Bytes => "bytes",
        }
    }

    pub(crate) fn text(self, value: f64) -> String {
        let suffix = match self {
            Self::ForkSeconds => " ns",
            Self::Share => " %",
            _ => "",
        };
        self.digits(value) + suffix
    }

    /// Formats the number, without a unit that the whole column shares.
    fn digits(self, value: f64) -> String {
        let text = match self {
            Self::Seconds => duration(value),
            Self::ForkSeconds => significant(value * 1e9),
            Self::Ratio => format!("{value:.2}"),
            Self::Share => format!("{:.0}", value * 100.0),
            Self::PerSecond | Self::Count => count(value),
            Self::Processors => significant(value),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a whole number")]
            Self::Bytes => Memory(value as u64).to_string(),
        };
        text.replace('-', "−")
    }
}

/// The choice of columns.
#[derive(Debug)]
pub(crate) enum Choice {
    /// As many as fit.
    Usual,
    /// These on terminals, all elsewhere.
    Preferred(Vec<&'static Column>),
    These(Vec<&'static Column>),
}

impl Choice {
    /// Chooses the requested columns, or else those that the experiment prefers.
    pub(crate) fn of(asked: Option<&[String]>, preferred: &[&str]) -> Result<Self> {
        match asked {
            Some(names) => named(names.iter().map(String::as_str)).map(Self::These),
            None if preferred.is_empty() => Ok(Self::Usual),
            None => named(preferred.iter().copied()).map(Self::Preferred),
        }
    }

    /// Returns the columns for media with enough room.
    pub(crate) fn all(&self) -> Vec<&'static Column> {
        match self {
            Self::Usual | Self::Preferred(_) => COLUMNS.iter().collect(),
            Self::These(columns) => columns.clone(),
        }
    }

    /// Returns the choices for terminals, the widest first.
    pub(crate) fn on_terminals(&self) -> Vec<Vec<&'static Column>> {
        match self {
            Self::Usual => [WideTerminal, Terminal, NarrowTerminal].map(usual).to_vec(),
            Self::Preferred(columns) | Self::These(columns) => vec![columns.clone()],
        }
    }

    /// Returns the columns that a legend explains: all but the scheduler's counters.
    pub(crate) fn explained(&self) -> Vec<&'static Column> {
        match self {
            Self::Usual => usual(Terminal),
            Self::Preferred(columns) | Self::These(columns) => columns.clone(),
        }
    }
}

/// Returns the columns of these names, each once.
fn named<'n>(names: impl Iterator<Item = &'n str>) -> Result<Vec<&'static Column>> {
    let known: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut chosen: Vec<&Column> = Vec::new();
    for name in names {
        let column = COLUMNS.iter().find(|column| column.name == name || column.heading == name);
        let column = column.ok_or_else(|| usage(filch_catalogue::unknown("column", name, &known)))?;
        if !chosen.iter().any(|chosen| chosen.name == column.name) {
            chosen.push(column);
        }
    }
    Ok(chosen)
}

fn usual(place: Place) -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| column.place <= place).collect()
}

#[cfg(test)]
mod tests;
