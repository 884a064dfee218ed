//! The numbers of the bound's cases as tables and figures.

use std::collections::BTreeSet;

use super::{ALIKE, Line};
use crate::experiment::probe::Listing;
use crate::export::svg::{Chart, Figure, Look, Series};

pub(super) fn listings(lines: &[Line]) -> Vec<Listing> {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let mut graphs: Vec<&Line> = Vec::new();
    for line in lines {
        if graphs.iter().all(|known| known.graph != line.graph) {
            graphs.push(line);
        }
    }
    let measures = |line: &&Line| {
        let numbers = [line.work, line.span, line.forks];
        std::iter::once(line.graph.clone()).chain(numbers.map(|number| number.to_string())).collect()
    };
    let deltas: BTreeSet<u32> = lines.iter().map(|line| line.delta).collect();
    let mut cases: Vec<(&str, usize, &str)> =
        lines.iter().map(|line| (line.graph.as_str(), line.workers, line.protocol.as_str())).collect();
    cases.sort_by_key(|(graph, ..)| graphs.iter().position(|known| known.graph == *graph));
    let mut seen = BTreeSet::new();
    cases.retain(|&case| seen.insert(case));
    let row = |&(graph, workers, protocol): &(&str, usize, &str)| {
        let cell = |&delta: &u32| {
            let line = lines.iter().find(|line| line.is_case(graph, workers, delta) && line.is(protocol));
            line.map_or_else(String::new, |line| {
                let time = line.time();
                format!("{:.0} ({:.2})", time.value, time.over(line.steps_bound).value)
            })
        };
        texts(&[graph, &workers.to_string(), protocol]).into_iter().chain(deltas.iter().map(cell)).collect()
    };
    let runs = lines.iter().map(|line| line.steps.len()).max().unwrap_or(0);
    let heads =
        texts(&["graph", "P", "transfers by"]).into_iter().chain(deltas.iter().map(|delta| format!("δ = {delta}")));
    vec![
        Listing {
            caption: "The graphs: nodes, nodes on the longest path, most forks on a path.".to_owned(),
            heads: texts(&["graph", "T1", "T∞", "F"]),
            rows: graphs.iter().map(measures).collect(),
        },
        Listing {
            caption: format!("Steps, means of {runs} runs; in brackets, as a share of the bound."),
            heads: heads.collect(),
            rows: cases.iter().map(row).collect(),
        },
    ]
}

pub(super) fn figures(lines: &[Line]) -> Vec<Figure> {
    // To the left nothing is lost, and to the right one worker runs nearly all.
    const SHOWN: std::ops::RangeInclusive<f64> = 1.0 / 32.0..=64.0;
    let place = |line: &Line| (line.delay() * line.workers() / line.work, line.time().over(line.perfect()).value);
    let cloud = |protocol: &str, look| Series {
        name: format!("{protocol}-initiated"),
        points: lines.iter().filter(|line| line.is(protocol)).map(place).filter(|(x, _)| SHOWN.contains(x)).collect(),
        look,
    };
    // On a doubling axis the line is a curve.
    let bend = std::iter::successors(Some(*SHOWN.start()), |x| Some(x * 1.25)).take_while(|x| SHOWN.contains(x));
    let all = Chart {
        title: "Time against c·δ·F".to_owned(),
        across: "c·δ·F, over T1/P",
        up: "time, over perfectly shared work and attempts",
        doubles: true,
        series: vec![
            cloud("sender", Look::Dots),
            cloud("receiver", Look::Crosses),
            Series {
                name: "the bound without T∞".to_owned(),
                points: bend.map(|x| (x, 1.0 + 2.68 * x)).collect(),
                look: Look::Dashes,
            },
        ],
        references: Vec::new(),
    };
    let curve = |graph: &&str| Series {
        name: (*graph).to_owned(),
        points: lines
            .iter()
            .filter(|line| line.graph == **graph && line.workers == 30 && line.is("sender"))
            .map(|line| (line.delta.into(), line.time().over(line.perfect()).value))
            .collect(),
        look: Look::Line,
    };
    let alike = Chart {
        title: "The same work with 8, 64 and 256 nested forks, on 30 workers".to_owned(),
        across: "δ, in steps",
        up: "time, over perfectly shared work and attempts",
        doubles: true,
        series: ALIKE.iter().map(curve).collect(),
        references: Vec::new(),
    };
    let captioned = |caption: &str, chart: &Chart| Some(Figure { caption: caption.to_owned(), svg: chart.draw()? });
    [
        captioned("Every case in this range; T∞ costs time, too, and lifts points above the curve", &all),
        captioned("Sender-initiated: a large δ costs what forks are nested", &alike),
    ]
    .into_iter()
    .flatten()
    .collect()
}
