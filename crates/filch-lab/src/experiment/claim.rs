//! Claims, and the rule that decides each one from the measurements, without judgement: the same lines give the same
//! verdict.
//!
//! Invariant: a claim holds, or does not hold, only if the whole 95 % interval of every number that it concerns says
//! so.

use std::fmt;

use serde_json::{Value, json};

use super::origin::{Origin, Standing};
use super::points::{Point, points};
use super::quantity::{Measure, Pick, Quantity, joined};
use super::{Experiment, Sweep, related};
use crate::identity::{ProgramId, SchedulerId};
use crate::stats::{Estimate, Rounds, geometric_mean};
use crate::summary::Program;

/// With at least this many rounds, an interval misses the true value about as rarely as it states.
pub(crate) const ENOUGH_ROUNDS: usize = 5;

/// A statement, and the condition under which it holds.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) text: &'static str,
    pub(crate) of: Pick,
    pub(crate) measure: Measure,
    pub(crate) limit: Limit,
    /// The programs whose names begin with one of these; all programs if empty.
    pub(crate) programs: &'static [&'static str],
    /// A parameter of the programs, and its value; all programs if there is none.
    pub(crate) with: Option<(&'static str, &'static str)>,
    /// The number of workers; any number if there is none.
    pub(crate) workers: Option<usize>,
    /// What a machine must have for a test, beyond what is measured.
    pub(crate) needs: Option<Need>,
    /// Whether workers may share processors, because it concerns what they do and not how long that takes.
    pub(crate) may_share: bool,
    /// Whose it is, unless a ledger names it.
    pub(crate) origin: Origin,
    /// Whether the machine chooses its rows, so that rules and rows of two machines differ.
    pub(crate) by_machine: bool,
}

/// What a claim needs of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    Processors(usize),
    /// What no run of ours shows, as a sentence without its end.
    Else(&'static str),
}

impl Claim {
    /// Claims that a number of these rows is within the limit, in all programs, with any number of workers.
    pub(crate) const fn new(text: &'static str, of: Pick, measure: Measure, limit: Limit) -> Self {
        Self {
            text,
            of,
            measure,
            limit,
            programs: &[],
            with: None,
            workers: None,
            needs: None,
            may_share: false,
            origin: Origin::Ours,
            by_machine: false,
        }
    }
}

/// The range of a number for which a claim holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Below(f64),
    Above(f64),
    Within(f64, f64),
}

impl Limit {
    /// Whether the whole interval satisfies the limit, or violates it; `None` if it crosses the limit.
    fn decides(self, (low, high): (f64, f64)) -> Option<bool> {
        let (from, to) = match self {
            Self::Below(to) => (f64::NEG_INFINITY, to),
            Self::Above(from) => (from, f64::INFINITY),
            Self::Within(from, to) => (from, to),
        };
        match (low > from && high < to, high <= from || low >= to) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Whether a number satisfies the limit, or what is missing to decide.
    fn says(self, evidence: &Evidence) -> Result<bool, String> {
        let Estimate { interval, rounds, .. } = evidence.estimate;
        match interval {
            Some(interval) if rounds >= ENOUGH_ROUNDS => {
                self.decides(interval).ok_or_else(|| "An interval crosses the limit; more rounds may decide".to_owned())
            }
            _ => Err(format!("It needs {ENOUGH_ROUNDS} rounds, but there are {rounds}")),
        }
    }

    /// The distance of a number to the limit; negative if it violates the limit.
    fn slack(self, evidence: &Evidence) -> f64 {
        let (low, high) = evidence.estimate.interval.unwrap_or((evidence.estimate.value, evidence.estimate.value));
        match self {
            Self::Below(to) => to - high,
            Self::Above(from) => low - from,
            Self::Within(from, to) => (low - from).min(to - high),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(to) => write!(f, "below {to}"),
            Self::Above(from) => write!(f, "above {from}"),
            Self::Within(from, to) => write!(f, "between {from} and {to}"),
        }
    }
}

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Holds,
    DoesNotHold,
    /// More runs of these rows may decide.
    Undecided {
        why: String,
        rows: Vec<RowId>,
    },
    /// With what is missing.
    NotTestable(String),
}

impl Verdict {
    /// Judges by many decisions: one against the claim refutes it, and a missing one leaves it open.
    pub(crate) fn of(decisions: impl IntoIterator<Item = Result<bool, String>>) -> Self {
        let mut verdict = None;
        for decision in decisions {
            match decision {
                Ok(false) => return Self::DoesNotHold,
                Ok(true) => verdict = verdict.or(Some(Self::Holds)),
                Err(missing) if !matches!(verdict, Some(Self::NotTestable(_))) => {
                    verdict = Some(Self::NotTestable(missing));
                }
                Err(_) => {}
            }
        }
        verdict.unwrap_or_else(|| Self::NotTestable("It concerns nothing that was measured".to_owned()))
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub(crate) text: &'static str,
    /// The rule, in words.
    pub(crate) rule: String,
    pub(crate) verdict: Verdict,
    /// The numbers that the claim concerns; the strongest evidence against it comes first.
    pub(crate) evidence: Vec<Evidence>,
    /// Whose claim it is.
    pub(crate) origin: Origin,
}

/// A number and its description.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) of: String,
    pub(crate) estimate: Estimate,
    /// The rows of runs that it comes from, if it comes from runs.
    pub(crate) rows: Vec<RowId>,
}

