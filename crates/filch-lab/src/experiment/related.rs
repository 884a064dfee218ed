//! Numbers that relate rows of several programs, or all values of a sweep.

use super::Sweep;
use super::claim::Evidence;
use super::points::Point;
use super::quantity::{Quantity, joined};
use crate::stats::{Estimate, Rounds};

/// Returns the ratios of each point's quantity to that of the same scheduler on the program with another value of a
/// parameter.
pub(super) fn over_with(
    of: &[&Point<'_>],
    quantity: Quantity,
    (parameter, value): (&str, &str),
    points: &[Point<'_>],
) -> Vec<Evidence> {
    let each = |point: &&Point<'_>| {
        let (rest, own) = point.program.without(parameter);
        let is_other = |other: &&Point<'_>| {
            let (their_rest, theirs) = other.program.without(parameter);
            let same = (&other.who, &other.value, other.row.workers) == (&point.who, &point.value, point.row.workers);
            same && their_rest == rest && theirs.as_deref() == Some(value)
        };
        let other = points.iter().filter(|_| own.as_deref() != Some(value)).find(is_other)?;
        let ratio = joined(&quantity.rounds(point.row)?, &quantity.rounds(other.row)?, |one, other| one / other);
        let estimate = Estimate::paired([&ratio], |[ratio]| ratio)?;
        let at = point.value.as_ref().map_or_else(String::new, |value| format!(" at {value}"));
        let what = format!("{quantity} over that with {parameter}={value}");
        Some(Evidence {
            of: format!("{}, {}{at} on {}, {what}", point.program, point.who, point.row.workers),
            estimate,
            rows: vec![point.id(), other.id()],
        })
    };
    of.iter().filter_map(each).collect()
}

/// Returns the ratios of each point's quantity to the least of these contenders, on the same program without its
/// unrolling.
pub(super) fn over_best(of: &[&Point<'_>], quantity: Quantity, names: &[&str], points: &[Point<'_>]) -> Vec<Evidence> {
    let each = |point: &&Point<'_>| {
        let plain = point.program.to_string().replacen("-unrolled", "", 1);
        let is_rival = |other: &&Point<'_>| {
            let title = other.program.to_string();
            let is_it = title.strip_prefix(&plain).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
            is_it && other.row.workers == point.row.workers && names.contains(&other.who.to_string().as_str())
        };
        let rivals = points.iter().filter(is_rival);
        let valued = rivals.filter_map(|other| Some((quantity.estimate(other.row)?.value, other)));
        let (_, best) = valued.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let ratio = joined(&quantity.rounds(point.row)?, &quantity.rounds(best.row)?, |one, best| one / best);
        let estimate = Estimate::paired([&ratio], |[ratio]| ratio)?;
        let what = format!("{quantity} over {}, the best", best.who);
        Some(Evidence {
            of: format!("{}, {} on {}, {what}", point.program, point.who, point.row.workers),
            estimate,
            rows: vec![point.id(), best.id()],
        })
    };
    of.iter().filter_map(each).collect()
}

