//! A column against the swept parameter of an experiment, both axes to scale.

use std::collections::BTreeMap;
use std::fmt::Write;

use filch_protocol::Machine;

use super::lines::{self, Point};
use super::{Axis, Palette, escape, labels, open};
use crate::columns::{COLUMNS, Column};
use crate::experiment::Sweep;
use crate::experiment::points::{Point as Measured, points};
use crate::identity::{ProgramId, SchedulerId};
use crate::summary::{Program, Row};

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 430.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 46.0;
/// Beyond this ratio of the values, a linear axis would crowd the points at its left end.
const LINEAR: f64 = 16.0;

/// A plot and its caption.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) caption: String,
    pub(crate) svg: String,
}

/// Draws this column for each program, without the swept parameter, and each number of workers.
pub(crate) fn sweeps(programs: &[Program], sweep: &Sweep, column: &str, machine: &Machine) -> Vec<Figure> {
    let Some(column) = COLUMNS.iter().find(|known| known.name == column) else { return Vec::new() };
    let measured = points(programs, Some(sweep));
    let mut panels: Vec<(&ProgramId, usize)> = Vec::new();
    for point in measured.iter().filter(|point| point.value.is_some() && !point.row.is_serial()) {
        let panel = (&point.program, point.row.workers);
        if !panels.contains(&panel) {
            panels.push(panel);
        }
    }
    let figure = |(program, workers): (&ProgramId, usize)| {
        // The sequential program is the same for every number of workers.
        let is_here = |point: &&Measured<'_>| {
            point.program == *program && (point.row.workers == workers || point.row.is_serial())
        };
        let here: Vec<&Measured<'_>> = measured.iter().filter(is_here).collect();
        let svg = plot(&here, sweep, column, &program.to_string())?;
        let mark = if workers > machine.cores { ", more than processors" } else { "" };
        let plural = if workers == 1 { "" } else { "s" };
        Some(Figure { caption: format!("{program}, {workers} worker{plural}{mark}: {}", column.meaning), svg })
    };
    panels.into_iter().filter_map(figure).collect()
}

