//! Numbers of a row, round by round, and the rows that a claim picks.

use std::fmt;

use super::points::Point;
use crate::identity::{ProgramId, SchedulerId};
use crate::stats::{Estimate, Rounds};
use crate::summary::{Compared, Row};

/// A number that every round of a row gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    /// The time of a run, in seconds.
    Time,
    /// The tasks of a run.
    Tasks,
    /// The scheduler's counter of this name.
    Counter(&'static str),
    /// The scheduler's counter of this name, which is a time in nanoseconds, in seconds.
    Seconds(&'static str),
    /// The wrong answers.
    Wrong,
    Sum(&'static [Self]),
    Per(&'static Self, &'static Self),
}

impl Quantity {
    pub(crate) const OWNER_RATE: Self =
        Self::Per(&Self::Sum(&[Self::Counter("pushed"), Self::Counter("popped")]), &Self::Time);
    pub(crate) const STEAL_TIME: Self = Self::Counter("steal_ns");
    pub(crate) const STEAL_RATE: Self = Self::Per(&Self::Counter("steals"), &Self::Time);
    pub(crate) const STOLEN: Self = Self::Per(&Self::Counter("steals"), &Self::Tasks);
    /// The time without work for each task that came from another worker.
    pub(crate) const IDLE_PER_MIGRATION: Self = Self::Per(&Self::Seconds("idle_ns"), &Self::Counter("migrations"));
    pub(crate) const RETRIES: Self = Self::Per(
        &Self::Sum(&[Self::Counter("lost"), Self::Counter("aborted"), Self::Counter("pending")]),
        &Self::Counter("steals"),
    );

    /// The quantities of columns, whose estimates a row keeps, since tables and plots ask for them again and again.
    pub(crate) const OF_COLUMNS: [Self; 4] = [Self::OWNER_RATE, Self::STOLEN, Self::STEAL_RATE, Self::RETRIES];

    /// Those with a name of their own.
    const NAMED: [(&str, Self); 9] = [
        ("time", Self::Time),
        ("tasks", Self::Tasks),
        ("wrong", Self::Wrong),
        ("owner-rate", Self::OWNER_RATE),
        ("steal-time", Self::STEAL_TIME),
        ("steal-rate", Self::STEAL_RATE),
        ("stolen", Self::STOLEN),
        ("idle-per-migration", Self::IDLE_PER_MIGRATION),
        ("retries-per-steal", Self::RETRIES),
    ];
    /// The counters of schedulers.
    const COUNTERS: [&str; 25] = [
        "aborted",
        "attempts",
        "crossings",
        "deals",
        "deals_tried",
        "declined",
        "grants",
        "grows",
        "idle_ns",
        "interrupts",
        "leaps",
        "lost",
        "migrations",
        "parks",
        "peak_depth",
        "pending",
        "polls",
        "popped",
        "pushed",
        "requests",
        "retries",
        "revocations",
        "run",
        "shrinks",
        "steals",
    ];

    /// Understands `time`, `leaps / steals` or `(steals + leaps) / tasks`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some((of, over)) = text.split_once(" / ") {
            let part = |text: &str| -> Result<&'static Self, String> {
                let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
                Ok(Box::leak(Box::new(Self::parse(inner)?)))
            };
            return Ok(Self::Per(part(of)?, part(over)?));
        }
        if text.contains(" + ") {
            let parts = text.split(" + ").map(Self::parse).collect::<Result<Vec<_>, _>>()?;
            return Ok(Self::Sum(parts.leak()));
        }
        let counter = || Self::COUNTERS.into_iter().find(|name| name.replace('_', "-") == text).map(Self::Counter);
        let named = Self::NAMED.into_iter().find(|(name, _)| *name == text).map(|(_, quantity)| quantity);
        named.or_else(counter).ok_or_else(|| {
            let counters = Self::COUNTERS.map(|name| name.replace('_', "-"));
            let names = Self::NAMED.iter().map(|(name, _)| *name).chain(counters.iter().map(String::as_str));
            filch_catalogue::unknown("number", text, &names.collect::<Vec<_>>())
        })
    }

    /// Returns the median over the rounds.
    pub(crate) fn estimate(self, row: &Row) -> Option<Estimate> {
        let kept = row.quantities.iter().find(|(known, _)| *known == self);
        kept.map_or_else(|| self.computed(row), |&(_, estimate)| Some(estimate))
    }

    /// Computes the median over the rounds.
    pub(crate) fn computed(self, row: &Row) -> Option<Estimate> {
        Estimate::paired([&self.rounds(row)?], |[number]| number)
    }

    /// Returns the number of each round; `None` if the row does not have it.
    pub(crate) fn rounds(self, row: &Row) -> Option<Rounds> {
        match self {
            Self::Time => Some(row.rounds.clone()),
            Self::Tasks => {
                #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
                let tasks = row.tasks.filter(|&tasks| tasks > 0)? as f64;
                Some(row.rounds.keys().map(|&round| (round, tasks)).collect())
            }
            Self::Counter(name) => Some(row.counters.get(name)?.rounds.clone()),
            Self::Seconds(name) => {
                let counted = &row.counters.get(name)?.rounds;
                Some(counted.iter().map(|(&round, nanoseconds)| (round, nanoseconds * 1e-9)).collect())
            }
            Self::Wrong => {
                // A row does not keep the rounds of its wrong answers.
                #[expect(clippy::cast_precision_loss, reason = "few answers")]
                let wrong = (row.wrong.len() + row.broken.len()) as f64;
                Some(row.rounds.keys().map(|&round| (round, wrong)).collect())
            }
            Self::Sum(parts) => {
                let parts = parts.iter().map(|part| part.rounds(row)).collect::<Option<Vec<_>>>()?;
                parts.into_iter().reduce(|sum, part| joined(&sum, &part, |sum, part| sum + part))
            }
            Self::Per(of, over) => {
                Some(joined(&of.rounds(row)?, &over.rounds(row)?, |of, over| of / over)).map(|mut quotient| {
                    quotient.retain(|_, value| value.is_finite());
                    quotient
                })
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("time"),
            Self::Tasks => f.write_str("tasks"),
            Self::Counter(name) => f.write_str(&name.replace('_', " ")),
            Self::Seconds(name) => write!(f, "{} time", name.trim_end_matches("_ns").replace('_', " ")),
            Self::Wrong => f.write_str("wrong answers"),
            Self::Sum(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                f.write_str(&parts.join(" + "))
            }
            // One task, one steal: the singular of a counter's name.
            Self::Per(of, over) => write!(f, "{of} per {}", over.to_string().trim_end_matches('s')),
        }
    }
}

