//! Numbers of a row, round by round, and the rows that a claim picks.

use std::fmt;

use super::points::Point;
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
    /// The quantity, over that of another row with the same program and number of workers.
    Over(Quantity, Pick),
    /// The geometric mean of that ratio over all programs.
    MeanOver(Quantity, Pick),
    /// The quantity, over the value of the swept parameter: a number, or a time in seconds.
    OverSwept(Quantity),
    /// The quantity, minus that of another row with the same program and number of workers.
    Beyond(Quantity, Pick),
    /// The quantity, over that of the same scheduler on the program whose parameter of this name has this value instead.
    OverWith(Quantity, &'static str, &'static str),
    /// The swept time up to which runs take at most this share longer than with the least swept time, over the time of such a run.
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
}

impl Comparison {
    pub(super) fn of(self, compared: &Compared) -> Option<Estimate> {
        match self {
            Self::Overhead => compared.overhead,
            Self::Speedup => compared.speedup,
            Self::RelativeSpeedup => compared.relative_speedup,
            Self::CapacityShare => compared.of_capacity,
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
        })
    }
}

/// The rows of a contender, by its name without the swept parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    pub(crate) who: &'static str,
    pub(crate) at: At,
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
    /// Picks all values of the swept parameter; two picks without one fixed value are matched by value.
    pub(crate) const fn any(who: &'static str) -> Self {
        Self { who, at: At::Any }
    }

    /// Picks one value of the swept parameter.
    pub(crate) const fn at(who: &'static str, value: &'static str) -> Self {
        Self { who, at: At::One(value) }
    }

    /// Picks these values of the swept parameter.
    pub(crate) const fn among(who: &'static str, values: &'static [&'static str]) -> Self {
        Self { who, at: At::Among(values) }
    }

    pub(super) fn takes(&self, point: &Point<'_>) -> bool {
        self.at.takes(point.value.as_deref()) && point.who.to_string() == self.who
    }

    pub(super) fn is_one(&self) -> bool {
        matches!(self.at, At::One(_))
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.who)?;
        match self.at {
            At::Any => Ok(()),
            At::One(at) => write!(f, " at {at}"),
            At::Among(values) => write!(f, " at {}", values.join(", ")),
        }
    }
}
