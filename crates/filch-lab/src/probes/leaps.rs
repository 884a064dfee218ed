//! Leapfrogging and its extensions on simulated workers, as many as the document has.
//!
//! Nothing here is timed: the numbers are steps of filch-sim's runs, the same on every machine.

use serde::Deserialize;
use serde_json::Value;

use crate::experiment::claim::{Decided, Evidence, Limit};
use crate::experiment::mean::Mean;
use crate::experiment::probe::{Findings, Listing, Probe};
use crate::export::svg::{Chart, Figure, Look, Series};
use crate::flags::Size;
use crate::runners::Executable;

pub(super) static PROBE: Probe = Probe { program: Executable::Simulate, arguments, findings };

const WORKERS: [usize; 9] = [1, 2, 4, 8, 16, 24, 32, 40, 48];
const FEW: usize = 4;
const SOME: usize = 16;
const MANY: usize = 48;

const STRICT: &str = "leapfrog";
const TRANSITIVE: &str = "transitive";
const RANDOM: &str = "leapfrog-random";
const WAITS: [&str; 3] = [STRICT, TRANSITIVE, RANDOM];

/// The document's speed-ups of T3L on 48 workers.
const PRINTED: [(&str, f64); 3] = [(STRICT, 19.9), (TRANSITIVE, 37.8), (RANDOM, 38.3)];

fn arguments(size: Size) -> Vec<String> {
    let (graphs, runs): (&[&str], usize) = match size {
        Size::Quick => (&["fib:n=22", "uts:root=500,children=8,per_million=124875,seed=1"], 8),
        Size::Small => (&["fib:n=26", "uts:root=2000,children=8,per_million=124875,seed=1"], 12),
        // T3L's own root has two thousand children, too, but its tree has a hundred million nodes.
        Size::Paper => (
            &[
                "fib:n=30",
                "uts:root=2000,children=8,per_million=124875,seed=1",
                "uts:root=2000,children=5,per_million=199900,seed=2",
            ],
            30,
        ),
    };
    let workers = WORKERS.map(|workers| workers.to_string()).join(",");
    let flags = ["--wait", &WAITS.join(","), "--workers", &workers, "--runs", &runs.to_string()].map(str::to_owned);
    std::iter::once("simulate").chain(graphs.iter().copied()).map(str::to_owned).chain(flags).collect()
}

/// The runs of a case; lists have a number for each.
#[derive(Debug, Deserialize)]
struct Line {
    graph: String,
    nodes: f64,
    workers: usize,
    waiting: String,
    steps: Vec<f64>,
    steals: Vec<f64>,
    leaps: Vec<f64>,
    depth: Vec<f64>,
}

impl Line {
    fn speedup(&self) -> Mean {
        Mean::of(&self.steps).under(self.nodes)
    }

    fn is(&self, waiting: &str, workers: usize) -> bool {
        self.waiting == waiting && self.workers == workers
    }

    fn is_tree(&self) -> bool {
        self.graph.starts_with("uts")
    }

    fn evidence(&self, of: &str, mean: Mean) -> Evidence {
        let Self { graph, workers, waiting, .. } = self;
        mean.evidence(format!("{graph}, {waiting} on {workers}, {of}"))
    }
}

fn findings(lines: &[Value]) -> Findings {
    let lines: Vec<Line> = lines.iter().filter_map(|line| Line::deserialize(line).ok()).collect();
    Findings { decided: decided(&lines), tables: vec![speedups(&lines), counters(&lines)], figures: figures(&lines) }
}

