//! A column against the swept parameter of an experiment.

use std::collections::BTreeMap;

use filch_catalogue::protocol::Machine;

use super::lines::Point;
use super::palette::{Look, Palette, name_of};
use super::panel::{Drawn, Panel, Series};
use crate::columns::{COLUMNS, Column};
use crate::experiment::Sweep;
use crate::experiment::paper::Mark;
use crate::experiment::points::{Point as Measured, points};
use crate::identity::{ProgramId, SchedulerId};
use crate::summary::Program;
use crate::terminal;

/// A plot and its caption.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) caption: String,
    pub(crate) svg: String,
}

/// Draws this column for each program, without the swept parameter, and each number of workers, with a document's marks
/// beside ours.
pub(crate) fn sweeps(
    programs: &[Program],
    sweep: &Sweep,
    column: &str,
    marks: &[Mark],
    machine: &Machine,
) -> Vec<Figure> {
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
        let name = program.to_string();
        let theirs = marks.iter().filter(|mark| mark.column == column.name && name.starts_with(mark.program));
        let (svg, common) = plot(&here, sweep, column, &theirs.collect::<Vec<_>>(), &name)?;
        let mark = if workers > machine.cores { ", more than processors" } else { "" };
        let common = common.map_or_else(String::new, |common| format!(" (all are {common})"));
        let caption = format!("{program}, {}{mark}: {}{common}", terminal::workers(workers), column.meaning);
        Some(Figure { caption, svg })
    };
    panels.into_iter().filter_map(figure).collect()
}

/// Returns the plot, and what all names in it omit.
fn plot(
    here: &[&Measured<'_>],
    sweep: &Sweep,
    column: &Column,
    marks: &[&Mark],
    title: &str,
) -> Option<(String, Option<String>)> {
    let mut lines: BTreeMap<(bool, bool, &SchedulerId), Vec<Point>> = BTreeMap::new();
    let mut levels: Vec<(&SchedulerId, f64)> = Vec::new();
    for point in here {
        let Some(value) = column.value(point.row) else { continue };
        match point.value.as_deref().map(|name| (name, Sweep::place(name))) {
            Some((name, Some(x))) => {
                let point_of = Point { x, name: name.to_owned(), value, interval: column.interval(point.row) };
                lines.entry((point.who.is_serial(), !point.who.is_filch(), &point.who)).or_default().push(point_of);
            }
            // A value that is a word has no position on an axis; the table shows it.
            Some((_, None)) => {}
            None => levels.push((&point.who, value)),
        }
    }
    let all = lines.keys().map(|(.., who)| (*who).clone()).chain(levels.iter().map(|(who, _)| (*who).clone()));
    let palette = Palette::of(all.filter(|who| !who.is_serial()).collect(), "sweep-");
    let series = |who: &SchedulerId, drawn| Series { name: palette.name(who), look: palette.look(who), drawn };
    let levels = levels.into_iter().map(|(who, value)| series(who, Drawn::Level(value)));
    let theirs = marks.iter().enumerate().map(|(index, mark)| Series {
        name: name_of(mark),
        look: Look::theirs(index),
        drawn: Drawn::Line(mark.points.iter().map(|&(x, value)| place(x, value, sweep)).collect()),
    });
    let lines = lines.into_iter().map(|((.., who), points)| series(who, Drawn::Line(points)));
    let panel = Panel {
        title: format!("{} of {title} by {}", column.heading, sweep.parameter),
        across: sweep.meaning,
        up: column.meaning,
        text: &|value| column.unit.text(value),
        series: levels.chain(theirs).chain(lines).collect(),
    };
    // A document's line alone is no plot of ours.
    let is_ours = here.iter().any(|point| point.value.as_deref().and_then(Sweep::place).is_some());
    Some((panel.svg().filter(|_| is_ours)?, palette.common()))
}

/// A document's point; its position has the name of the sweep's value there, if there is one.
fn place(x: f64, value: f64, sweep: &Sweep) -> Point {
    let named = sweep.values.iter().find(|name| Sweep::place(name) == Some(x));
    Point { x, name: named.cloned().unwrap_or_else(|| super::trimmed(x)), value, interval: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    /// Plots a pool whose time equals its block length, and one without blocks.
    fn figures(blocks: &[&str], column: &str) -> Vec<Figure> {
        beside(blocks, column, &[])
    }

    fn beside(blocks: &[&str], column: &str, marks: &[Mark]) -> Vec<Figure> {
        let mut runs = Vec::new();
        let mut add = |pool: String, seconds| {
            let mut run = run("trees", "filch x", 2, seconds);
            run.who.pool = Some(pool);
            runs.push(run);
        };
        blocks.iter().for_each(|block| add(format!("bwos-l:block={block}"), Sweep::place(block).unwrap_or(1.0)));
        add("<abp>".to_owned(), 4.0);
        let sweep = Sweep { parameter: "block", values: Vec::new(), meaning: "tasks per block" };
        sweeps(&summarize(&runs, &[]), &sweep, column, marks, &Machine { cores: 2, ..Machine::default() })
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
        assert!(figure.caption.starts_with("trees:n=30, 2 workers: median time"), "{}", figure.caption);
        let [a, b, c] = corners(&figure.svg)[..] else { panic!("three points") };
        assert!(
            (2.0 * (b.0 - a.0) - (c.0 - b.0)).abs() < 0.5,
            "the distance from 2 to 4 is not half of that from 4 to 8"
        );
        let zero = figure.svg.split(" y1=\"").nth(1).and_then(|y| y.split('"').next()?.parse::<f64>().ok());
        let zero = zero.expect("the lowest line of the grid");
        assert!((zero - b.1 - 2.0 * (zero - a.1)).abs() < 0.5, "the axis does not start at zero");
        assert!((zero - c.1 - 4.0 * (zero - a.1)).abs() < 0.5);
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

    #[test]
    fn a_document_stands_beside_our_values() {
        static MARKS: [Mark; 3] = [
            Mark { column: "median", program: "", label: "BWoS", points: &[(2.0, 2.0), (16.0, 4.0)] },
            Mark { column: "median", program: "fib", label: "elsewhere", points: &[(2.0, 2.0)] },
            Mark { column: "stolen", program: "", label: "another column", points: &[(2.0, 2.0)] },
        ];
        let found = beside(&["2", "4", "8"], "median", &MARKS);
        let svg = &found[0].svg;
        let theirs = &svg[svg.find("class=\"s theirs\"").expect("the document's series")..];
        let ours = &svg[svg.find("class=\"s c0\"").expect("our series")..];
        let ([a, b], [ours_a, ours_b, _]) = (&corners(theirs)[..], &corners(ours)[..]) else { panic!("{svg}") };
        assert_eq!((a, b.1), (ours_a, ours_b.1), "not to the same scale");
        assert!((7.0 * (ours_b.0 - a.0) - (b.0 - a.0)).abs() < 0.5 && svg.contains(">16</text>"), "{svg}");
        assert!(svg.contains(">paper: BWoS 4.00 s</text>") && !svg.contains("elsewhere") && !svg.contains("another"));
        assert!(beside(&[], "median", &MARKS).is_empty(), "a plot without a value of ours");
    }
}
