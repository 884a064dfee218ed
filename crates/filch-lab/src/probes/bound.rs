//! Whether private deques keep the bound on their expected time, on simulated machines.
//!
//! Nothing here is timed: the numbers are steps and tokens of filch-sim's runs, the same on every machine.

mod views;

use serde::Deserialize;
use serde_json::Value;

use crate::experiment::claim::{Decided, Evidence, Limit, Verdict};
use crate::experiment::mean::Mean;
use crate::experiment::origin::Origin;
use crate::experiment::probe::{Findings, Probe};
use crate::flags::Size;
use crate::runners::Executable;
use crate::stats::Estimate;

pub(super) static PROBE: Probe = Probe { program: Executable::Simulate, arguments, findings };

/// Graphs with 256 thousand nodes and leaves, and with 8, 64 and 256 nested forks.
const ALIKE: [&str; 3] = ["balanced:depth=8,grain=1000", "comb:teeth=64,grain=4000", "comb:teeth=256,grain=1000"];
const FEW: &str = ALIKE[0];
const SOME: &str = ALIKE[1];
const MANY: &str = ALIKE[2];
const WORKERS: [usize; 3] = [2, 8, 30];
const DELTAS: [u32; 5] = [2, 5, 10, 50, 200];
/// The calls of fib with enough work for 30 workers.
const LOADED: &str = "fib:n=24";

fn arguments(size: Size) -> Vec<String> {
    let (more, runs): (&[&str], usize) = match size {
        Size::Quick => (&[], 20),
        Size::Small => (&["fib:n=20", "balanced:depth=14,grain=1"], 60),
        Size::Paper => (&["fib:n=20", "balanced:depth=14,grain=1", "fib:n=27", "balanced:depth=18,grain=2"], 200),
    };
    let usual = [
        "fib:n=12",
        "fib:n=16",
        LOADED,
        "balanced:depth=12,grain=1",
        "comb:teeth=512,grain=1",
        "uts:root=100,children=8,per_million=120000,seed=3",
    ];
    let join = |numbers: &[String]| numbers.join(",");
    let workers = join(&WORKERS.map(|workers| workers.to_string()));
    let deltas = join(&DELTAS.map(|delta| delta.to_string()));
    let graphs = usual.iter().chain(&ALIKE).chain(more).map(|&graph| graph.to_owned());
    let flags = ["--workers".to_owned(), workers, "--delta".to_owned(), deltas, "--runs".to_owned(), runs.to_string()];
    std::iter::once("simulate".to_owned()).chain(graphs).chain(flags).collect()
}

/// The runs of a case; lists have a number for each.
#[derive(Debug, Deserialize)]
struct Line {
    graph: String,
    work: f64,
    span: f64,
    forks: f64,
    workers: usize,
    delta: u32,
    protocol: String,
    steps: Vec<f64>,
    communication: Vec<f64>,
    idle: Vec<f64>,
    moved: Vec<f64>,
    steps_bound: f64,
    communication_expected: f64,
    communication_deviation: f64,
}

impl Line {
    /// The mean number of steps. The attempts, whose expectation is known, are replaced by it, so that less is left to
    /// chance.
    fn time(&self) -> Mean {
        let without =
            |(steps, attempts): (&f64, &f64)| steps + (self.communication_expected - attempts) / self.workers();
        Mean::of(&self.steps.iter().zip(&self.communication).map(without).collect::<Vec<_>>())
    }

    #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
    fn workers(&self) -> f64 {
        self.workers as f64
    }

    /// T1/P, and the attempts.
    fn perfect(&self) -> f64 {
        (self.work + self.communication_expected) / self.workers()
    }

    /// c·δ·F.
    fn delay(&self) -> f64 {
        let c = if self.is("sender") { 1.0 } else { 1.0 / (1.0 - (-1.0_f64).exp()) };
        c * f64::from(self.delta) * self.forks
    }

    /// How many standard errors the transfer attempts are above their expected number.
    #[expect(clippy::cast_precision_loss, reason = "some hundred runs")]
    fn away(&self) -> f64 {
        let error = self.communication_deviation / (self.communication.len() as f64).sqrt();
        (Mean::of(&self.communication).value - self.communication_expected) / error
    }

    fn is(&self, protocol: &str) -> bool {
        self.protocol == protocol
    }

    fn is_case(&self, graph: &str, workers: usize, delta: u32) -> bool {
        (self.graph.as_str(), self.workers, self.delta) == (graph, workers, delta)
    }

    /// Describes a number of this case.
    fn named(&self, of: &str) -> String {
        let Self { graph, workers, delta, protocol, .. } = self;
        format!("{graph}, {protocol} on {workers}, δ = {delta}, {of}")
    }

    fn evidence(&self, of: &str, mean: Mean) -> Evidence {
        mean.evidence(self.named(of))
    }
}

fn findings(lines: &[Value]) -> Findings {
    let lines: Vec<Line> = lines.iter().filter_map(|line| Line::deserialize(line).ok()).collect();
    Findings { decided: decided(&lines), tables: views::listings(&lines), figures: views::figures(&lines) }
}