#[expect(clippy::cast_precision_loss, reason = "at most 48")]
fn decided(lines: &[Line]) -> Vec<Decided> {
    let each = |is_meant: &dyn Fn(&Line) -> bool, of: &str, mean: &dyn Fn(&Line) -> Mean| -> Vec<Evidence> {
        lines.iter().filter(|line| is_meant(line)).map(|line| line.evidence(of, mean(line))).collect()
    };
    let share = |line: &Line| line.speedup().over(line.workers as f64);
    // On the same graph and as many workers, over plain leapfrogging.
    let gains = |waiting: &'static str| {
        let gain = |line: &Line| {
            let other = lines.iter().find(|other| other.graph == line.graph && other.is(STRICT, MANY))?;
            Some(line.evidence("speed-up over plain leapfrogging's", line.speedup().over_mean(other.speedup())))
        };
        lines.iter().filter(|line| line.is_tree() && line.is(waiting, MANY)).filter_map(gain).collect::<Vec<_>>()
    };
    let near = |&(waiting, printed): &(&'static str, f64)| {
        each(&|line| line.is_tree() && line.is(waiting, MANY), "speed-up over the document's", &|line| {
            line.speedup().over(printed)
        })
    };
    let by = Decided::within;
    vec![
        by(
            Limit::Above(0.7),
            "fib scales almost linearly, however workers wait.",
            "on 48 workers, the speed-up over 48",
            each(&|line| !line.is_tree() && line.workers == MANY, "share of the workers", &share),
        ),
        by(
            Limit::Below(0.6),
            "T3 does not with plain leapfrogging.",
            "on 48 workers, the speed-up over 48",
            each(&|line| line.is_tree() && line.is(STRICT, MANY), "share of the workers", &share),
        ),
        by(
            Limit::Above(0.85),
            "Four workers form hardly any chains.",
            "the speed-up over 4",
            each(&|line| line.workers == FEW, "share of the workers", &share),
        ),
        by(
            Limit::Above(1.3),
            "Random stealing after a failed leap makes T3 much faster on 48 workers.",
            "the speed-up over that of plain leapfrogging",
            gains(RANDOM),
        ),
        by(
            Limit::Above(1.3),
            "So does transitive leapfrogging.",
            "the speed-up over that of plain leapfrogging",
            gains(TRANSITIVE),
        ),
        by(
            Limit::Within(0.67, 1.33),
            "The speed-ups of T3 on 48 workers are those of the document within a third.",
            "the speed-up over the document's with the same way to wait",
            PRINTED.iter().flat_map(near).collect(),
        ),
        by(
            Limit::Above(1.0),
            "On T3, workers that wait steal more often than those without a task.",
            "with plain leapfrogging on 16 workers or more, leaps over other thefts",
            each(
                &|line| line.is_tree() && line.waiting == STRICT && line.workers >= SOME,
                "leaps over thefts",
                &|line| Mean::ratio(&line.leaps, &line.steals),
            ),
        ),
        by(
            Limit::Below(1.01),
            "Whoever leaps only to descendants of the task that it waits for needs no deeper stack than one worker.",
            "with plain or transitive leapfrogging on T3, the deepest stack over that of one worker",
            deeper(lines),
        ),
    ]
}

/// The deepest stacks of workers that leap to descendants only, over that of one worker.
fn deeper(lines: &[Line]) -> Vec<Evidence> {
    let pair = |line: &Line| {
        let alone = lines.iter().find(|alone| alone.graph == line.graph && alone.is(&line.waiting, 1))?;
        Some(line.evidence("deepest stack over one worker's", Mean::of(&line.depth).over(Mean::of(&alone.depth).value)))
    };
    lines.iter().filter(|line| line.is_tree() && line.waiting != RANDOM && line.workers > 1).filter_map(pair).collect()
}

/// The graphs, in their order.
fn graphs(lines: &[Line]) -> Vec<&str> {
    let mut graphs: Vec<&str> = lines.iter().map(|line| line.graph.as_str()).collect();
    graphs.dedup();
    graphs
}

fn speedups(lines: &[Line]) -> Listing {
    let rows = graphs(lines).into_iter().flat_map(|graph| {
        WAITS.into_iter().map(move |waiting| {
            let cell = |&workers: &usize| {
                let line = lines.iter().find(|line| line.graph == graph && line.is(waiting, workers));
                line.map_or_else(String::new, |line| format!("{:.1}", line.speedup().value))
            };
            [graph, waiting].map(str::to_owned).into_iter().chain(WORKERS.iter().map(cell)).collect()
        })
    });
    let runs = lines.iter().map(|line| line.steps.len()).max().unwrap_or(0);
    let heads = ["graph", "waiting"].map(str::to_owned).into_iter().chain(WORKERS.map(|workers| workers.to_string()));
    Listing {
        caption: format!("Speed-up by the number of workers, means of {runs} runs."),
        heads: heads.collect(),
        rows: rows.collect(),
    }
}

