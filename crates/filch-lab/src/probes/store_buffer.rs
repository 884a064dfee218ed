//! The capacity of the store buffer.

use serde::Deserialize;
use serde_json::Value;

use crate::experiment::claim::{Decided, Evidence, Verdict};
use crate::experiment::origin::Origin;
use crate::experiment::probe::{Findings, Listing, Probe};
use crate::export::svg::{Chart, Figure, Look, Series};
use crate::flags::Size;
use crate::runners::Executable;
use crate::stats::Estimate;
use crate::terminal::significant;

pub(super) static PROBE: Probe = Probe { program: Executable::Probe, arguments, findings };

fn arguments(size: Size) -> Vec<String> {
    let rounds: usize = match size {
        Size::Quick => 20,
        Size::Small => 100,
        Size::Paper => 1000,
    };
    ["probe", "store-buffer", "--rounds", &rounds.to_string()].map(str::to_owned).to_vec()
}

/// The stores of one kind on one processor.
#[derive(Debug, Deserialize)]
struct Line {
    to: String,
    processor: usize,
    busy_neighbour: Option<usize>,
    rounds: usize,
    capacity: Option<usize>,
    exactly: usize,
    halves: usize,
    why_not: Option<String>,
    documented: Option<usize>,
    ticks: Vec<f64>,
}

impl Line {
    fn name(&self) -> String {
        let to = if self.to == "lines" { "distinct lines" } else { "one address" };
        let beside = self.busy_neighbour.map_or_else(String::new, |other| format!(", beside a busy {other}"));
        format!("{to}, processor {}{beside}", self.processor)
    }

    fn is_plain(&self) -> bool {
        self.to == "lines" && self.busy_neighbour.is_none()
    }

    fn capacity(&self) -> Result<usize, String> {
        let why = || format!("Not measurable: {}", self.why_not.as_deref().unwrap_or("there is no knee"));
        self.capacity.ok_or_else(why)
    }

    fn evidence(&self) -> Option<Evidence> {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let value = self.capacity? as f64;
        let of = format!(
            "{}, capacity found in {} of {} rounds, half of it in {}",
            self.name(),
            self.exactly,
            self.rounds,
            self.halves
        );
        Some(Evidence { of, estimate: Estimate { value, interval: None, rounds: self.rounds }, rows: Vec::new() })
    }
}

fn findings(lines: &[Value]) -> Findings {
    let lines: Vec<Line> = lines.iter().filter_map(|line| Line::deserialize(line).ok()).collect();
    let plain = || lines.iter().filter(|line| line.is_plain());
    let documented = |line: &Line| {
        let documented = line.documented.ok_or("The makers of this processor do not document its store buffer")?;
        Ok(is_or_half(line.capacity()?, documented))
    };
    // A busy thread on the same core has the other half; a virtual machine may hide it.
    let is_whole = |line: &Line| Some(line.capacity?.abs_diff(line.documented?) <= 1);
    let only_half = (!plain().any(|line| is_whole(line) == Some(true))).then(|| {
        Err("No processor shows more than half of the buffer, which is what a second thread on each core leaves"
            .to_owned())
    });
    let one_address = |line: &Line| {
        let distinct = plain().find(|other| other.processor == line.processor);
        let distinct = distinct.ok_or_else(|| "Distinct lines were not measured".to_owned())?.capacity()?;
        let own = line.capacity()?;
        Ok(is_or_half(own, distinct) || is_or_half(distinct, own))
    };
    let repeats = |line: &Line| {
        line.capacity()?;
        Ok(2 * (line.exactly + line.halves) >= line.rounds)
    };
    let to_one = || lines.iter().filter(|line| line.to != "lines");
    let decided = vec![
        Decided {
            text: "The time is flat up to the documented capacity of the store buffer, and rises beyond it.",
            rule: "the capacity that is found with stores to distinct lines is the documented one or half of it, give or take one, on each \
                   processor, and the whole on one"
                .to_owned(),
            verdict: Verdict::of(plain().map(documented).chain(only_half)),
            evidence: plain().filter_map(Line::evidence).collect(),
            origin: Origin::Ours,
        },
        Decided {
            text: "Stores to one address show the same capacity.",
            rule: "it is that of stores to distinct lines, or half or twice as much, on each processor".to_owned(),
            verdict: Verdict::of(to_one().map(one_address)),
            evidence: to_one().filter_map(Line::evidence).collect(),
            origin: Origin::Ours,
        },
        Decided {
            text: "The measurement repeats.",
            rule: "half of the rounds or more find this capacity or half of it: others may be disturbed"
                .to_owned(),
            verdict: Verdict::of(plain().map(repeats)),
            evidence: plain().filter_map(Line::evidence).collect(),
            origin: Origin::Ours,
        },
    ];
    Findings { decided, tables: vec![table(&lines)], figures: figures(&lines) }
}

/// Whether a capacity is the expected one or half of it.
fn is_or_half(found: usize, expected: usize) -> bool {
    found.abs_diff(expected) <= 1 || (2 * found).abs_diff(expected) <= 2
}