/// Returns for each scheduler, program and number of workers the swept time up to which runs are not longer by more
/// than this share than those with the least swept time, over their time.
pub(super) fn flat_up_to(of: &[&Point<'_>], share: f64) -> Vec<Evidence> {
    let mut curves: Vec<Vec<(f64, &Point<'_>)>> = Vec::new();
    for &point in of {
        let Some(at) = point.value.as_deref().and_then(Sweep::place) else { continue };
        let key = |point: &Point<'_>| (point.program.clone(), point.who.clone(), point.row.workers);
        match curves.iter_mut().find(|curve| key(curve[0].1) == key(point)) {
            Some(curve) => curve.push((at, point)),
            None => curves.push(vec![(at, point)]),
        }
    }
    let each = |mut curve: Vec<(f64, &Point<'_>)>| {
        curve.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (_, first) = *curve.first()?;
        let times = |round: usize| {
            let time = |&(at, point): &(f64, &Point<'_>)| Some((at, *point.row.rounds.get(&round)?));
            curve.iter().map(time).collect::<Option<Vec<_>>>()
        };
        let of = |&round: &usize| Some((round, end_of_flat(&times(round)?, share)? / first.row.rounds[&round]));
        let ends: Rounds = first.row.rounds.keys().filter_map(of).collect();
        let estimate = Estimate::paired([&ends], |[end]| end)?;
        let what = format!("{}, {} on {}, flat up to, over the time", first.program, first.who, first.row.workers);
        Some(Evidence { of: what, estimate, rows: curve.iter().map(|(_, point)| point.id()).collect() })
    };
    curves.into_iter().filter_map(each).collect()
}

/// Returns where the curve leaves the band above its first value for good; `None` if it stays there.
fn end_of_flat(curve: &[(f64, f64)], share: f64) -> Option<f64> {
    let &(start, first) = curve.first()?;
    let top = first * (1.0 + share);
    // From the end, so that a disturbed run does not count.
    let inside = curve.iter().rposition(|&(_, value)| value <= top)?;
    let (&(from, low), &(to, high)) = (curve.get(inside)?, curve.get(inside + 1)?);
    Some((from + (top - low) / (high - low) * (to - from)).max(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::experiment::claim::{Claim, Decided, Limit, Verdict, decide};
    use crate::experiment::quantity::{At, Measure, Pick};
    use crate::record::Run;
    use crate::record::tests::run;
    use crate::summary::summarize;

    fn decided(claim: Claim, sweep: Option<Sweep>, runs: &[Run]) -> Decided {
        let experiment = Experiment { sweep, claims: vec![claim], ..Experiment::new("") };
        decide(&experiment, &summarize(runs, &[]), 2).remove(0)
    }

    #[test]
    fn a_curve_is_flat_up_to_where_it_leaves_for_good() {
        let curve = [(1.0, 10.0), (2.0, 14.0), (4.0, 10.0), (8.0, 12.0), (16.0, 20.0)];
        assert_eq!(end_of_flat(&curve, 0.1), Some(6.0), "halfway from 10 at 4 to 12 at 8");
        assert_eq!(end_of_flat(&curve[..3], 0.1), None);
        assert_eq!(end_of_flat(&[], 0.1), None);
    }

    #[test]
    fn the_end_of_the_flat_part_is_relative_to_the_time() {
        let mut runs = Vec::new();
        for round in 0..5 {
            for (delta, seconds) in [("10us", 0.1), ("1ms", 0.1), ("3ms", 0.12)] {
                let mut run = run("fib", "filch x", 2, seconds);
                (run.who.pool, run.round) = (Some(format!("pdq-s:delta={delta}")), round);
                runs.push(run);
            }
        }
        let sweep = Sweep { parameter: "delta", values: Vec::new(), meaning: "" };
        let claim =
            Claim::new("", Pick::new("filch pdq-s", At::Any), Measure::FlatUpTo(0.1), Limit::Within(0.0199, 0.0201));
        let decided = decided(claim, Some(sweep), &runs);
        assert_eq!((&decided.verdict, decided.evidence.len()), (&Verdict::Holds, 1), "{decided:?}");
    }

    #[test]
    fn the_best_of_several_counts_on_the_plain_program() {
        let mut runs = Vec::new();
        for round in 0..5 {
            let rows = [("fib", "citor", 1, 4.0), ("fib", "taskflow", 1, 6.0), ("fib", "rayon", 1, 3.0)];
            for (program, scheduler, workers, seconds) in rows.into_iter().chain([
                ("fib", "filch split", 1, 1.0),
                ("fib-unrolled", "filch split", 1, 0.5),
                ("fib", "citor", 2, 1.0),
                ("uts", "citor", 1, 1.0),
            ]) {
                runs.push(Run { round, ..run(program, scheduler, workers, seconds) });
            }
        }
        let measure = Measure::OverBest(Quantity::Time, &["citor", "taskflow"]);
        let decided =
            decided(Claim::new("", Pick::new("filch split", At::Any), measure, Limit::Below(0.2)), None, &runs);
        let found: Vec<f64> = decided.evidence.iter().map(|evidence| evidence.estimate.value).collect();
        assert_eq!((decided.verdict, found), (Verdict::DoesNotHold, vec![0.25, 0.125]), "rayon is not among them");
    }

    #[test]
    fn a_program_is_compared_with_itself_with_another_parameter() {
        let mut runs = Vec::new();
        for round in 0..5 {
            for (task, graph, seconds) in [("bag", "grid", 1.0), ("node", "grid", 3.0), ("node", "rmat", 5.0)] {
                let mut run = run("pseudo-dfs", "filch x", 2, seconds);
                run.program.params.insert("task".to_owned(), task.into());
                run.program.params.insert("graph".to_owned(), graph.into());
                (run.who.pool, run.round) = (Some("pdq-s".to_owned()), round);
                runs.push(run);
            }
        }
        let measure = Measure::OverWith(Quantity::Time, "task", "bag");
        let decided =
            decided(Claim::new("", Pick::new("filch pdq-s", At::Any), measure, Limit::Above(2.0)), None, &runs);
        let found: Vec<f64> = decided.evidence.iter().map(|evidence| evidence.estimate.value).collect();
        assert_eq!((decided.verdict, found), (Verdict::Holds, vec![3.0]), "rmat has no bags here");
    }
}
