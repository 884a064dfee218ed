//! Claims, and the rule that decides each one from the measurements, without judgement: the same lines give the same verdict.
//!
//! Invariant: a claim holds, or does not hold, only if the whole 95 % interval of every number that it concerns says so.

use std::fmt;

use serde_json::{Value, json};

use super::points::{Point, points};
use super::quantity::{Measure, Pick, Quantity, joined};
use super::{Experiment, Sweep};
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
    /// The number of workers; any number if there is none.
    pub(crate) workers: Option<usize>,
    /// What a machine must have for a test, beyond what is measured.
    pub(crate) needs: Option<Need>,
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
        Self { text, of, measure, limit, programs: &[], workers: None, needs: None }
    }

    /// Restricts the claim to this number of workers.
    pub(crate) const fn on(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Restricts the claim to the programs whose names begin with one of these.
    pub(crate) const fn in_programs(mut self, programs: &'static [&'static str]) -> Self {
        self.programs = programs;
        self
    }

    /// Says what a machine must have for a test.
    pub(crate) const fn needs(mut self, need: Need) -> Self {
        self.needs = Some(need);
        self
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
    /// With what is missing.
    NotTestable(String),
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
    /// Whether a paper claims it.
    pub(crate) is_of_paper: bool,
}

/// A number and its description.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) of: String,
    pub(crate) estimate: Estimate,
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
    /// Returns the verdict in words.
    pub(crate) fn name(&self) -> &'static str {
        match (&self.verdict, self.is_of_paper) {
            (Verdict::Holds, false) => "holds",
            (Verdict::Holds, true) => "reproduced",
            (Verdict::DoesNotHold, false) => "does not hold",
            (Verdict::DoesNotHold, true) => "not reproduced",
            (Verdict::NotTestable(_), _) => "not testable here",
        }
    }

    /// Returns the strongest evidence against the claim, or what is missing, for people.
    pub(crate) fn why(&self) -> String {
        let shown = self.evidence.first().map(ToString::to_string);
        let shown = match self.evidence.len() {
            0 | 1 => shown,
            several => shown.map(|worst| format!("{worst}, the worst of {several}")),
        };
        match (&self.verdict, shown) {
            (Verdict::NotTestable(missing), Some(shown)) => format!("{missing} ({shown})"),
            (Verdict::NotTestable(missing), None) => missing.clone(),
            (_, shown) => shown.unwrap_or_default(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let evidence = self.evidence.iter().map(|Evidence { of, estimate }| {
            let (low, high) = estimate.interval.unzip();
            json!({ "of": of, "value": estimate.value, "low": low, "high": high, "rounds": estimate.rounds })
        });
        let missing = if let Verdict::NotTestable(missing) = &self.verdict { Some(missing) } else { None };
        json!({
            "claim": self.text,
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
    let decide = |claim: &Claim| Decided { is_of_paper: experiment.paper.is_some(), ..claim.decide(&points, cores) };
    experiment.claims.iter().map(decide).collect()
}

impl Claim {
    fn decide(&self, points: &[Point<'_>], cores: usize) -> Decided {
        let of: Vec<&Point<'_>> = points.iter().filter(|point| self.concerns(point)).collect();
        let (testable, oversubscribed): (Vec<_>, Vec<_>) =
            of.iter().copied().partition(|point| point.row.workers <= cores);
        let mut evidence = self.evidence(&testable, points);
        // Evidence against the claim comes first, then undecided evidence.
        let rank = |evidence: &Evidence| self.says(evidence).map_or(1, |holds| if holds { 2 } else { 0 });
        evidence.sort_by(|a, b| rank(a).cmp(&rank(b)).then(self.slack(a).total_cmp(&self.slack(b))));
        let verdict = match (self.lacks(cores), evidence.first().map(|worst| self.says(worst))) {
            (Some(missing), _) | (None, Some(Err(missing))) => Verdict::NotTestable(missing),
            (None, Some(Ok(true))) => Verdict::Holds,
            (None, Some(Ok(false))) => Verdict::DoesNotHold,
            (None, None) => Verdict::NotTestable(match oversubscribed.iter().map(|point| point.row.workers).min() {
                Some(workers) => needs_processors(workers, cores),
                None => "It concerns nothing that was measured".to_owned(),
            }),
        };
        Decided { text: self.text, rule: self.rule(), verdict, evidence, is_of_paper: false }
    }

    /// Returns what the machine lacks for a test.
    fn lacks(&self, cores: usize) -> Option<String> {
        match self.needs? {
            Need::Processors(needed) => (cores < needed).then(|| needs_processors(needed, cores)),
            Need::Else(what) => Some(what.to_owned()),
        }
    }

    fn concerns(&self, point: &Point<'_>) -> bool {
        let title = point.program.to_string();
        self.of.takes(point)
            && self.workers.is_none_or(|workers| point.row.workers == workers)
            && (self.programs.is_empty() || self.programs.iter().any(|start| title.starts_with(start)))
    }

    /// Returns the numbers of these points; others may be compared with them.
    fn evidence(&self, of: &[&Point<'_>], points: &[Point<'_>]) -> Vec<Evidence> {
        let about = |point: &Point<'_>, what: String, estimate: Estimate| Evidence {
            of: format!("{}, {}{} on {}, {what}", point.program, point.who, value(point), point.row.workers),
            estimate,
        };
        let each = |point: &&Point<'_>| -> Vec<Evidence> {
            match self.measure {
                Measure::Is(quantity) => {
                    let estimate = quantity.estimate(point.row);
                    estimate.map(|estimate| about(point, quantity.to_string(), estimate)).into_iter().collect()
                }
                Measure::OverSwept(quantity) => {
                    let swept = point.value.as_deref().and_then(Sweep::place);
                    let (Some(rounds), Some(swept)) = (quantity.rounds(point.row), swept) else { return Vec::new() };
                    let estimate = Estimate::paired([&rounds], |[number]| number / swept);
                    let what = format!("{quantity} over this value");
                    estimate.map(|estimate| about(point, what, estimate)).into_iter().collect()
                }
                Measure::Of(comparison) => {
                    let estimate = comparison.of(&point.row.compared);
                    estimate.map(|estimate| about(point, comparison.to_string(), estimate)).into_iter().collect()
                }
                Measure::Over(quantity, over) => self
                    .ratios(point, quantity, over, points)
                    .into_iter()
                    .filter_map(|(other, ratio)| {
                        let what = format!("{quantity} over {}{}", other.who, value(other));
                        Some(about(point, what, Estimate::paired([&ratio], |[ratio]| ratio)?))
                    })
                    .collect(),
                Measure::MeanOver(..) => Vec::new(),
            }
        };
        match self.measure {
            Measure::MeanOver(quantity, over) => self.means(quantity, over, of, points),
            _ => of.iter().flat_map(each).collect(),
        }
    }

    /// Returns the ratios of a point's quantity to that of the picked points beside it.
    fn ratios<'a, 'p>(
        &self,
        point: &Point<'_>,
        quantity: Quantity,
        over: Pick,
        points: &'a [Point<'p>],
    ) -> Vec<(&'a Point<'p>, Rounds)> {
        let is_beside = |other: &&Point<'_>| {
            let same = other.program == point.program && other.row.workers == point.row.workers;
            // A reference line has no value.
            let paired = self.of.is_one() || over.is_one() || other.value.is_none() || other.value == point.value;
            let is_itself = (&other.who, &other.value) == (&point.who, &point.value);
            same && paired && !is_itself && over.takes(other)
        };
        let ratio = |other: &'a Point<'p>| {
            let ratio = joined(&quantity.rounds(point.row)?, &quantity.rounds(other.row)?, |of, over| of / over);
            Some((other, ratio))
        };
        points.iter().filter(is_beside).filter_map(ratio).collect()
    }

    /// Returns the geometric means of the ratios over all programs, for each number of workers and each pair of swept values.
    fn means(&self, quantity: Quantity, over: Pick, of: &[&Point<'_>], points: &[Point<'_>]) -> Vec<Evidence> {
        let mut groups: Vec<(String, Vec<Rounds>)> = Vec::new();
        for point in of {
            for (other, ratio) in self.ratios(point, quantity, over, points) {
                let (mine, theirs) = (value(point), value(other));
                let name =
                    format!("{}{mine} on {}, {quantity} over {}{theirs}", point.who, point.row.workers, other.who);
                match groups.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, ratios)) => ratios.push(ratio),
                    None => groups.push((name, vec![ratio])),
                }
            }
        }
        let mean = |(name, ratios): (String, Vec<Rounds>)| {
            let (count, first) = (ratios.len(), ratios.first()?);
            let of = |round: &usize| {
                let numbers: Option<Vec<f64>> = ratios.iter().map(|ratio| ratio.get(round).copied()).collect();
                Some((*round, geometric_mean(&numbers?)?))
            };
            let means: Rounds = first.keys().filter_map(of).collect();
            let estimate = Estimate::paired([&means], |[mean]| mean)?;
            Some(Evidence { of: format!("mean of {count} programs, {name}"), estimate })
        };
        groups.into_iter().filter_map(mean).collect()
    }

    /// Whether a number satisfies the limit, or what is missing to decide.
    fn says(&self, evidence: &Evidence) -> Result<bool, String> {
        let Estimate { interval, rounds, .. } = evidence.estimate;
        match interval {
            Some(interval) if rounds >= ENOUGH_ROUNDS => self
                .limit
                .decides(interval)
                .ok_or_else(|| "An interval crosses the limit; more rounds may decide".to_owned()),
            _ => Err(format!("It needs {ENOUGH_ROUNDS} rounds, but there are {rounds}")),
        }
    }

    /// The distance of a number to the limit; negative if it violates the limit.
    fn slack(&self, evidence: &Evidence) -> f64 {
        let (low, high) = evidence.estimate.interval.unwrap_or((evidence.estimate.value, evidence.estimate.value));
        match self.limit {
            Limit::Below(to) => to - high,
            Limit::Above(from) => low - from,
            Limit::Within(from, to) => (low - from).min(to - high),
        }
    }

    /// Returns the rule in words.
    fn rule(&self) -> String {
        let of = self.of;
        let what = match self.measure {
            Measure::Is(quantity) => format!("the {quantity} of {of}"),
            Measure::Over(quantity, over) => format!("the {quantity} of {of} over that of {over}"),
            Measure::MeanOver(quantity, over) => {
                format!("the {quantity} of {of} over that of {over}, as a geometric mean over the programs,")
            }
            Measure::OverSwept(quantity) => format!("the {quantity} of {of} over the swept value"),
            Measure::Of(comparison) => format!("{comparison} of {of}"),
        };
        let on = self.workers.map_or_else(String::new, |workers| format!(" on {workers}"));
        format!("the 95 % interval of {what}{on} is {}", self.limit)
    }
}