/// The rounds of a ratio, and the rows that it compares.
type Ratio = (Rounds, [RowId; 2]);

/// What the runs of a row have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowId {
    pub(crate) program: ProgramId,
    pub(crate) who: SchedulerId,
    pub(crate) workers: usize,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tasks per counter may be tiny.
        let number = |value: f64| {
            if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { format!("{value:.2}") }
        };
        write!(f, "{}: {}", self.of, number(self.estimate.value))?;
        self.estimate.interval.map_or(Ok(()), |(low, high)| write!(f, " [{}, {}]", number(low), number(high)))
    }
}

impl Decided {
    /// Decides by the limit of these numbers.
    pub(crate) fn by(limit: Limit, text: &'static str, rule: String, mut evidence: Vec<Evidence>) -> Self {
        // Evidence against the claim comes first, then undecided evidence.
        let rank = |evidence: &Evidence| limit.says(evidence).map_or(1, |holds| if holds { 2 } else { 0 });
        evidence.sort_by(|a, b| rank(a).cmp(&rank(b)).then(limit.slack(a).total_cmp(&limit.slack(b))));
        let verdict = match Verdict::of(evidence.iter().map(|evidence| limit.says(evidence))) {
            Verdict::NotTestable(why) if !evidence.is_empty() => {
                let open = evidence.iter().filter(|evidence| limit.says(evidence).is_err());
                Verdict::Undecided { why, rows: open.flat_map(|evidence| evidence.rows.iter().cloned()).collect() }
            }
            verdict => verdict,
        };
        Self { text, rule, verdict, evidence, origin: Origin::Ours }
    }

    /// As [`Decided::by`]; the rule is that `what` is as the limit says.
    pub(crate) fn within(limit: Limit, text: &'static str, what: &str, evidence: Vec<Evidence>) -> Self {
        Self::by(limit, text, format!("{what} is {limit}"), evidence)
    }

