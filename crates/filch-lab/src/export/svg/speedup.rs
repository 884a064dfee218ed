//! Speed-up by number of workers, both axes to scale.

use std::fmt::Write;

use super::lines::{self, End, Point};
use super::palette::{Look, name_of};
use super::{Axis, Palette, Scale, escape, open, trimmed};
use crate::experiment::paper::Mark;
use crate::identity::SchedulerId;
use crate::stats::Estimate;
use crate::summary::{Program, Row};

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 296.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 284.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 40.0;
/// Beyond this ratio of the numbers of workers, a linear axis would crowd the points at its left end.
const LINEAR: f64 = 16.0;

/// The time that a speed-up divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The sequential program's: Ts/TP.
    Serial,
    /// The same scheduler's on one worker: T1/TP.
    OneWorker,
}

impl Over {
    fn name(self) -> &'static str {
        match self {
            Self::Serial => "Ts/TP",
            Self::OneWorker => "T1/TP",
        }
    }

    /// The column of the marks that belong here.
    fn column(self) -> &'static str {
        match self {
            Self::Serial => "speedup",
            Self::OneWorker => "relative-speedup",
        }
    }

    fn of(self, row: &Row) -> Option<Estimate> {
        match self {
            Self::Serial => row.compared.speedup,
            Self::OneWorker if row.workers == 1 => {
                row.median().map(|_| Estimate { value: 1.0, interval: None, rounds: row.rounds.len() })
            }
            Self::OneWorker => row.compared.relative_speedup,
        }
    }
}

