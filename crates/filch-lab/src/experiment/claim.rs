//! Claims, and the rule that decides each one from the measurements, without judgement: the same lines give the same verdict.
//!
//! Invariant: a claim holds, or does not hold, only if the whole 95 % interval of every number that it concerns says so.

use std::fmt;

use serde_json::{Value, json};

use super::Sweep;
use super::points::{Point, points};
use crate::stats::Estimate;
use crate::summary::Program;

/// With at least this many rounds, an interval misses the true value about as rarely as it states.
pub(crate) const ENOUGH_ROUNDS: usize = 5;

/// A statement, and the condition under which it holds.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) text: &'static str,
    pub(crate) measure: Measure,
    pub(crate) of: Pick,
    /// The programs whose names begin with one of these; all programs if empty.
    pub(crate) programs: &'static [&'static str],
    /// The number of workers; any number if there is none.
    pub(crate) workers: Option<usize>,
    pub(crate) limit: Limit,
}

/// The measured number of a row.
#[derive(Clone, Debug)]
pub(crate) enum Measure {
    /// The time, over that of another row with the same program and number of workers.
    TimeOver(Pick),
    /// The counter of this name, over the number of tasks.
    PerTask(&'static str),
}

/// The rows of a contender, by its name without the swept parameter.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) who: &'static str,
    /// The value of the swept parameter; any value if there is none.
    pub(crate) at: Option<&'static str>,
}

impl Pick {
    /// Picks all values of the swept parameter; two such picks are matched by value.
    pub(crate) const fn any(who: &'static str) -> Self {
        Self { who, at: None }
    }

    pub(crate) const fn at(who: &'static str, value: &'static str) -> Self {
        Self { who, at: Some(value) }
    }

    fn takes(&self, point: &Point<'_>) -> bool {
        let at = self.at.is_none_or(|at| point.value.as_deref() == Some(at));
        at && point.who.to_string() == self.who
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.who)?;
        self.at.map_or(Ok(()), |at| write!(f, " at {at}"))
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

impl Verdict {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotTestable(_) => "not testable here",
        }
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
            "verdict": self.verdict.name(),
            "rule": self.rule,
            "missing": missing,
            "evidence": evidence.collect::<Vec<_>>(),
        })
    }
}

/// Decides all claims.
pub(crate) fn decide(claims: &[Claim], sweep: Option<&Sweep>, programs: &[Program], cores: usize) -> Vec<Decided> {
    let points = points(programs, sweep);
    claims.iter().map(|claim| claim.decide(&points, cores)).collect()
}

