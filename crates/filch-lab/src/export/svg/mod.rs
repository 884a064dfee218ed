//! The plots of the report, as inline SVG that takes its colours from the page.

use std::fmt::Write;

use crate::columns::Unit;
use crate::identity::SchedulerId;
use crate::stats::Sample;
use crate::summary::{Program, Row, contenders};
use crate::terminal::{duration, significant};

/// The colours of the schedulers, the same in every plot.
#[derive(Debug)]
pub(crate) struct Palette {
    all: Vec<SchedulerId>,
    /// Distinguishes the palettes of a page.
    prefix: &'static str,
}

impl Palette {
    /// Assigns colours to the schedulers of these programs.
    pub(crate) fn new(programs: &[Program]) -> Self {
        Self { all: contenders(programs.iter().flat_map(|program| &program.rows)), prefix: "" }
    }

    /// The classes that give an element its scheduler's colour.
    pub(crate) fn class(&self, who: &SchedulerId) -> String {
        self.index(who).map_or_else(|| "s serial".to_owned(), |index| format!("s c{}", index % COLOURS))
    }

    /// The key that a scheduler's elements share, so that the page highlights them together.
    pub(crate) fn key(&self, who: &SchedulerId) -> String {
        self.index(who).map_or_else(|| "serial".to_owned(), |index| format!("{}{index}", self.prefix))
    }

    /// Returns class and key as attributes.
    fn attributes(&self, who: &SchedulerId) -> String {
        format!(r#"class="{}" data-s="{}""#, self.class(who), self.key(who))
    }

    fn index(&self, who: &SchedulerId) -> Option<usize> {
        self.all.iter().position(|known| known == who)
    }

    /// Returns the schedulers, in the order of their colours.
    pub(crate) fn all(&self) -> &[SchedulerId] {
        &self.all
    }
}

/// The number of colours in the style sheet.
const COLOURS: usize = 10;

/// Escapes text for an element or an attribute.
fn escape(text: &str) -> String {
    maud::html! { (text) }.into_string()
}

/// An axis with ticks at round numbers.
struct Axis {
    from: f64,
    to: f64,
    pixels: (f64, f64),
    ticks: Vec<f64>,
    scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Linear,
    /// Each doubling has the same length.
    Logarithmic,
}

impl Axis {
    fn new(from: f64, to: f64, pixels: (f64, f64), ticks: f64) -> Self {
        let raw = ((to - from) / ticks).max(f64::MIN_POSITIVE);
        let magnitude = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude).into_iter().find(|step| *step >= raw);
        let step = step.unwrap_or(raw);
        let from = (from / step).floor() * step;
        let to = (to / step).ceil() * step;
        #[expect(clippy::cast_possible_truncation, reason = "a handful of ticks")]
        let count = ((to - from) / step).round() as i32;
        let ticks = (0..=count).map(|tick| from + f64::from(tick) * step).collect();
        Self { from, to, pixels, ticks, scale: Scale::Linear }
    }

    /// Makes an axis between powers of two, with a tick at each power.
    fn doubling(from: f64, to: f64, pixels: (f64, f64)) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "exponents of measured values")]
        let (least, most) = (from.log2().floor() as i32, to.log2().ceil() as i32);
        let ticks = (least..=most.max(least + 1)).map(|exponent| 2_f64.powi(exponent));
        let ticks: Vec<f64> = ticks.collect();
        Self { from: ticks[0], to: ticks[ticks.len() - 1], pixels, ticks, scale: Scale::Logarithmic }
    }

    fn at(&self, value: f64) -> f64 {
        let (start, end) = self.pixels;
        let [value, from, to] = [value, self.from, self.to].map(|number| match self.scale {
            Scale::Linear => number,
            Scale::Logarithmic => number.log2(),
        });
        start + (value - from) / (to - from) * (end - start)
    }
}

fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        r#"<svg viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{}" preserveAspectRatio="xMinYMin meet">"#,
        escape(title)
    )
}

/// Appends formatted text; writing to a string cannot fail.
macro_rules! put {
    ($to:expr, $($text:tt)*) => { let _ = write!($to, $($text)*); };
}

mod lines;
mod speedup;
mod sweep;

pub(crate) use speedup::speedup;
pub(crate) use sweep::{Figure, sweeps};

/// The end of the axis for these times: one disturbed run must not compress all others.
fn reach(time: Sample) -> f64 {
    time.max.min(time.upper_quartile * 1.3)
}