/// Draws a speed-up against the number of workers, below the ideal and the machine's parallel capacity, with a
/// document's marks beside ours.
pub(crate) fn speedup(program: &Program, over: Over, palette: &Palette, marks: &[Mark], cores: usize) -> String {
    let counts = program.worker_counts();
    let has_base = over == Over::OneWorker || program.serial.is_some();
    let (Some(&least), Some(&most), true) = (counts.first(), counts.last(), has_base) else {
        return String::new();
    };
    let series = palette.all().iter().map(|who| Series::of(program, over, who, &counts));
    let series: Vec<Series<'_>> = series.filter(|series| !series.points.is_empty()).collect();
    if least == most || series.is_empty() {
        return String::new();
    }
    let marks: Vec<&Mark> =
        marks.iter().filter(|mark| mark.column == over.column() && program.title.starts_with(mark.program)).collect();
    let theirs = || marks.iter().flat_map(|mark| mark.points);
    let most_of_all = theirs().map(|&(workers, _)| workers).fold(real(most), f64::max);
    let capacity = |&count: &usize| {
        let capacity = program.capacity(count, cores).map(|capacity| capacity.sample.median);
        Some((count, if count == 1 { 1.0 } else { capacity? }))
    };
    let ceiling: Vec<(usize, f64)> = counts.iter().filter_map(capacity).collect();
    let reached = series.iter().flat_map(Series::extent).chain(ceiling.iter().map(|&(_, capacity)| capacity));
    let reached = reached.chain(theirs().map(|&(_, speedup)| speedup));
    let plot = Plot::new((real(least), most_of_all), real(most), cores, &reached.collect::<Vec<_>>());

    let mut svg = String::new();
    let places = theirs().map(|&(workers, _)| workers).chain(counts.iter().map(|&count| real(count)));
    plot.grid(&mut svg, over, places.collect());
    let mut ends = Vec::new();
    let mut end = |at: (f64, f64), look: Option<Look>, text: String| {
        ends.push(End { at: (plot.across.at(at.0), plot.up.at(at.1)), look, text });
    };
    let ideal = plot.ideal();
    put!(
        svg,
        r#"<polyline class="ideal" points="{}" data-tip="ideal: the number of workers, up to that of processors"/>"#,
        plot.line(&ideal)
    );
    if let Some(&last) = ideal.last() {
        end(last, None, format!("ideal {:.0}", last.1));
    }
    if let Some(&(count, last)) = ceiling.last().filter(|_| ceiling.len() > 1) {
        let tip = format!("parallel capacity: {count} workers can reach {last:.2}");
        let points: Vec<(f64, f64)> = ceiling.iter().map(|&(count, capacity)| (real(count), capacity)).collect();
        put!(svg, r#"<polyline class="ceiling" points="{}" data-tip="{}"/>"#, plot.line(&points), escape(&tip));
        end((real(count), last), None, format!("C{} {last:.2}", count.min(cores)));
    }
    let draw = |name: &str, points: &[Point], look: &Look| {
        let name = format!("{name}, {}", over.name());
        lines::draw(&name, points, |value| format!("{value:.2}"), look, (&plot.across, &plot.up))
    };
    for (index, mark) in marks.iter().enumerate() {
        let point = |&(x, value): &(f64, f64)| Point { x, name: trimmed(x), value, interval: None };
        let (name, look) = (name_of(mark), Look::theirs(index));
        svg += &draw(&name, &mark.points.iter().map(point).collect::<Vec<_>>(), &look);
        if let Some(&last) = mark.points.last() {
            end(last, Some(look), format!("{name} {}", trimmed(last.1)));
        }
    }
    for series in &series {
        let (name, look) = (palette.name(series.who), palette.look(series.who));
        svg += &draw(&name, &series.points(), &look);
        if let Some(&(count, last)) = series.points.last() {
            end((real(count), last.value), Some(look), format!("{name} {:.2}", last.value));
        }
    }
    let (labels, room) = lines::labels(ends, RIGHT + 6.0, (TOP, BOTTOM));
    let title = format!("Speed-up of {}", program.title);
    open(WIDTH.max(RIGHT + 6.0 + room), HEIGHT, &title) + &svg + &labels + "</svg>"
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
    fn of(program: &Program, over: Over, who: &'p SchedulerId, counts: &[usize]) -> Self {
        let point = |&count: &usize| Some((count, over.of(program.row(who, count)?)?));
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

    fn points(&self) -> Vec<Point> {
        let point = |&(count, speedup): &(usize, Estimate)| Point {
            x: real(count),
            name: count.to_string(),
            value: speedup.value,
            interval: speedup.interval,
        };
        self.points.iter().map(point).collect()
    }
}

/// Both axes.
struct Plot {
    across: Axis,
    up: Axis,
    least: f64,
    /// The most workers that we measured.
    ours: f64,
    cores: f64,
}

impl Plot {
    /// Makes both axes linear from zero, or both logarithmic, so that the ideal is a straight line.
    fn new((least, most): (f64, f64), ours: f64, cores: usize, reached: &[f64]) -> Self {
        let cores = real(cores);
        let top = reached.iter().copied().fold(ours.min(cores), f64::max);
        let (across, up) = if most > LINEAR * least {
            let bottom = reached.iter().copied().fold(least.min(cores), f64::min);
            (
                Axis { from: least, to: most, ..Axis::doubling(1.0, 2.0, (LEFT + 12.0, RIGHT)) },
                Axis::doubling(bottom, top, (BOTTOM, TOP)),
            )
        } else {
            (Axis { to: most, ..Axis::new(0.0, most, (LEFT, RIGHT), 4.0) }, Axis::new(0.0, top, (BOTTOM, TOP), 4.0))
        };
        Self { across, up, least, ours, cores }
    }

    /// The ideal: the number of workers, up to the number of processors.
    fn ideal(&self) -> Vec<(f64, f64)> {
        let start = if self.up.scale == Scale::Linear { 0.0 } else { self.least };
        let bend = self.cores.clamp(start, self.ours);
        [start, bend, self.ours].map(|workers| (workers, workers.min(self.cores))).to_vec()
    }

    fn grid(&self, svg: &mut String, over: Over, mut places: Vec<f64>) {
        for &tick in &self.up.ticks {
            let y = self.up.at(tick);
            put!(svg, r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/>"#);
            let (x, y) = (LEFT - 6.0, y + 4.0);
            put!(svg, r#"<text class="tick" text-anchor="end" x="{x}" y="{y:.1}">{}</text>"#, trimmed(tick));
        }
        places.sort_by(f64::total_cmp);
        places.dedup();
        let marked = |&workers: &f64| {
            let mark = if workers > self.cores && workers <= self.ours { "!" } else { "" };
            (workers, format!("{}{mark}", trimmed(workers)))
        };
        let each: Vec<(f64, String)> = places.iter().map(marked).collect();
        svg.push_str(&lines::marks(&each, &self.across, BOTTOM));
        put!(
            svg,
            r#"<text class="tick" x="0" y="12">{}</text><text class="tick" text-anchor="middle" x="{:.1}" y="{:.1}">workers</text>"#,
            over.name(),
            f64::midpoint(LEFT, RIGHT),
            HEIGHT - 4.0
        );
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
        speedup(&programs[0], Over::Serial, &Palette::new(&programs), &[], cores)
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
    fn a_documents_marks_are_to_the_same_scale() {
        static MARKS: [Mark; 2] = [
            Mark { column: "speedup", program: "fib", label: "T1/T8", points: &[(1.0, 1.0), (8.0, 2.0)] },
            Mark { column: "median", program: "fib", label: "another plot", points: &[(1.0, 9.0)] },
        ];
        let programs =
            summarize(&[run("fib", "serial", 1, 1.0), run("fib", "x", 1, 1.0), run("fib", "x", 2, 0.5)], &[]);
        let svg = speedup(&programs[0], Over::Serial, &Palette::new(&programs), &MARKS, 2);
        let theirs = &svg[svg.find("class=\"s theirs\"").expect("a series of the document")..];
        let [one, eight] = points(theirs, "series")[..] else { panic!("{theirs}") };
        let [ours_one, ours_two] = points(&svg[svg.find("class=\"s c0\"").expect("ours")..], "series")[..] else {
            panic!("{svg}")
        };
        assert!((one.0 - ours_one.0).abs() < 0.2 && (one.1 - ours_one.1).abs() < 0.2, "the same place");
        assert!((eight.1 - ours_two.1).abs() < 0.2 && (7.0 * (ours_two.0 - one.0) - (eight.0 - one.0)).abs() < 0.7);
        assert!(svg.contains(">paper: T1/T8 2</text>") && svg.contains(">8</text>") && !svg.contains("another plot"));
    }

    #[test]
    fn a_speed_up_over_one_worker_begins_at_one_and_has_its_own_marks() {
        static MARKS: [Mark; 2] = [
            Mark { column: "relative-speedup", program: "", label: "T1/T4", points: &[(4.0, 3.0)] },
            Mark { column: "speedup", program: "", label: "Ts/T4", points: &[(4.0, 2.0)] },
        ];
        // Half as fast as the sequential program on one worker, and twice as fast again on two.
        let runs = [run("fib", "serial", 1, 1.0), run("fib", "x", 1, 2.0), run("fib", "x", 2, 1.0)];
        let programs = summarize(&runs, &[]);
        let plot = |over| speedup(&programs[0], over, &Palette::new(&programs), &MARKS, 2);
        let (own, serial) = (plot(Over::OneWorker), plot(Over::Serial));
        assert!(own.contains(">x 2.00</text>") && own.contains(">T1/TP</text>"), "{own}");
        assert!(own.contains("paper: T1/T4 3") && !own.contains("Ts/T"), "{own}");
        assert!(serial.contains(">x 1.00</text>") && serial.contains(">Ts/TP</text>") && !serial.contains("T1/T"));
        let ours = &own[own.find("class=\"s c0\"").expect("ours")..];
        let [one, two] = points(ours, "series")[..] else { panic!("{ours}") };
        assert!((2.0 * (BOTTOM - one.1) - (BOTTOM - two.1)).abs() < 0.2, "1 and 2: {ours}");
    }

    #[test]
    fn one_number_of_workers_makes_no_plot() {
        assert_eq!(ideal(&[2], 2), "");
        let alone = summarize(&[run("fib", "rayon", 1, 1.0), run("fib", "rayon", 2, 1.0)], &[]);
        let plot = |over| speedup(&alone[0], over, &Palette::new(&alone), &[], 2);
        assert_eq!(plot(Over::Serial), "", "without the sequential program");
        assert_ne!(plot(Over::OneWorker), "");
    }
}