fn table(lines: &[Line]) -> Listing {
    let row = |line: &Line| {
        let found = line.capacity.map_or_else(|| "none".to_owned(), |capacity| capacity.to_string());
        let known = line.documented.map_or_else(|| "unknown".to_owned(), |entries| entries.to_string());
        let ticks = |at: Option<&f64>| at.map_or_else(String::new, |&ticks| significant(ticks));
        let at_capacity = line.capacity.and_then(|capacity| line.ticks.get(capacity.checked_sub(1)?));
        vec![
            line.name(),
            found,
            known,
            format!("{} of {}", line.exactly, line.rounds),
            line.halves.to_string(),
            ticks(line.ticks.first()),
            ticks(at_capacity),
            ticks(line.ticks.last()),
        ]
    };
    let heads =
        ["stores to", "capacity", "documented", "rounds", "half of it", "ticks of 1", "of the capacity", "of the most"];
    Listing {
        caption: "Capacities, and the ticks of the time-stamp counter for an iteration with one store, with the capacity, and with \
                  the most stores."
            .to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: lines.iter().map(row).collect(),
    }
}

/// Draws the curves of each processor.
fn figures(lines: &[Line]) -> Vec<Figure> {
    let mut processors: Vec<usize> = lines.iter().map(|line| line.processor).collect();
    processors.dedup();
    let figure = |processor: usize| {
        let here = || lines.iter().filter(move |line| line.processor == processor);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let points = |line: &Line| line.ticks.iter().enumerate().map(|(at, &ticks)| ((at + 1) as f64, ticks)).collect();
        let series = |line: &Line| {
            let name = match (line.to.as_str(), line.busy_neighbour) {
                ("lines", None) => "distinct lines",
                ("lines", Some(_)) => "beside a busy processor",
                _ => "one address",
            };
            Series { name: name.to_owned(), points: points(line), look: Look::Line }
        };
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let reference = |line: &Line| Some((line.documented? as f64, "documented".to_owned()));
        let chart = Chart {
            title: format!("Time by number of stores on processor {processor}"),
            across: "stores in an iteration",
            up: "ticks of the time-stamp counter",
            doubles: false,
            series: here().map(series).collect(),
            references: here().find_map(reference).into_iter().collect(),
        };
        Some(Figure { caption: format!("Processor {processor}: ticks by number of stores"), svg: chart.draw()? })
    };
    processors.into_iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A line of a buffer of 64 entries that was found to have so many.
    fn line(to: &str, capacity: Option<usize>, documented: Option<usize>) -> Value {
        let ticks: Vec<usize> = (1..=160_usize).map(|stores| 500 + 4 * stores.saturating_sub(64)).collect();
        json!({
            "probe": "store-buffer", "to": to, "processor": 0, "busy_neighbour": null, "neighbour_shares_core": false, "rounds": 20,
            "capacity": capacity, "exactly": 15, "halves": 2, "least": 32, "greatest": 65, "why_not": null,
            "documented": documented, "ticks": ticks,
        })
    }

    fn verdicts(lines: &[Value]) -> Vec<Verdict> {
        findings(lines).decided.into_iter().map(|decided| decided.verdict).collect()
    }

    #[test]
    fn the_capacity_is_compared_with_the_documented_one() {
        let good = [line("lines", Some(64), Some(64)), line("one-address", Some(65), Some(64))];
        assert_eq!(verdicts(&good), [Verdict::Holds, Verdict::Holds, Verdict::Holds]);
        let other = [line("lines", Some(40), Some(64)), line("one-address", Some(64), Some(64))];
        assert_eq!(verdicts(&other), [Verdict::DoesNotHold, Verdict::DoesNotHold, Verdict::Holds]);
        let half = [line("lines", Some(32), Some(64)), line("one-address", Some(32), Some(64))];
        assert!(matches!(&verdicts(&half)[0], Verdict::NotTestable(why) if why.contains("second thread")));
        let mut elsewhere = line("lines", Some(64), Some(64));
        elsewhere["processor"] = 1.into();
        assert_eq!(verdicts(&[half[0].clone(), elsewhere])[0], Verdict::Holds, "the whole on one processor is enough");
        let unknown = [line("lines", Some(64), None), line("one-address", None, None)];
        let [Verdict::NotTestable(first), Verdict::NotTestable(second), Verdict::Holds] = &verdicts(&unknown)[..]
        else {
            panic!("decided without knowledge");
        };
        assert!(first.contains("do not document") && second.contains("no knee"), "{first}; {second}");
    }

    #[test]
    fn a_capacity_of_few_rounds_does_not_repeat() {
        let mut rare = line("lines", Some(64), Some(64));
        rare["exactly"] = 7.into();
        assert_eq!(verdicts(&[rare])[2], Verdict::DoesNotHold);
    }

    #[test]
    fn the_curves_are_drawn_with_the_documented_capacity() {
        let found = findings(&[line("lines", Some(64), Some(64)), line("one-address", Some(64), Some(64))]);
        assert_eq!((found.figures.len(), found.tables[0].rows.len()), (1, 2));
        assert_eq!(found.figures[0].svg.matches("<polyline class=\"series\"").count(), 2);
        assert!(found.figures[0].svg.contains("documented"));
        assert_eq!(found.tables[0].rows[0][5..], ["500", "500", "884"]);
    }
}
