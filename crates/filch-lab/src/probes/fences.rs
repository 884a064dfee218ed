//! The price of fences, of barriers by the system, and of a line's way between processors.

use serde::Deserialize;
use serde_json::Value;

use crate::experiment::claim::{Decided, Evidence, Limit};
use crate::experiment::probe::{Findings, Listing, Probe};
use crate::flags::Size;
use crate::runners::Executable;
use crate::stats::Estimate;
use crate::terminal::{duration, significant};

pub(super) static PROBE: Probe = Probe { program: Executable::Probe, arguments, findings };

fn arguments(size: Size) -> Vec<String> {
    let rounds: usize = match size {
        Size::Quick => 50,
        Size::Small => 300,
        Size::Paper => 3000,
    };
    ["probe", "fences", "--rounds", &rounds.to_string()].map(str::to_owned).to_vec()
}

/// The price of an operation beyond the empty loop's.
#[derive(Debug, Deserialize)]
struct Line {
    operation: String,
    rounds: usize,
    median_seconds: f64,
    interval_seconds: Option<(f64, f64)>,
    median_ticks: f64,
}

impl Line {
    fn evidence(&self) -> Evidence {
        let Self { operation, rounds, median_seconds, interval_seconds, .. } = self;
        let estimate = Estimate { value: *median_seconds, interval: *interval_seconds, rounds: *rounds };
        Evidence { of: format!("seconds of {operation}"), estimate, rows: Vec::new() }
    }

    /// The ratio to another price, whose interval is as wide as both permit.
    fn over(&self, other: &Self) -> Evidence {
        let ends = |(low, high): (f64, f64), (least, most): (f64, f64)| (low / most, high / least);
        let interval = self.interval_seconds.zip(other.interval_seconds).filter(|(_, other)| other.0 > 0.0);
        let estimate = Estimate {
            value: self.median_seconds / other.median_seconds,
            interval: interval.map(|(own, other)| ends(own, other)),
            rounds: self.rounds.min(other.rounds),
        };
        Evidence { of: format!("{} over {}", self.operation, other.operation), estimate, rows: Vec::new() }
    }
}

/// What the owner of a deque does between its store and its load.
const FENCE: &str = "store, lock or";
const BARRIER: &str = "heavy barrier, beside a running thread";

fn findings(lines: &[Value]) -> Findings {
    let lines: Vec<Line> = lines.iter().filter_map(|line| Line::deserialize(line).ok()).collect();
    let find = |name: &str| lines.iter().find(|line| line.operation == name);
    let price = |name: &str| find(name).map(Line::evidence).into_iter().collect::<Vec<_>>();
    let ratio =
        |of: &str, over: &str| find(of).zip(find(over)).map(|(of, over)| of.over(over)).into_iter().collect::<Vec<_>>();
    let decided = |text, what: &str, limit: Limit, evidence| {
        Decided::by(limit, text, format!("the 95 % interval of {what} is {limit}"), evidence)
    };
    let decided = vec![
        decided(
            "A store and the owner's fence cost 1 to 40 ns.",
            "the seconds of a store and a locked update",
            Limit::Within(1e-9, 40e-9),
            price(FENCE),
        ),
        decided(
            "A store alone costs less than half a nanosecond.",
            "the seconds of a store",
            Limit::Below(0.5e-9),
            price("store"),
        ),
        decided(
            "The barrier that owners keep of an asymmetric fence costs less than a nanosecond.",
            "the seconds of the light barrier",
            Limit::Below(1e-9),
            price("light barrier"),
        ),
        decided(
            "The barrier that thieves pay costs more than fifty of the owner's fences.",
            "the price of the heavy barrier beside a running thread over that of a store with the fence",
            Limit::Above(50.0),
            ratio(BARRIER, FENCE),
        ),
    ];
    let row = |line: &Line| {
        let interval = line.interval_seconds.map(|(low, high)| format!("{} to {}", duration(low), duration(high)));
        vec![
            line.operation.clone(),
            duration(line.median_seconds),
            interval.unwrap_or_default(),
            significant(line.median_ticks),
            line.rounds.to_string(),
        ]
    };
    let table = Listing {
        caption: "Medians of the rounds beyond the empty loop, and their 95 % intervals.".to_owned(),
        heads: ["operation", "time", "interval", "ticks", "rounds"].map(str::to_owned).to_vec(),
        rows: lines.iter().map(row).collect(),
    };
    Findings { decided, tables: vec![table], figures: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::experiment::claim::Verdict;

    fn line(operation: &str, nanoseconds: f64) -> Value {
        let seconds = nanoseconds * 1e-9;
        json!({
            "probe": "fences", "operation": operation, "processors": [0], "rounds": 50, "median_seconds": seconds,
            "interval_seconds": [seconds * 0.9, seconds * 1.1], "median_ticks": nanoseconds * 3.0,
            "interval_ticks": [nanoseconds * 2.7, nanoseconds * 3.3],
        })
    }

    fn verdicts(lines: &[Value]) -> Vec<Verdict> {
        findings(lines).decided.into_iter().map(|decided| decided.verdict).collect()
    }

    #[test]
    fn prices_are_decided_by_their_intervals() {
        let usual = [line("store", 0.3), line(FENCE, 8.0), line("light barrier", 0.1), line(BARRIER, 2000.0)];
        assert!(verdicts(&usual).iter().all(|verdict| *verdict == Verdict::Holds), "{:?}", verdicts(&usual));
        let other = [line("store", 3.0), line(FENCE, 60.0), line("light barrier", 2.0), line(BARRIER, 1000.0)];
        assert!(verdicts(&other).iter().all(|verdict| *verdict == Verdict::DoesNotHold), "{:?}", verdicts(&other));
    }

    #[test]
    fn a_ratio_near_its_limit_stays_open() {
        // The interval reaches from 0.9/1.1 to 1.1/0.9 times the ratio.
        let near = verdicts(&[line(FENCE, 8.0), line(BARRIER, 8.0 * 55.0)]);
        assert!(matches!(&near[3], Verdict::Undecided { why, .. } if why.contains("crosses")), "{near:?}");
        assert!(matches!(&near[1], Verdict::NotTestable(why) if why.contains("nothing")), "{near:?}");
        assert_eq!(verdicts(&[line(FENCE, 8.0), line(BARRIER, 8.0 * 65.0)])[3], Verdict::Holds);
    }
}