/// Returns the point's value of the swept parameter, for its name.
fn value(point: &Point<'_>) -> String {
    point.value.as_ref().map_or_else(String::new, |value| format!(" at {value}"))
}

fn needs_processors(needed: usize, cores: usize) -> String {
    format!("It needs {needed} processors, but there are {cores}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::quantity::Pick;
    use crate::record::Run;
    use crate::record::tests::run;
    use crate::summary::summarize;

    const LESS: Claim = Claim::new(
        "filch takes half of rayon's time",
        Pick::any("filch split"),
        Measure::Over(Quantity::Time, Pick::any("rayon")),
        Limit::Below(0.5),
    );

    /// Rounds in which rayon takes a second, and filch takes these seconds.
    fn session(seconds: &[f64], workers: usize) -> Vec<Run> {
        let rounds = seconds.iter().enumerate().flat_map(|(round, &seconds)| {
            [("filch split", seconds), ("rayon", 1.0)].map(|(who, seconds)| {
                let mut run = run("fib", who, workers, seconds);
                (run.round, run.tasks) = (round, Some(1000));
                run
            })
        });
        rounds.collect()
    }

    fn of(claim: &Claim, sweep: Option<Sweep>) -> Experiment {
        Experiment { sweep, claims: vec![claim.clone()], ..Experiment::new("") }
    }

    fn verdict(claim: &Claim, runs: &[Run]) -> Decided {
        decide(&of(claim, None), &summarize(runs, &[]), 2).remove(0)
    }

    #[test]
    fn a_claim_is_decided_by_the_whole_interval() {
        assert_eq!(verdict(&LESS, &session(&[0.4; 5], 1)).verdict, Verdict::Holds);
        assert_eq!(verdict(&LESS, &session(&[0.6; 5], 1)).verdict, Verdict::DoesNotHold);
        let open = verdict(&LESS, &session(&[0.4, 0.45, 0.45, 0.55, 0.6], 1));
        assert!(matches!(&open.verdict, Verdict::NotTestable(why) if why.contains("crosses")), "{open:?}");
        assert!(open.why().contains("fib n=30, filch split on 1, time over rayon: 0.45 ["), "{}", open.why());
    }

    #[test]
    fn a_claim_needs_enough_evidence() {
        let missing = |runs: &[Run]| match verdict(&LESS, runs).verdict {
            Verdict::NotTestable(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(missing(&session(&[0.4; 3], 1)), "It needs 5 rounds, but there are 3");
        assert_eq!(missing(&session(&[0.4; 5], 8)), "It needs 8 processors, but there are 2");
        assert_eq!(missing(&session(&[0.4; 5], 1)[..1]), "It concerns nothing that was measured");
    }

    #[test]
    fn one_violating_row_refutes_a_claim() {
        let mut runs = session(&[0.4; 5], 1);
        runs.extend(session(&[0.6; 5], 2));
        let decided = verdict(&LESS, &runs);
        assert_eq!((&decided.verdict, decided.evidence.len()), (&Verdict::DoesNotHold, 2));
        assert!(decided.evidence[0].of.contains("on 2"), "{decided:?}");
        assert_eq!(verdict(&Claim { workers: Some(1), ..LESS }, &runs).verdict, Verdict::Holds);
        assert_eq!(
            verdict(&Claim { programs: &["fib"], workers: Some(2), ..LESS }, &runs).verdict,
            Verdict::DoesNotHold
        );
        let elsewhere = verdict(&Claim { programs: &["queens"], ..LESS }, &runs).verdict;
        assert!(matches!(elsewhere, Verdict::NotTestable(_)));
    }

    #[test]
    fn counters_are_compared_per_task() {
        let steals = Claim { measure: Measure::Is(Quantity::STOLEN), limit: Limit::Within(0.01, 0.02), ..LESS };
        let decided = verdict(&steals, &session(&[0.4; 5], 2));
        assert_eq!(decided.verdict, Verdict::Holds);
        assert!((decided.evidence[0].estimate.value - 0.012).abs() < 1e-9);
        let told = decided.json();
        assert_eq!((&told["verdict"], &told["missing"]), (&"holds".into(), &Value::Null));
        assert!(
            told["rule"].as_str().unwrap().ends_with("the steals per task of filch split is between 0.01 and 0.02")
        );
    }

    #[test]
    fn swept_values_are_compared_with_one_or_with_the_same_value() {
        let sweep = Sweep { parameter: "block", values: Vec::new(), meaning: "" };
        let mut runs = Vec::new();
        for round in 0..5 {
            let rows = [
                ("bwos-l:block=2", 2.0),
                ("bwos-l:block=8", 1.0),
                ("padws:block=2", 1.0),
                ("padws:block=8", 1.0),
                ("abp", 1.5),
            ];
            for (pool, seconds) in rows {
                let mut run = run("trees", "filch x", 2, seconds);
                (run.who.pool, run.round) = (Some(pool.to_owned()), round);
                runs.push(run);
            }
        }
        let programs = summarize(&runs, &[]);
        let evidence = |of_rows, over| {
            let claim = Claim { of: of_rows, measure: Measure::Over(Quantity::Time, over), ..LESS };
            let found = decide(&of(&claim, Some(sweep.clone())), &programs, 2).remove(0).evidence;
            found.iter().map(|evidence| evidence.estimate.value).collect::<Vec<_>>()
        };
        assert_eq!(evidence(Pick::any("filch bwos-l"), Pick::any("filch padws")), [2.0, 1.0], "matched by value");
        assert_eq!(evidence(Pick::at("filch bwos-l", "2"), Pick::any("filch padws")), [2.0, 2.0], "one with all");
        assert_eq!(evidence(Pick::any("filch bwos-l"), Pick::at("filch bwos-l", "8")), [2.0], "all with one");
        assert_eq!(evidence(Pick::at("filch bwos-l", "8"), Pick::any("filch abp")), [1.0 / 1.5], "a reference line");
    }
}