/// Draws every sample of every scheduler, with the median and the middle half.
pub(crate) fn times(program: &Program, palette: &Palette) -> String {
    const WIDTH: f64 = 640.0;
    const LEFT: f64 = 126.0;
    const RIGHT: f64 = 76.0;
    const LINE: f64 = 27.0;
    const HEAD: f64 = 30.0;
    let mut groups: Vec<(usize, Vec<&Row>)> = Vec::new();
    for row in program.rows.iter().filter(|row| row.time.is_some()) {
        let workers = if row.is_serial() { 1 } else { row.workers };
        match groups.last_mut() {
            Some((known, rows)) if *known == workers => rows.push(row),
            _ => groups.push((workers, vec![row])),
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let body: f64 = groups.iter().map(|(_, rows)| HEAD + LINE * rows.len() as f64).sum();
    let height = body + 34.0;
    let most = program.rows.iter().filter_map(|row| row.time).map(reach).fold(0.0, f64::max);
    let axis = Axis::new(0.0, most, (LEFT, WIDTH - RIGHT), 5.0);
    let mut svg = open(WIDTH, height, &format!("Times of {}", program.title));
    for &tick in &axis.ticks {
        let x = axis.at(tick);
        put!(svg, r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="8" y2="{body:.1}"/>"#);
        let text = if tick == 0.0 { "0".to_owned() } else { duration(tick) };
        put!(svg, r#"<text class="tick" text-anchor="middle" x="{x:.1}" y="{:.1}">{text}</text>"#, body + 18.0);
    }
    let mut y = 0.0;
    for (workers, rows) in &groups {
        let name = if *workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
        put!(svg, r#"<text class="group" x="0" y="{:.1}">{name}</text>"#, y + 20.0);
        #[expect(clippy::cast_precision_loss, reason = "few rows")]
        let end = y + HEAD + LINE * rows.len() as f64;
        let floor = match (program.serial, program.capacity(*workers, *workers)) {
            (Some(serial), _) if *workers == 1 => Some((serial.median, "Ts, the sequential program".to_owned())),
            (Some(serial), Some(capacity)) => {
                Some((serial.median / capacity.sample.median, format!("Ts / C{workers}: no overhead")))
            }
            _ => None,
        };
        if let Some((seconds, what)) = floor {
            let x = axis.at(seconds);
            let tip = format!("{what}: {}", duration(seconds));
            put!(
                svg,
                r#"<g data-tip="{}"><line class="hit" x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{end:.1}"/><line class="floor" x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{end:.1}"/></g>"#,
                escape(&tip),
                y + HEAD - 4.0,
                y + HEAD - 4.0
            );
        }
        y += HEAD;
        for row in rows {
            svg += &dots(row, palette, &axis, y + LINE / 2.0, WIDTH);
            y += LINE;
        }
    }
    svg + "</svg>"
}

fn dots(row: &Row, palette: &Palette, axis: &Axis, y: f64, width: f64) -> String {
    let Some(time) = row.time else { return String::new() };
    let tip = format!(
        "{} on {}\nmedian {}, mean {}\nmiddle half {} to {}\nall {} to {}\n{} runs",
        row.label,
        row.workers,
        duration(time.median),
        duration(time.mean),
        duration(time.lower_quartile),
        duration(time.upper_quartile),
        duration(time.min),
        duration(time.max),
        time.n
    );
    let mut svg = format!(r#"<g {} data-tip="{}">"#, palette.attributes(&row.who), escape(&tip));
    put!(svg, r#"<rect class="hit" x="0" y="{:.1}" width="{width}" height="26"/>"#, y - 13.0);
    let bad = if row.wrong.is_empty() { "" } else { " bad" };
    put!(svg, r#"<text class="label{bad}" x="0" y="{:.1}">{}</text>"#, y + 4.0, escape(&row.label));
    let (low, high) = (axis.at(time.lower_quartile), axis.at(time.upper_quartile));
    put!(
        svg,
        r#"<line class="range" x1="{:.1}" x2="{:.1}" y1="{y:.1}" y2="{y:.1}"/>"#,
        axis.at(time.min),
        axis.at(time.max.min(axis.to))
    );
    put!(
        svg,
        r#"<rect class="box" x="{low:.1}" y="{:.1}" width="{:.1}" height="14" rx="3"/>"#,
        y - 7.0,
        (high - low).max(1.0)
    );
    // Offsets the dots vertically, so that equal times do not hide each other; the same on every rendering.
    for (index, &seconds) in row.seconds.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "few samples")]
        let offset = ((index as f64 * 0.618_034).fract() - 0.5) * 9.0;
        if seconds > axis.to {
            let x = axis.at(axis.to);
            put!(svg, r#"<path class="dot" d="M{x:.1} {:.1}l6 3.5l-6 3.5z"/>"#, y - 3.5);
            continue;
        }
        put!(svg, r#"<circle class="dot" cx="{:.1}" cy="{:.1}" r="2.2"/>"#, axis.at(seconds), y + offset);
    }
    let x = axis.at(time.median);
    put!(svg, r#"<line class="median" x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{:.1}"/>"#, y - 9.0, y + 9.0);
    put!(
        svg,
        r#"<text class="value" text-anchor="end" x="{width}" y="{:.1}">{}</text></g>"#,
        y + 4.0,
        duration(time.median)
    );
    svg
}

/// Draws names at the ends of lines, moved apart to avoid overlap.
fn labels(mut ends: Vec<(f64, String, String)>, x: f64, bounds: (f64, f64)) -> String {
    const APART: f64 = 15.0;
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut places: Vec<f64> = ends.iter().map(|(y, ..)| *y).collect();
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + APART);
    }
    let mut limit = bounds.1;
    for place in places.iter_mut().rev() {
        *place = place.min(limit).max(bounds.0);
        limit = *place - APART;
    }
    let mut svg = String::new();
    for ((y, attributes, text), place) in ends.iter().zip(places) {
        put!(
            svg,
            r#"<g {attributes}><polyline class="leader" points="{:.1},{y:.1} {:.1},{place:.1}"/><text class="end" x="{:.1}" y="{:.1}">{}</text></g>"#,
            x - 7.0,
            x + 2.0,
            x + 5.0,
            place + 4.0,
            escape(text)
        );
    }
    svg
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Draws the cost of a fork over the sequential program, with one worker.
pub(crate) fn overheads(program: &Program, palette: &Palette) -> String {
    const WIDTH: f64 = 420.0;
    const LEFT: f64 = 126.0;
    const RIGHT: f64 = 110.0;
    const LINE: f64 = 24.0;
    let mut rows: Vec<(&Row, f64)> =
        program.rows.iter().filter_map(|row| Some((row, row.compared.fork_seconds?.value))).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    if rows.is_empty() {
        return String::new();
    }
    let most = rows.iter().map(|(_, seconds)| *seconds).fold(f64::MIN_POSITIVE, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let mut svg = open(WIDTH, LINE * rows.len() as f64 + 4.0, &format!("Cost of a fork in {}", program.title));
    let mut y = 0.0;
    for (row, seconds) in rows {
        let bar = (seconds / most).max(0.0) * (WIDTH - LEFT - RIGHT);
        let ratio = row.compared.overhead.map_or_else(String::new, |ratio| format!("T1/Ts {:.2}", ratio.value));
        let tip = format!("{}\n{} per task\n{ratio}", row.label, Unit::ForkSeconds.text(seconds));
        put!(svg, r#"<g {} data-tip="{}">"#, palette.attributes(&row.who), escape(&tip));
        put!(svg, r#"<rect class="hit" x="0" y="{y:.1}" width="{WIDTH}" height="{LINE}"/>"#);
        put!(svg, r#"<text class="label" x="0" y="{:.1}">{}</text>"#, y + 16.0, escape(&row.label));
        put!(
            svg,
            r#"<rect class="bar" x="{LEFT}" y="{:.1}" width="{:.1}" height="13" rx="2.5"/>"#,
            y + 5.0,
            bar.max(1.5)
        );
        put!(
            svg,
            r#"<text class="value" x="{:.1}" y="{:.1}">{} <tspan class="tick">{ratio}</tspan></text></g>"#,
            LEFT + bar + 8.0,
            y + 16.0,
            Unit::ForkSeconds.text(seconds)
        );
        y += LINE;
    }
    svg + "</svg>"
}

/// Draws the parallel capacity over the session, one dot per sample.
pub(crate) fn capacities(programs: &[Program]) -> String {
    const WIDTH: f64 = 1060.0;
    const HEIGHT: f64 = 190.0;
    const PLOT: (f64, f64) = (40.0, WIDTH - 14.0);
    const BOTTOM: f64 = HEIGHT - 34.0;
    let each =
        || programs.iter().flat_map(|program| program.capacities.iter().map(move |capacity| (program, capacity)));
    let samples: Vec<(f64, f64)> = each().flat_map(|(_, capacity)| capacity.samples.iter().copied()).collect();
    if samples.len() < 2 {
        return String::new();
    }
    let (start, end) = range(samples.iter().map(|sample| sample.0));
    let (least, most) = range(samples.iter().map(|sample| sample.1));
    let across = Axis::new(0.0, (end - start).max(1.0), PLOT, 8.0);
    let up = Axis::new((least - 0.05).min(1.0), most + 0.05, (BOTTOM, 12.0), 4.0);
    let mut svg = open(WIDTH, HEIGHT, "Parallel capacity over the session");
    for &tick in &up.ticks {
        let y = up.at(tick);
        put!(svg, r#"<line class="grid" x1="{}" x2="{}" y1="{y:.1}" y2="{y:.1}"/>"#, PLOT.0, PLOT.1);
        let text = trimmed(tick);
        put!(svg, r#"<text class="tick" text-anchor="end" x="{}" y="{:.1}">{text}</text>"#, PLOT.0 - 6.0, y + 4.0);
    }
    for &tick in &across.ticks {
        let (x, text) = (across.at(tick), significant(tick));
        let text = text.trim_end_matches('0').trim_end_matches('.');
        let text = if tick >= 99.0 {
            format!("{tick:.0}")
        } else if text.is_empty() {
            "0".into()
        } else {
            text.to_owned()
        };
        put!(svg, r#"<text class="tick" text-anchor="middle" x="{x:.1}" y="{:.1}">{text} s</text>"#, BOTTOM + 20.0);
    }
    for (program, capacity) in each() {
        for &(at, value) in &capacity.samples {
            let tip = format!("{}\nC{} = {value:.2}\nafter {:.0} s", program.title, capacity.copies, at - start);
            put!(
                svg,
                r#"<circle class="sample" cx="{:.1}" cy="{:.1}" r="4.5" data-tip="{}"/>"#,
                across.at(at - start),
                up.at(value),
                escape(&tip)
            );
        }
    }
    svg + "</svg>"
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn an_axis_has_round_ticks_around_its_values() {
        let axis = Axis::new(0.0, 0.93, (0.0, 100.0), 5.0);
        assert!((axis.to - 1.0).abs() < 1e-12 && axis.ticks.len() == 6);
        assert!((axis.at(0.5) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn doublings_have_equal_lengths() {
        let axis = Axis::doubling(0.3, 6.0, (0.0, 100.0));
        assert_eq!(axis.ticks, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]);
        let places: Vec<f64> = axis.ticks.iter().map(|&tick| axis.at(tick)).collect();
        assert_eq!(places, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn plots_are_closed_and_escaped() {
        let runs = [
            run("fib", "serial", 1, 1.0),
            run("fib", "filch split", 1, 1.1),
            run("fib", "filch split", 2, 0.6),
            run("fib", "<rayon>", 1, 4.0),
            run("fib", "<rayon>", 2, 2.0),
        ];
        let programs = summarize(&runs, &[]);
        let palette = Palette::new(&programs);
        for svg in
            [times(&programs[0], &palette), speedup(&programs[0], &palette, 2), overheads(&programs[0], &palette)]
        {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
            assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
            assert!(svg.contains("&lt;rayon&gt;") && !svg.contains("<rayon>"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        let ends = (0..5).map(|_| (95.0, String::new(), "x".to_owned())).collect();
        let svg = labels(ends, 0.0, (14.0, 100.0));
        let mut places: Vec<f64> = svg
            .split("class=\"end\"")
            .skip(1)
            .map(|part| part.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        places.sort_by(f64::total_cmp);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 14.9), "{places:?}");
        assert!(places.last().unwrap() <= &104.0);
    }

    #[test]
    fn filch_has_the_first_colours() {
        let runs =
            [run("fib", "chili", 1, 1.0), run("fib", "filch closures", 1, 1.1), run("fib", "filch split", 1, 1.1)];
        let labels: Vec<String> = Palette::new(&summarize(&runs, &[])).all().iter().map(ToString::to_string).collect();
        assert_eq!(labels, ["filch split", "filch closures", "chili"]);
    }
}