    /// Returns the verdict in words.
    pub(crate) fn name(&self) -> &'static str {
        self.standing().word(self.origin)
    }

    pub(crate) fn standing(&self) -> Standing {
        (&self.verdict).into()
    }

    /// Returns the strongest evidence against the claim, or what is missing, for people.
    pub(crate) fn why(&self) -> String {
        let shown = self.evidence.first().map(ToString::to_string);
        let shown = match self.evidence.len() {
            0 | 1 => shown,
            several => shown.map(|worst| format!("{worst}, the worst of {several}")),
        };
        match (&self.verdict, shown) {
            (Verdict::NotTestable(missing) | Verdict::Undecided { why: missing, .. }, Some(shown)) => {
                format!("{missing} ({shown})")
            }
            (Verdict::NotTestable(missing) | Verdict::Undecided { why: missing, .. }, None) => missing.clone(),
            (_, shown) => shown.unwrap_or_default(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let evidence = self.evidence.iter().map(|Evidence { of, estimate, .. }| {
            let (low, high) = estimate.interval.unzip();
            json!({ "of": of, "value": estimate.value, "low": low, "high": high, "rounds": estimate.rounds })
        });
        let missing = match &self.verdict {
            Verdict::NotTestable(missing) | Verdict::Undecided { why: missing, .. } => Some(missing),
            Verdict::Holds | Verdict::DoesNotHold => None,
        };
        json!({
            "claim": self.text,
            "origin": self.origin.name(),
            "verdict": self.name(),
            "rule": self.rule,
            "missing": missing,
            "evidence": evidence.collect::<Vec<_>>(),
        })
    }
}

/// Decides all claims of an experiment.
pub(crate) fn decide(experiment: &Experiment, programs: &[Program], cores: usize) -> Vec<Decided> {
    let points = points(programs, experiment.sweep.as_ref());
    experiment.of_whom(experiment.claims.iter().map(|claim| claim.decide(&points, cores)).collect())
}

impl Claim {
    fn decide(&self, points: &[Point<'_>], cores: usize) -> Decided {
        let of: Vec<&Point<'_>> = points.iter().filter(|point| self.concerns(point)).collect();
        let (testable, oversubscribed): (Vec<_>, Vec<_>) =
            of.iter().copied().partition(|point| self.may_share || point.row.workers <= cores);
        let mut decided = Decided::by(self.limit, self.text, self.rule(), self.evidence(&testable, points));
        let too_many =
            || oversubscribed.iter().map(|point| point.row.workers).min().map(|n| needs_processors(n, cores));
        let missing = self.lacks(cores).or_else(|| too_many().filter(|_| decided.evidence.is_empty()));
        decided.verdict = missing.map_or(decided.verdict, Verdict::NotTestable);
        Decided { origin: self.origin, ..decided }
    }

    /// Returns what the machine lacks for a test.
    fn lacks(&self, cores: usize) -> Option<String> {
        match self.needs? {
            Need::Processors(needed) => (cores < needed).then(|| needs_processors(needed, cores)),
            Need::Else(what) => Some(what.to_owned()),
        }
    }

    fn concerns(&self, point: &Point<'_>) -> bool {
        self.is_about(&point.program, &point.who, point.value.as_deref())
            && [self.of.workers, self.workers].into_iter().flatten().all(|workers| point.row.workers == workers)
            // On a machine with enough processors, those with fewer workers say nothing.
            && !matches!(self.needs, Some(Need::Processors(needed)) if point.row.workers < needed)
    }

    /// Whether it speaks of a contender on a program with a value of the swept parameter.
    pub(crate) fn is_about(&self, program: &ProgramId, who: &SchedulerId, value: Option<&str>) -> bool {
        let has = |(parameter, value): (&str, &str)| program.without(parameter).1.as_deref() == Some(value);
        let is_among = |title: String| self.programs.iter().any(|start| title.starts_with(start));
        self.of.names(program, who, value)
            && self.with.is_none_or(has)
            && (self.programs.is_empty() || is_among(program.to_string()))
    }

    /// Returns the numbers of these points; others may be compared with them.
    fn evidence(&self, of: &[&Point<'_>], points: &[Point<'_>]) -> Vec<Evidence> {
        let about = |point: &Point<'_>, others: Vec<RowId>, what: String, estimate: Estimate| Evidence {
            of: format!("{}, {}{} on {}, {what}", point.program, point.who, value(point), point.row.workers),
            estimate,
            rows: std::iter::once(point.id()).chain(others).collect(),
        };
        let each = |point: &&Point<'_>| -> Vec<Evidence> {
            match self.measure {
                Measure::Is(quantity) => {
                    let estimate = quantity.estimate(point.row);
                    estimate
                        .map(|estimate| about(point, Vec::new(), quantity.to_string(), estimate))
                        .into_iter()
                        .collect()
                }
                Measure::OverSwept(quantity) => {
                    let swept = point.value.as_deref().and_then(Sweep::place);
                    let (Some(rounds), Some(swept)) = (quantity.rounds(point.row), swept) else { return Vec::new() };
                    let estimate = Estimate::paired([&rounds], |[number]| number / swept);
                    let what = format!("{quantity} over this value");
                    estimate.map(|estimate| about(point, Vec::new(), what, estimate)).into_iter().collect()
                }
                Measure::Of(comparison) => {
                    let estimate = comparison.of(&point.row.compared);
                    let against = || references(point, points);
                    let about = |estimate| about(point, against(), comparison.to_string(), estimate);
                    estimate.map(about).into_iter().collect()
                }
                Measure::Over(quantity, over) | Measure::Beyond(quantity, over) => {
                    let (word, of): (_, fn(f64, f64) -> f64) = match self.measure {
                        Measure::Beyond(..) => ("beyond", |one, other| one - other),
                        _ => ("over", |one, other| one / other),
                    };
                    let compared = self.beside(point, quantity, over, points, of).into_iter();
                    let each = |(other, numbers): (&Point<'_>, Rounds)| {
                        let what = format!("{quantity} {word} {}{}{}", other.who, value(other), elsewhere(over, other));
                        Some(about(point, vec![other.id()], what, Estimate::paired([&numbers], |[number]| number)?))
                    };
                    compared.filter_map(each).collect()
                }
                Measure::OverWith(..) | Measure::FlatUpTo(_) | Measure::MeanOver(..) | Measure::OverBest(..) => {
                    Vec::new()
                }
            }
        };
        match self.measure {
            Measure::MeanOver(quantity, over) => self.means(quantity, over, of, points),
            Measure::OverWith(quantity, parameter, other) => {
                related::over_with(of, quantity, (parameter, other), points)
            }
            Measure::FlatUpTo(share) => related::flat_up_to(of, share),
            Measure::OverBest(quantity, names) => related::over_best(of, quantity, names, points),
            _ => of.iter().flat_map(each).collect(),
        }
    }

    /// Compares a point's quantity with that of the picked points beside it.
    fn beside<'a, 'p>(
        &self,
        point: &Point<'_>,
        quantity: Quantity,
        over: Pick,
        points: &'a [Point<'p>],
        of: fn(f64, f64) -> f64,
    ) -> Vec<(&'a Point<'p>, Rounds)> {
        let is_beside = |other: &&Point<'_>| {
            // A reference line has no value.
            let paired = self.of.is_one() || over.is_one() || other.value.is_none() || other.value == point.value;
            paired && over.is_beside(point, other)
        };
        let compared = |other: &'a Point<'p>| {
            Some((other, joined(&quantity.rounds(point.row)?, &quantity.rounds(other.row)?, of)))
        };
        points.iter().filter(is_beside).filter_map(compared).collect()
    }

    /// Returns the geometric means of the ratios over all programs, for each number of workers and each pair of swept
    /// values.
    fn means(&self, quantity: Quantity, over: Pick, of: &[&Point<'_>], points: &[Point<'_>]) -> Vec<Evidence> {
        let mut groups: Vec<(String, Vec<Ratio>)> = Vec::new();
        for point in of {
            for (other, ratio) in self.beside(point, quantity, over, points, |one, other| one / other) {
                let (mine, theirs) = (value(point), value(other));
                let name =
                    format!("{}{mine} on {}, {quantity} over {}{theirs}", point.who, point.row.workers, other.who);
                let ratio = (ratio, [point.id(), other.id()]);
                match groups.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, ratios)) => ratios.push(ratio),
                    None => groups.push((name, vec![ratio])),
                }
            }
        }
        let mean = |(name, ratios): (String, Vec<Ratio>)| {
            let (count, (first, _)) = (ratios.len(), ratios.first()?);
            let of = |round: &usize| {
                let numbers: Option<Vec<f64>> = ratios.iter().map(|(ratio, _)| ratio.get(round).copied()).collect();
                Some((*round, geometric_mean(&numbers?)?))
            };
            let means: Rounds = first.keys().filter_map(of).collect();
            let estimate = Estimate::paired([&means], |[mean]| mean)?;
            let rows = ratios.into_iter().flat_map(|(_, rows)| rows).collect();
            Some(Evidence { of: format!("mean of {count} programs, {name}"), estimate, rows })
        };
        groups.into_iter().filter_map(mean).collect()
    }

    /// Returns the rule in words.
    pub(crate) fn rule(&self) -> String {
        let on = self.workers.map_or_else(String::new, |workers| format!(" on {workers}"));
        let shared = if self.may_share { ", also where workers share processors," } else { "" };
        let with = self.with.map_or_else(String::new, |(name, value)| format!(" on programs with {name}={value}"));
        let of = format!("{}{on}{with}", self.of);
        let what = match self.measure {
            Measure::Is(quantity) => format!("the {quantity} of {of}"),
            Measure::Over(quantity, over) => format!("the {quantity} of {of} over that of {over}"),
            Measure::MeanOver(quantity, over) => {
                format!("the {quantity} of {of} over that of {over}, as a geometric mean over the programs,")
            }
            Measure::OverBest(quantity, names) => {
                format!("the {quantity} of {of} over that of the best of {}", names.join(", "))
            }
            Measure::OverSwept(quantity) => format!("the {quantity} of {of} over the swept value"),
            Measure::Beyond(quantity, over) => format!("the {quantity} of {of} minus that of {over}"),
            Measure::OverWith(quantity, parameter, other) => {
                format!("the {quantity} of {of} over that on the program with {parameter}={other}")
            }
            Measure::FlatUpTo(share) => format!(
                "the swept time up to which {of} takes at most {:.0} % longer than with the least, over its time,",
                share * 100.0
            ),
            Measure::Of(comparison) => format!("{comparison} of {of}"),
        };
        format!("the 95 % interval of {what}{shared} is {}", self.limit)
    }
}

/// Returns the rows that every comparison of a point is against: the sequential program, and one worker.
fn references(point: &Point<'_>, points: &[Point<'_>]) -> Vec<RowId> {
    let is_reference = |other: &&Point<'_>| {
        let is_one = other.row.workers == 1 && other.row.who == point.row.who;
        other.of == point.of && (other.row.is_serial() || is_one)
    };
    points.iter().filter(is_reference).map(Point::id).collect()
}

/// Returns the program and the number of workers of a point that a pick takes from elsewhere, for its name.
fn elsewhere(over: Pick, other: &Point<'_>) -> String {
    let program = over.program.map_or_else(String::new, |_| format!(" in {}", other.program));
    over.workers.map_or(program.clone(), |workers| format!("{program} on {workers}"))
}

/// Returns the point's value of the swept parameter, for its name.
fn value(point: &Point<'_>) -> String {
    point.value.as_ref().map_or_else(String::new, |value| format!(" at {value}"))
}

fn needs_processors(needed: usize, cores: usize) -> String {
    format!("It needs {needed} processors, but there are {cores}")
}

#[cfg(test)]
mod tests;