fn counters(lines: &[Line]) -> Listing {
    let row = |line: &Line| {
        let numbers = [&line.steals, &line.leaps, &line.depth].map(|numbers| format!("{:.0}", Mean::of(numbers).value));
        [line.graph.clone(), line.waiting.clone()].into_iter().chain(numbers).collect()
    };
    Listing {
        caption:
            "On 48 workers: thefts of workers without a task, thefts of those that wait, and the most tasks on a stack."
                .to_owned(),
        heads: ["graph", "waiting", "steals", "leaps", "deepest stack"].map(str::to_owned).to_vec(),
        rows: lines.iter().filter(|line| line.workers == MANY).map(row).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most 48")]
fn figures(lines: &[Line]) -> Vec<Figure> {
    let printed = |graph: &str| -> Vec<(f64, f64)> {
        let ends = if graph.starts_with("uts") { PRINTED.map(|(_, speedup)| speedup).to_vec() } else { vec![34.9] };
        ends.into_iter().map(|speedup| (MANY as f64, speedup)).collect()
    };
    let figure = |graph: &str| {
        let curve = |waiting: &str| Series {
            name: waiting.to_owned(),
            points: lines
                .iter()
                .filter(|line| line.graph == graph && line.waiting == waiting)
                .map(|line| (line.workers as f64, line.speedup().value))
                .collect(),
            look: Look::Line,
        };
        let ideal = WORKERS.map(|workers| (workers as f64, workers as f64)).to_vec();
        let chart = Chart {
            title: graph.to_owned(),
            across: "workers",
            up: "speed-up",
            doubles: false,
            series: WAITS
                .map(curve)
                .into_iter()
                .chain([
                    Series { name: "the document's, on 48".to_owned(), points: printed(graph), look: Look::Crosses },
                    Series { name: "one per worker".to_owned(), points: ideal, look: Look::Dashes },
                ])
                .collect(),
            references: Vec::new(),
        };
        let caption = if graph.starts_with("uts") {
            "A tree like T3: chains of workers that wait for one another hold plain leapfrogging back"
        } else {
            "fib: tasks are large near the root, and chains short"
        };
        Some(Figure { caption: caption.to_owned(), svg: chart.draw()? })
    };
    graphs(lines).into_iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::experiment::claim::Verdict;

    const TREE: &str = "uts:root=2000,children=8,per_million=124875,seed=1";

    /// A case whose speed-up is about this.
    fn line(graph: &str, waiting: &str, workers: usize, speedup: f64) -> Value {
        let steps = [-1.0, 0.0, 1.0].map(|more| 100_000.0 / speedup + more).repeat(3);
        json!({
            "simulation": "task-stacks", "graph": graph, "nodes": 100_000, "workers": workers, "waiting": waiting, "steal": 2, "seed": 1,
            "steps": steps, "steals": [10, 11, 12, 10, 11, 12], "leaps": [30, 31, 32, 30, 31, 32], "depth": [50, 50, 50, 50, 50, 50],
        })
    }

    fn verdict(lines: &[Value], text: &str) -> Verdict {
        findings(lines).verdict(text)
    }

    #[test]
    fn the_extensions_are_compared_with_plain_leapfrogging() {
        let lines = [line(TREE, STRICT, 48, 20.0), line(TREE, RANDOM, 48, 38.0), line(TREE, TRANSITIVE, 48, 21.0)];
        assert_eq!(verdict(&lines, "Random stealing"), Verdict::Holds);
        assert_eq!(verdict(&lines, "So does transitive"), Verdict::DoesNotHold);
        assert_eq!(verdict(&lines, "T3 does not"), Verdict::Holds);
        assert_eq!(verdict(&lines, "The speed-ups of T3"), Verdict::DoesNotHold, "21 instead of 37.8");
        assert_eq!(verdict(&lines, "On T3, workers"), Verdict::Holds);
        assert!(matches!(verdict(&lines, "fib scales"), Verdict::NotTestable(_)));
        assert_eq!(findings(&lines).tables[0].rows[0].last(), Some(&"20.0".to_owned()));
    }

    #[test]
    fn every_size_simulates_what_the_claims_are_about() {
        for size in [Size::Quick, Size::Small, Size::Paper] {
            let arguments = arguments(size);
            let has = |start: &str| arguments.iter().any(|argument| argument.starts_with(start));
            assert!(has("fib:") && has("uts:root=") && has("leapfrog,transitive,leapfrog-random"), "{arguments:?}");
        }
    }
}