fn plot(here: &[&Measured<'_>], sweep: &Sweep, column: &Column, title: &str) -> Option<String> {
    let mut series: BTreeMap<(bool, bool, &SchedulerId), Vec<Point>> = BTreeMap::new();
    let mut floors: Vec<(&SchedulerId, f64)> = Vec::new();
    for point in here {
        let Some(value) = column.value(point.row) else { continue };
        match point.value.as_deref().map(|name| (name, Sweep::place(name))) {
            Some((name, Some(x))) => {
                let point_of = Point { x, name: name.to_owned(), value, interval: interval(column, point.row) };
                series.entry((point.who.is_serial(), !point.who.is_filch(), &point.who)).or_default().push(point_of);
            }
            // A value that is a word has no position on an axis; the table shows it.
            Some((_, None)) => {}
            None => floors.push((&point.who, value)),
        }
    }
    let mut places: Vec<(f64, String)> = series.values().flatten().map(|point| (point.x, point.name.clone())).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.dedup_by(|a, b| a.0 == b.0);
    let (least, most) = (places.first()?.0, places.last()?.0);
    if least == most {
        return None;
    }
    for points in series.values_mut() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let all = series.keys().map(|(.., who)| (*who).clone()).chain(floors.iter().map(|(who, _)| (*who).clone()));
    let palette = Palette { all: all.filter(|who| !who.is_serial()).collect(), prefix: "sweep-" };
    let tops =
        series.values().flatten().flat_map(|point| [point.value, point.interval.map_or(point.value, |(_, high)| high)]);
    let top = tops.chain(floors.iter().map(|&(_, value)| value)).fold(0.0, f64::max);
    let up = Axis::new(0.0, if top > 0.0 { top } else { 1.0 }, (BOTTOM, TOP), 4.0);
    let across = if least > 0.0 && most > LINEAR * least {
        Axis { from: least, to: most, ..Axis::doubling(least, most, (LEFT + 12.0, RIGHT)) }
    } else {
        Axis { from: least, to: most, ..Axis::new(least, most, (LEFT + 12.0, RIGHT), 4.0) }
    };
    let mut svg = open(WIDTH, HEIGHT, &format!("{} of {title} by {}", column.heading, sweep.parameter));
    for &tick in &up.ticks {
        let y = up.at(tick);
        put!(svg, r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/>"#);
        let text = if tick == 0.0 { "0".to_owned() } else { column.unit.text(tick) };
        put!(svg, r#"<text class="tick" text-anchor="end" x="{}" y="{:.1}">{text}</text>"#, LEFT - 6.0, y + 4.0);
    }
    svg += &lines::marks(&places, &across, BOTTOM);
    put!(
        svg,
        r#"<text class="tick" text-anchor="middle" x="{:.1}" y="{:.1}">{}</text>"#,
        f64::midpoint(LEFT, RIGHT),
        HEIGHT - 8.0,
        escape(sweep.meaning)
    );
    let mut ends = Vec::new();
    for (who, value) in floors {
        let (y, attributes) = (up.at(value), palette.attributes(who));
        let text = format!("{who} {}", column.unit.text(value));
        put!(
            svg,
            r#"<g {attributes} data-tip="{}"><line class="hit" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/><line class="beside" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/></g>"#,
            escape(&text)
        );
        ends.push((y, attributes, text));
    }
    for ((.., who), points) in &series {
        let attributes = palette.attributes(who);
        svg += &lines::draw(&who.to_string(), points, |value| column.unit.text(value), &attributes, (&across, &up));
        if let Some(last) = points.last() {
            ends.push((up.at(last.value), attributes, format!("{who} {}", column.unit.text(last.value))));
        }
    }
    svg += &labels(ends, RIGHT + 10.0, (TOP, BOTTOM));
    Some(svg + "</svg>")
}

/// The uncertainty of a value: its interval, or the middle half of the times.
fn interval(column: &Column, row: &Row) -> Option<(f64, f64)> {
    let middle = || row.time.filter(|_| column.name == "median").map(|time| (time.lower_quartile, time.upper_quartile));
    column.estimate(row).and_then(|estimate| estimate.interval).or_else(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    /// Plots a pool whose time equals its block length, and one without blocks.
    fn figures(blocks: &[&str], column: &str) -> Vec<Figure> {
        let mut runs = Vec::new();
        let mut add = |pool: String, seconds| {
            let mut run = run("trees", "filch x", 2, seconds);
            run.who.pool = Some(pool);
            runs.push(run);
        };
        blocks.iter().for_each(|block| add(format!("bwos-l:block={block}"), Sweep::place(block).unwrap_or(1.0)));
        add("<abp>".to_owned(), 4.0);
        let sweep = Sweep { parameter: "block", values: Vec::new(), meaning: "tasks per block" };
        sweeps(&summarize(&runs, &[]), &sweep, column, &Machine { cores: 2, ..Machine::default() })
    }

    fn corners(svg: &str) -> Vec<(f64, f64)> {
        let line =
            svg.split("class=\"series\" points=\"").nth(1).expect("a line").split('"').next().expect("its points");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        line.split(' ').map(|point| point.split_once(',').map(|(x, y)| (number(x), number(y))).expect("x,y")).collect()
    }

    #[test]
    fn both_axes_are_to_scale() {
        let found = figures(&["2", "8", "4"], "median");
        let [figure] = found.as_slice() else { panic!("one figure") };
        assert!(figure.caption.starts_with("trees n=30, 2 workers: median time"), "{}", figure.caption);
        let [a, b, c] = corners(&figure.svg)[..] else { panic!("three points") };
        assert!(
            (2.0 * (b.0 - a.0) - (c.0 - b.0)).abs() < 0.5,
            "the distance from 2 to 4 is not half of that from 4 to 8"
        );
        assert!((BOTTOM - b.1 - 2.0 * (BOTTOM - a.1)).abs() < 0.5, "the axis does not start at zero");
        assert!((BOTTOM - c.1 - 4.0 * (BOTTOM - a.1)).abs() < 0.5);
        let dashed = figure.svg.split("class=\"beside\"").nth(1).expect("a reference line");
        assert!(dashed.contains(&format!("y1=\"{:.1}\"", b.1)), "not at the height of 4 s");
        assert!(figure.svg.contains("&lt;abp&gt;") && !figure.svg.contains("<abp>") && !figure.svg.contains("NaN"));
    }

    #[test]
    fn distant_values_are_on_a_logarithmic_axis() {
        let [a, b, c] = corners(&figures(&["2", "64", "2048"], "median")[0].svg)[..] else { panic!("three points") };
        assert!(((b.0 - a.0) - (c.0 - b.0)).abs() < 0.5);
    }

    #[test]
    fn words_are_not_drawn() {
        assert_eq!(corners(&figures(&["2", "sqrt", "4"], "median")[0].svg).len(), 2);
        assert!(figures(&["sqrt", "2"], "median").is_empty(), "a single point");
        assert!(figures(&["2", "4"], "speedup").is_empty(), "without the sequential program");
    }
}