/// Combines the numbers of common rounds.
pub(super) fn joined(one: &Rounds, other: &Rounds, of: impl Fn(f64, f64) -> f64) -> Rounds {
    one.iter().filter_map(|(round, &one)| Some((*round, of(one, *other.get(round)?)))).collect()
}

/// The measured number of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    /// The quantity itself.
    Is(Quantity),
    /// The quantity, over that of another row, with the same program and number of workers unless the pick names
    /// others.
    Over(Quantity, Pick),
    /// The quantity, over the least of these contenders with the same number of workers. An unrolled program is
    /// compared with the plain one.
    OverBest(Quantity, &'static [&'static str]),
    /// The geometric mean of that ratio over all programs.
    MeanOver(Quantity, Pick),
    /// The quantity, over the value of the swept parameter: a number, or a time in seconds.
    OverSwept(Quantity),
    /// The quantity, minus that of another row with the same program and number of workers.
    Beyond(Quantity, Pick),
    /// The quantity, over that of the same scheduler on the program whose parameter of this name has this value
    /// instead.
    OverWith(Quantity, &'static str, &'static str),
    /// The swept time up to which runs take at most this share longer than with the least swept time, over the time of
    /// such a run.
    FlatUpTo(f64),
    /// A comparison that every row has.
    Of(Comparison),
}

/// A comparison with the sequential program, or with one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    /// T1/Ts.
    Overhead,
    /// Ts/TP.
    Speedup,
    /// T1/TP.
    RelativeSpeedup,
    /// (T1/TP) / C.
    CapacityShare,
    /// (P × TP − Ts) / tasks, in seconds.
    TaskOverhead,
}

impl Comparison {
    /// Returns the comparison that a column of this name shows.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "overhead" => Self::Overhead,
            "speedup" => Self::Speedup,
            "relative-speedup" => Self::RelativeSpeedup,
            "capacity-share" => Self::CapacityShare,
            "task-overhead" => Self::TaskOverhead,
            _ => return None,
        })
    }

    pub(super) fn of(self, compared: &Compared) -> Option<Estimate> {
        match self {
            Self::Overhead => compared.overhead,
            Self::Speedup => compared.speedup,
            Self::RelativeSpeedup => compared.relative_speedup,
            Self::CapacityShare => compared.of_capacity,
            Self::TaskOverhead => compared.task_overhead_seconds,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overhead => "T1/Ts",
            Self::Speedup => "Ts/TP",
            Self::RelativeSpeedup => "T1/TP",
            Self::CapacityShare => "T1/TP/C",
            Self::TaskOverhead => "(P × TP − Ts) / tasks, in seconds,",
        })
    }
}

/// The rows of a contender, by its name without the swept parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    pub(crate) who: &'static str,
    pub(crate) at: At,
    /// The program whose name begins so, if a row is compared with one of another program.
    pub(crate) program: Option<&'static str>,
    /// The number of workers, if a row is compared with one of another number.
    pub(crate) workers: Option<usize>,
}