fn decided(lines: &[Line]) -> Vec<Decided> {
    let each = |is_meant: &dyn Fn(&Line) -> bool, of: &str, mean: &dyn Fn(&Line) -> Mean| -> Vec<Evidence> {
        lines.iter().filter(|line| is_meant(line)).map(|line| line.evidence(of, mean(line))).collect()
    };
    // The same graph, workers and protocol, with the change.
    let against =
        |is_meant: &dyn Fn(&Line) -> bool, of: &str, is_other: &dyn Fn(&Line, &Line) -> bool| -> Vec<Evidence> {
            let pair = |line: &Line| {
                let other = lines.iter().find(|other| is_other(line, other))?;
                Some(line.evidence(of, line.time().over_mean(other.time())))
            };
            lines.iter().filter(|line| is_meant(line)).filter_map(pair).collect()
        };
    let by = Decided::within;
    let slow = |line: &Line| line.time().over(line.perfect());
    let same = |a: &Line, b: &Line| a.protocol == b.protocol && a.workers == b.workers;
    vec![
        // By lemma A.1 this is the same as that idle time is within its part of the bound (A.12), except for the chance
        // in the number of attempts.
        by(
            Limit::Below(1.0),
            "The mean time is within the bound.",
            "in every case, the mean number of steps over the bound",
            each(&|_| true, "time over the bound", &|line| Mean::of(&line.steps).over(line.steps_bound)),
        ),
        communication(lines),
        by(
            Limit::Below(1.1),
            "δ costs nothing as long as T∞ and 2.68·c·δ·F are small against T1/P.",
            "wherever they are a tenth of it together at most, the time over that of perfectly shared work and attempts",
            each(
                &|line| 10.0 * (line.span + 2.68 * line.delay()) <= line.work / line.workers(),
                "time over perfectly shared work",
                &slow,
            ),
        ),
        by(
            Limit::Below(1.15),
            "With eight nested forks, even a large δ is hardly noticed.",
            "on 8 workers with δ = 200, the time over that of perfectly shared work and attempts",
            each(&|line| line.is_case(FEW, 8, 200), "time over perfectly shared work", &slow),
        ),
        by(
            Limit::Above(2.0),
            "In a long chain of forks, the time grows with δ.",
            "with 256 nested forks on 30 workers, the time with δ = 200 over that with δ = 50",
            against(&|line| line.is_case(MANY, 30, 200), "time over that with δ = 50", &|line, other| {
                same(line, other) && other.is_case(MANY, 30, 50)
            }),
        ),
        by(
            Limit::Above(1.5),
            "It also grows with the length of the chain.",
            "on 30 workers with δ = 200, the time with 256 nested forks over that of the same work with 64",
            against(&|line| line.is_case(MANY, 30, 200), "time over that with 64 nested forks", &|line, other| {
                same(line, other) && other.is_case(SOME, 30, 200)
            }),
        ),
        by(
            Limit::Below(1.0),
            "Its larger c does not make the receiver-initiated form slower.",
            "the geometric mean over all cases of its time over that of the sender-initiated form",
            slower(lines),
        ),
        by(
            Limit::Within(0.9, 1.1),
            "On 30 workers with much work, the idle time for each node that moves is δ (figure 5, second chart).",
            &format!("on {LOADED}, sender-initiated with δ ≤ 10, the idle tokens for each node that moved, over δ,"),
            each(
                &|line| line.graph == LOADED && line.is("sender") && line.workers == 30 && line.delta <= 10,
                "idle time per move over δ",
                &|line| Mean::ratio(&line.idle, &line.moved).over(line.delta.into()),
            ),
        ),
    ]
}

/// The geometric mean over all cases of the receiver-initiated time over the sender-initiated one.
fn slower(lines: &[Line]) -> Vec<Evidence> {
    let receiver = lines.iter().filter(|line| line.is("receiver"));
    let ratios: Vec<Mean> = receiver
        .filter_map(|line| {
            let is_other = |other: &&Line| other.is("sender") && other.is_case(&line.graph, line.workers, line.delta);
            Some(line.time().over_mean(lines.iter().find(is_other)?.time()))
        })
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "some hundred cases")]
    let cases = ratios.len() as f64;
    let value = (ratios.iter().map(|ratio| ratio.value.ln()).sum::<f64>() / cases).exp();
    let error = value * ratios.iter().map(|ratio| (ratio.error / ratio.value).powi(2)).sum::<f64>().sqrt() / cases;
    let of = format!("{} cases, receiver's time over sender's", ratios.len());
    ratios.first().map(|first| Mean { value, error, runs: first.runs }.evidence(of)).into_iter().collect()
}

