//! Speed-up by number of workers, both axes to scale.

use std::fmt::Write;

use super::lines::{self, Point};
use super::{Axis, Palette, Scale, escape, labels, open, trimmed};
use crate::identity::SchedulerId;
use crate::stats::Estimate;
use crate::summary::Program;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 284.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 26.0;
/// Beyond this ratio of the numbers of workers, a linear axis would crowd the points at its left end.
const LINEAR: usize = 16;

/// Draws Ts/TP against the number of workers, below the ideal and the machine's parallel capacity.
pub(crate) fn speedup(program: &Program, palette: &Palette, cores: usize) -> String {
    let counts = program.worker_counts();
    let (Some(&least), Some(&most), true) = (counts.first(), counts.last(), program.serial.is_some()) else {
        return String::new();
    };
    let series = palette.all().iter().map(|who| Series::of(program, who, &counts));
    let series: Vec<Series<'_>> = series.filter(|series| !series.points.is_empty()).collect();
    if least == most || series.is_empty() {
        return String::new();
    }
    let capacity = |&count: &usize| {
        let capacity = program.capacity(count, cores).map(|capacity| capacity.sample.median);
        Some((count, if count == 1 { 1.0 } else { capacity? }))
    };
    let ceiling: Vec<(usize, f64)> = counts.iter().filter_map(capacity).collect();
    let reached = series.iter().flat_map(Series::extent).chain(ceiling.iter().map(|&(_, capacity)| capacity));
    let plot = Plot::new((least, most), cores, &reached.collect::<Vec<_>>());

    let mut svg = open(WIDTH, HEIGHT, &format!("Speed-up of {}", program.title));
    plot.grid(&mut svg, &counts);
    let mut ends = Vec::new();
    let ideal = plot.ideal();
    put!(
        svg,
        r#"<polyline class="ideal" points="{}" data-tip="ideal: the number of workers, up to that of processors"/>"#,
        plot.line(&ideal)
    );
    if let Some(&(_, last)) = ideal.last() {
        ends.push((plot.up.at(last), r#"class="ceiling-label""#.to_owned(), format!("ideal {last:.0}")));
    }
    if let Some(&(count, last)) = ceiling.last().filter(|_| ceiling.len() > 1) {
        let tip = format!("parallel capacity: {count} workers can reach {last:.2}");
        let points: Vec<(f64, f64)> = ceiling.iter().map(|&(count, capacity)| (real(count), capacity)).collect();
        put!(svg, r#"<polyline class="ceiling" points="{}" data-tip="{}"/>"#, plot.line(&points), escape(&tip));
        let text = format!("C{} {last:.2}", count.min(cores));
        ends.push((plot.up.at(last), r#"class="ceiling-label""#.to_owned(), text));
    }
    for series in &series {
        svg += &series.draw(&plot, &palette.attributes(series.who));
        if let Some(&(count, last)) = series.points.last()
            && count == most
        {
            let text = format!("{} {:.2}", series.who, last.value);
            ends.push((plot.up.at(last.value), palette.attributes(series.who), text));
        }
    }
    svg += &labels(ends, RIGHT + 10.0, (TOP, BOTTOM));
    svg + "</svg>"
}

fn real(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number of workers")]
    let real = count as f64;
    real
}

/// The speed-ups of a scheduler.
struct Series<'p> {
    who: &'p SchedulerId,
    points: Vec<(usize, Estimate)>,
}

impl<'p> Series<'p> {
    fn of(program: &Program, who: &'p SchedulerId, counts: &[usize]) -> Self {
        let point = |&count: &usize| Some((count, program.row(who, count)?.compared.speedup?));
        Self { who, points: counts.iter().filter_map(point).collect() }
    }

    /// The values that the axis must include.
    fn extent(&self) -> impl Iterator<Item = f64> {
        let each = self.points.iter().map(|&(_, speedup)| speedup);
        each.flat_map(|speedup| {
            let (low, high) = speedup.interval.unwrap_or((speedup.value, speedup.value));
            [low, speedup.value, high]
        })
    }

    fn draw(&self, plot: &Plot, attributes: &str) -> String {
        let point = |&(count, speedup): &(usize, Estimate)| Point {
            x: real(count),
            name: count.to_string(),
            value: speedup.value,
            interval: speedup.interval,
        };
        let points: Vec<Point> = self.points.iter().map(point).collect();
        let title = format!("{}, Ts/TP", self.who);
        lines::draw(&title, &points, |value| format!("{value:.2}"), attributes, (&plot.across, &plot.up))
    }
}

/// Both axes.
struct Plot {
    across: Axis,
    up: Axis,
    least: f64,
    most: f64,
    cores: f64,
}

impl Plot {
    /// Makes both axes linear from zero, or both logarithmic, so that the ideal is a straight line.
    fn new((least, most): (usize, usize), cores: usize, reached: &[f64]) -> Self {
        let top = reached.iter().copied().fold(real(most.min(cores)), f64::max);
        let (across, up) = if most > LINEAR * least {
            let bottom = reached.iter().copied().fold(real(least.min(cores)), f64::min);
            (
                Axis { from: real(least), to: real(most), ..Axis::doubling(1.0, 2.0, (LEFT + 12.0, RIGHT)) },
                Axis::doubling(bottom, top, (BOTTOM, TOP)),
            )
        } else {
            (
                Axis { to: real(most), ..Axis::new(0.0, real(most), (LEFT, RIGHT), 4.0) },
                Axis::new(0.0, top, (BOTTOM, TOP), 4.0),
            )
        };
        Self { across, up, least: real(least), most: real(most), cores: real(cores) }
    }

    /// The ideal: the number of workers, up to the number of processors.
    fn ideal(&self) -> Vec<(f64, f64)> {
        let start = if self.up.scale == Scale::Linear { 0.0 } else { self.least };
        let bend = self.cores.clamp(start, self.most);
        [start, bend, self.most].map(|workers| (workers, workers.min(self.cores))).to_vec()
    }

    fn grid(&self, svg: &mut String, counts: &[usize]) {
        for &tick in &self.up.ticks {
            let y = self.up.at(tick);
            put!(svg, r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/>"#);
            let (x, y) = (LEFT - 6.0, y + 4.0);
            put!(svg, r#"<text class="tick" text-anchor="end" x="{x}" y="{y:.1}">{}</text>"#, trimmed(tick));
        }
        let marked = |&count: &usize| {
            let mark = if real(count) > self.cores { "!" } else { "" };
            (real(count), format!("{count}{mark}"))
        };
        let each: Vec<(f64, String)> = counts.iter().map(marked).collect();
        svg.push_str(&lines::marks(&each, &self.across, BOTTOM));
    }

    fn line(&self, points: &[(f64, f64)]) -> String {
        lines::corners(points, &self.across, &self.up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    /// Plots a scheduler with ideal speed-up on these numbers of workers.
    fn ideal(counts: &[usize], cores: usize) -> String {
        let mut runs = vec![run("fib", "serial", 1, 1.0)];
        runs.extend(counts.iter().map(|&count| run("fib", "filch split", count, 1.0 / real(count.min(cores)))));
        let programs = summarize(&runs, &[]);
        speedup(&programs[0], &Palette::new(&programs), cores)
    }

    /// The corners of a line of this class.
    fn points(svg: &str, class: &str) -> Vec<(f64, f64)> {
        let start = format!("<polyline class=\"{class}\" points=\"");
        let line = svg.split(&start).nth(1).expect("a line of this class").split('"').next().expect("its points");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        line.split(' ').map(|point| point.split_once(',').map(|(x, y)| (number(x), number(y))).expect("x,y")).collect()
    }

    #[test]
    fn points_are_at_their_numbers_of_workers() {
        let found = points(&ideal(&[1, 2, 3, 8], 8), "series");
        let step = found[1].0 - found[0].0;
        for (&(x, y), count) in found.iter().zip([1.0, 2.0, 3.0, 8.0]) {
            assert!((x - LEFT - count * step).abs() < 0.5, "{found:?}");
            assert!((BOTTOM - y - count * (BOTTOM - found[0].1)).abs() < 0.5, "{found:?}");
        }
    }

    #[test]
    fn an_ideal_scheduler_is_on_the_ideal_line() {
        for (counts, cores) in
            [(&[1, 2, 3, 8][..], 8), (&[1, 2, 3, 8], 2), (&[2, 3], 2), (&[1, 3, 48, 64], 64), (&[1, 64, 128], 64)]
        {
            let svg = ideal(counts, cores);
            let line = points(&svg, "ideal");
            let [start, bend, end] = line[..] else { panic!("{line:?}") };
            for (x, y) in points(&svg, "series") {
                let (from, to) = if x <= bend.0 { (start, bend) } else { (bend, end) };
                let share = if to.0 > from.0 { (x - from.0) / (to.0 - from.0) } else { 0.0 };
                assert!((from.1 + share * (to.1 - from.1) - y).abs() < 0.6, "{counts:?} on {cores}: {line:?} {x},{y}");
            }
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn numbers_below_the_axis_do_not_overlap() {
        let svg = ideal(&[1, 2, 3, 60, 62, 64], 64);
        let shown = |count: &str| svg.contains(&format!(">{count}</text>"));
        assert!(shown("64") && shown("2") && !shown("62"), "{svg}");
    }

    #[test]
    fn one_number_of_workers_makes_no_plot() {
        assert_eq!(ideal(&[2], 2), "");
        let alone = summarize(&[run("fib", "rayon", 1, 1.0), run("fib", "rayon", 2, 1.0)], &[]);
        assert_eq!(speedup(&alone[0], &Palette::new(&alone), 2), "", "without the sequential program");
    }
}