/// Values of the swept parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    Any,
    One(&'static str),
    Among(&'static [&'static str]),
}

impl At {
    pub(crate) fn takes(self, value: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => value == Some(one),
            Self::Among(values) => value.is_some_and(|value| values.contains(&value)),
        }
    }
}

impl Pick {
    /// Picks rows of this scheduler. Two picks of any swept value are matched by value.
    pub(crate) const fn new(who: &'static str, at: At) -> Self {
        Self { who, at, program: None, workers: None }
    }

    pub(super) fn takes(&self, point: &Point<'_>) -> bool {
        self.workers.is_none_or(|workers| point.row.workers == workers)
            && self.names(&point.program, &point.who, point.value.as_deref())
    }

    /// Whether it picks a contender on a program with a value of the swept parameter, with some number of workers.
    pub(crate) fn names(&self, program: &ProgramId, who: &SchedulerId, value: Option<&str>) -> bool {
        self.at.takes(value)
            && who.to_string() == self.who
            && self.program.is_none_or(|start| program.to_string().starts_with(start))
    }

    /// Whether `other` is a row to compare `point` with: of the same program and number of workers, unless this pick
    /// names others.
    pub(super) fn is_beside(&self, point: &Point<'_>, other: &Point<'_>) -> bool {
        let is_itself = (&other.who, &other.value, &other.program, other.row.workers)
            == (&point.who, &point.value, &point.program, point.row.workers);
        !is_itself
            && self.takes(other)
            && (self.program.is_some() || other.program == point.program)
            && (self.workers.is_some() || other.row.workers == point.row.workers)
    }

    pub(crate) fn is_one(&self) -> bool {
        matches!(self.at, At::One(_))
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.who)?;
        match self.at {
            At::Any => {}
            At::One(at) => write!(f, " at {at}")?,
            At::Among(values) => write!(f, " at {}", values.join(", "))?,
        }
        self.program.map_or(Ok(()), |program| write!(f, " in {program}"))?;
        self.workers.map_or(Ok(()), |workers| write!(f, " on {workers}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::experiment::claim::{Claim, Decided, Limit, Verdict, decide};
    use crate::record::Run;
    use crate::record::tests::run;
    use crate::summary::summarize;

    const SPLIT: Pick = Pick::new("filch split", At::Any);

    fn decided(claim: Claim, runs: &[Run]) -> Decided {
        decide(&Experiment { claims: vec![claim], ..Experiment::new("") }, &summarize(runs, &[]), 2).remove(0)
    }

    /// Five rounds of these programs, numbers of workers and times.
    fn rounds(rows: &[(&str, usize, f64)]) -> Vec<Run> {
        let of = |round| {
            rows.iter()
                .map(move |&(program, workers, seconds)| Run { round, ..run(program, "filch split", workers, seconds) })
        };
        (0..5).flat_map(of).collect()
    }

    #[test]
    fn a_row_is_compared_with_one_of_another_program_or_number_of_workers() {
        let runs = rounds(&[("fib", 1, 8.0), ("fib", 2, 4.0), ("uts", 1, 6.0), ("uts", 2, 6.0)]);
        let over = |over, limit| {
            let claim = Claim::new("", SPLIT, Measure::Over(Quantity::Time, over), limit);
            decided(Claim { workers: Some(2), programs: &["uts"], ..claim }, &runs)
        };
        let slower = over(Pick { program: Some("fib"), ..SPLIT }, Limit::Within(1.4, 1.6));
        assert_eq!((&slower.verdict, slower.evidence.len()), (&Verdict::Holds, 1));
        assert!(slower.rule.contains("of filch split on 2 over that of filch split in fib is"), "{}", slower.rule);
        let flat = over(Pick { workers: Some(1), ..SPLIT }, Limit::Within(0.9, 1.1));
        assert_eq!((&flat.verdict, flat.evidence.len()), (&Verdict::Holds, 1));
        assert!(flat.evidence[0].of.ends_with("time over filch split on 1"), "{}", flat.evidence[0].of);
        let both = over(Pick { program: Some("fib"), workers: Some(1), ..SPLIT }, Limit::Below(1.0));
        assert!((both.evidence[0].estimate.value - 0.75).abs() < 1e-9);
    }

    #[test]
    fn counts_are_decided_also_where_workers_share_processors() {
        let stolen = Claim::new("", SPLIT, Measure::Is(Quantity::STOLEN), Limit::Below(0.02));
        let runs = rounds(&[("fib", 8, 0.4)]);
        assert!(matches!(decided(stolen.clone(), &runs).verdict, Verdict::NotTestable(_)));
        assert_eq!(decided(Claim { may_share: true, ..stolen }, &runs).verdict, Verdict::Holds);
    }
}