/// Lemma A.2 is an equation, so means are on both sides of it.
fn communication(lines: &[Line]) -> Decided {
    /// One of 500 cases exceeds that in one session of 300.
    const EACH: f64 = 4.5;
    const ALL: f64 = 3.0;
    #[expect(clippy::cast_precision_loss, reason = "some hundred cases")]
    let cases = lines.len() as f64;
    let all = lines.iter().map(Line::away).sum::<f64>() / cases.sqrt();
    let runs = lines.first().map_or(0, |line| line.steps.len());
    let exact =
        |of, value| Evidence { of, estimate: Estimate { value, interval: None, rounds: runs }, rows: Vec::new() };
    let what = "standard errors above T1/(δ − 1)";
    let mut evidence: Vec<Evidence> = lines.iter().map(|line| exact(line.named(what), line.away())).collect();
    evidence.sort_by(|a, b| b.estimate.value.abs().total_cmp(&a.estimate.value.abs()));
    let within = lines.iter().map(|line| Ok(line.away().abs() < EACH)).chain(std::iter::once(Ok(all.abs() < ALL)));
    let verdict = if lines.is_empty() { Verdict::of([]) } else { Verdict::of(within) };
    evidence.insert(0, exact(format!("all cases, {what}"), all));
    Decided {
        text: "T1/(δ − 1) transfer attempts are made.",
        rule: format!(
            "their mean number is within {ALL} standard errors of it in all cases together, and within {EACH} in each"
        ),
        verdict,
        evidence,
        origin: Origin::Ours,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A case with a time in steps, whose bound is 1000 steps, and this many attempts of 400 expected ones.
    fn line(graph: &str, protocol: &str, workers: usize, delta: u32, steps: f64, attempts: f64) -> Value {
        let all = |number: f64| [number - 1.0, number, number + 1.0, number - 1.0, number, number + 1.0];
        json!({
            "simulation": "private-deques", "graph": graph, "work": 1000, "span": 10, "forks": 5, "workers": workers, "delta": delta,
            "protocol": protocol, "seed": 1, "steps": all(steps), "communication": all(attempts), "idle": all(50.0), "moved": all(5.0),
            "steps_bound": 1000.0, "idle_bound": 100.0, "communication_expected": 400.0, "communication_deviation": 20.0,
        })
    }

    fn verdict(lines: &[Value], text: &str) -> Verdict {
        findings(lines).verdict(text)
    }

    #[test]
    fn a_time_beyond_the_bound_refutes_it() {
        let fast = line("fib:n=12", "sender", 2, 10, 900.0, 400.0);
        assert_eq!(verdict(std::slice::from_ref(&fast), "The mean time"), Verdict::Holds);
        let lines = [fast, line("fib:n=12", "sender", 8, 10, 1010.0, 400.0)];
        assert_eq!(verdict(&lines, "The mean time"), Verdict::DoesNotHold);
        let found = findings(&lines);
        assert!(found.decided[0].why().contains("sender on 8, δ = 10, time over the bound: 1.01"), "{found:?}");
        assert!(matches!(verdict(&[], "The mean time"), Verdict::NotTestable(_)), "nothing was measured");
        assert!(found.tables[1].rows[0].contains(&"900 (0.90)".to_owned()), "{:?}", found.tables);
    }

    #[test]
    fn attempts_are_judged_one_by_one_and_together() {
        // A mean of six runs has a standard error of 20/√6 = 8.2.
        let lines = |attempts| [10, 50].map(|delta| line("fib:n=12", "sender", 2, delta, 900.0, attempts));
        assert_eq!(verdict(&lines(410.0), "T1/(δ − 1)"), Verdict::Holds);
        assert_eq!(verdict(&lines(420.0), "T1/(δ − 1)"), Verdict::DoesNotHold, "2.4 standard errors twice");
        assert_eq!(verdict(&lines(360.0)[..1], "T1/(δ − 1)"), Verdict::DoesNotHold);
        assert!(matches!(verdict(&[], "T1/(δ − 1)"), Verdict::NotTestable(_)));
    }

    #[test]
    fn the_same_work_is_compared_at_other_delays_and_with_other_forks() {
        let case = |graph, delta, steps| line(graph, "sender", 30, delta, steps, 400.0);
        let lines = [case(MANY, 200, 500.0), case(MANY, 50, 240.0), case(SOME, 200, 300.0)];
        assert_eq!(verdict(&lines, "In a long chain"), Verdict::Holds);
        assert_eq!(verdict(&lines, "It also grows"), Verdict::Holds);
        let lines = [case(MANY, 200, 500.0), case(MANY, 50, 260.0), case(SOME, 200, 400.0)];
        assert_eq!(verdict(&lines, "In a long chain"), Verdict::DoesNotHold);
        assert_eq!(verdict(&lines, "It also grows"), Verdict::DoesNotHold);
    }

    #[test]
    fn every_size_simulates_what_the_claims_are_about() {
        for size in [Size::Quick, Size::Small, Size::Paper] {
            let arguments = arguments(size);
            for graph in ALIKE.iter().chain(&[LOADED]) {
                assert!(arguments.iter().any(|argument| argument == graph), "{graph}");
            }
            assert!(arguments.contains(&"2,5,10,50,200".to_owned()), "{arguments:?}");
        }
    }
}