impl Claim {
    fn decide(&self, points: &[Point<'_>], cores: usize) -> Decided {
        let of: Vec<&Point<'_>> = points.iter().filter(|point| self.concerns(point)).collect();
        let (testable, oversubscribed): (Vec<_>, Vec<_>) =
            of.iter().copied().partition(|point| point.row.workers <= cores);
        let mut evidence: Vec<Evidence> = testable.iter().flat_map(|point| self.evidence(point, points)).collect();
        // Evidence against the claim comes first, then undecided evidence.
        let rank = |evidence: &Evidence| match self.says(evidence) {
            Ok(holds) => {
                if holds {
                    2
                } else {
                    0
                }
            }
            Err(_) => 1,
        };
        evidence.sort_by(|a, b| rank(a).cmp(&rank(b)).then(self.slack(a).total_cmp(&self.slack(b))));
        let verdict = match evidence.first().map(|worst| self.says(worst)) {
            Some(Ok(true)) => Verdict::Holds,
            Some(Ok(false)) => Verdict::DoesNotHold,
            Some(Err(missing)) => Verdict::NotTestable(missing),
            None => Verdict::NotTestable(match oversubscribed.iter().map(|point| point.row.workers).min() {
                Some(workers) => format!("It needs {workers} processors, but there are {cores}"),
                None => "It concerns nothing that was measured".to_owned(),
            }),
        };
        Decided { text: self.text, rule: self.rule(), verdict, evidence }
    }

    fn concerns(&self, point: &Point<'_>) -> bool {
        let title = point.program.to_string();
        self.of.takes(point)
            && self.workers.is_none_or(|workers| point.row.workers == workers)
            && (self.programs.is_empty() || self.programs.iter().any(|start| title.starts_with(start)))
    }

    fn evidence(&self, point: &Point<'_>, points: &[Point<'_>]) -> Vec<Evidence> {
        let at = |point: &Point<'_>| point.value.as_ref().map_or_else(String::new, |value| format!(" at {value}"));
        let place = |what: String| format!("{}, {} on {}, {what}", point.program, point.who, point.row.workers);
        match &self.measure {
            Measure::PerTask(counter) => {
                let counted = point.row.counters.get(*counter);
                let (Some(counted), Some(tasks)) = (counted, point.row.tasks.filter(|&tasks| tasks > 0)) else {
                    return Vec::new();
                };
                #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
                let share = Estimate::paired([&counted.rounds], |[count]| count / tasks as f64);
                let of = format!(
                    "{}, {}{} on {}, {counter} per task",
                    point.program,
                    point.who,
                    at(point),
                    point.row.workers
                );
                share.map(|estimate| Evidence { of, estimate }).into_iter().collect()
            }
            Measure::TimeOver(over) => {
                let is_beside = |other: &&Point<'_>| {
                    let same = other.program == point.program && other.row.workers == point.row.workers;
                    // A reference line has no value.
                    let paired = self.of.at.is_some()
                        || over.at.is_some()
                        || other.value.is_none()
                        || other.value == point.value;
                    let is_itself = (&other.who, &other.value) == (&point.who, &point.value);
                    same && paired && !is_itself && over.takes(other)
                };
                let ratio = |other: &Point<'_>| {
                    let estimate =
                        Estimate::paired([&point.row.rounds, &other.row.rounds], |[time, over]| time / over)?;
                    let what = format!("time{} over {}{}", at(point), other.who, at(other));
                    Some(Evidence { of: place(what), estimate })
                };
                points.iter().filter(is_beside).filter_map(ratio).collect()
            }
        }
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
        let what = match &self.measure {
            Measure::TimeOver(over) => format!("the time of {} over that of {over}", self.of),
            Measure::PerTask(counter) => format!("{counter} of {} per task", self.of),
        };
        let on = self.workers.map_or_else(String::new, |workers| format!(" on {workers}"));
        format!("the 95 % interval of {what}{on} is {}", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Run;
    use crate::record::tests::run;
    use crate::summary::summarize;

    const LESS: Claim = Claim {
        text: "filch takes half of rayon's time",
        measure: Measure::TimeOver(Pick::any("rayon")),
        of: Pick::any("filch split"),
        programs: &[],
        workers: None,
        limit: Limit::Below(0.5),
    };

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

    fn verdict(claim: &Claim, runs: &[Run]) -> Decided {
        decide(std::slice::from_ref(claim), None, &summarize(runs, &[]), 2).remove(0)
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
        let steals = Claim { measure: Measure::PerTask("steals"), limit: Limit::Within(0.01, 0.02), ..LESS };
        let decided = verdict(&steals, &session(&[0.4; 5], 2));
        assert_eq!(decided.verdict, Verdict::Holds);
        assert!((decided.evidence[0].estimate.value - 0.012).abs() < 1e-9);
        let told = decided.json();
        assert_eq!((&told["verdict"], &told["missing"]), (&"holds".into(), &Value::Null));
        assert!(told["rule"].as_str().unwrap().ends_with("steals of filch split per task is between 0.01 and 0.02"));
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
        let evidence = |of, over| {
            let claim = Claim { of, measure: Measure::TimeOver(over), ..LESS };
            let found = decide(&[claim], Some(&sweep), &programs, 2).remove(0).evidence;
            found.iter().map(|evidence| evidence.estimate.value).collect::<Vec<_>>()
        };
        assert_eq!(evidence(Pick::any("filch bwos-l"), Pick::any("filch padws")), [2.0, 1.0], "matched by value");
        assert_eq!(evidence(Pick::at("filch bwos-l", "2"), Pick::any("filch padws")), [2.0, 2.0], "one with all");
        assert_eq!(evidence(Pick::any("filch bwos-l"), Pick::at("filch bwos-l", "8")), [2.0], "all with one");
        assert_eq!(evidence(Pick::at("filch bwos-l", "8"), Pick::any("filch abp")), [1.0 / 1.5], "a reference line");
    }
}
