//! The plots of the report, as inline SVG that takes its colours from the page.

use std::fmt::Write;

use crate::columns::Unit;
use crate::stats::{Estimate, Sample};
use crate::summary::{Program, Row};
use crate::terminal::{self, duration, significant};

/// Escapes text for an element or an attribute.
fn escape(text: &str) -> String {
    maud::html! { (text) }.into_string()
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

mod axis;
mod bars;
mod chart;
pub(crate) mod files;
mod lines;
mod palette;
mod panel;
mod speedup;
mod strip;
mod sweep;

use axis::{Axis, Scale};
pub(crate) use bars::bars;
pub(crate) use chart::{Chart, Look, Series};
pub(crate) use palette::Palette;
pub(crate) use speedup::{Over, speedup};
pub(crate) use strip::strip;
pub(crate) use sweep::{Figure, sweeps};

/// The end of the axis for these times: one disturbed run must not compress all others.
fn reach(time: Sample) -> f64 {
    time.max.min(time.upper_quartile * 1.3)
}

/// Draws every sample of every scheduler, with the median and the middle half.
pub(crate) fn times(program: &Program, palette: &Palette) -> String {
    const PLOT: f64 = 438.0;
    const RIGHT: f64 = 76.0;
    const LINE: f64 = 27.0;
    const HEAD: f64 = 30.0;
    let left = beside(&program.rows, palette);
    let width = left + PLOT + RIGHT;
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
    let axis = Axis::new(0.0, most, (left, width - RIGHT), 5.0);
    let mut svg = open(width, height, &format!("Times of {}", program.title));
    for &tick in &axis.ticks {
        let x = axis.at(tick);
        put!(svg, r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="8" y2="{body:.1}"/>"#);
        let text = if tick == 0.0 { "0".to_owned() } else { duration(tick) };
        put!(svg, r#"<text class="tick" text-anchor="middle" x="{x:.1}" y="{:.1}">{text}</text>"#, body + 18.0);
    }
    let mut y = 0.0;
    for (workers, rows) in &groups {
        let name = terminal::workers(*workers);
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
            svg += &dots(row, palette, &axis, y + LINE / 2.0, width);
            y += LINE;
        }
    }
    svg + "</svg>"
}

/// The room for the names of these rows on the left.
fn beside<'r>(rows: impl IntoIterator<Item = &'r Row>, palette: &Palette) -> f64 {
    rows.into_iter().map(|row| lines::width_of(&palette.name(&row.who))).fold(60.0, f64::max) + 14.0
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
    let mut svg = format!(r#"<g {} data-tip="{}">"#, palette.look(&row.who).attributes(), escape(&tip));
    put!(svg, r#"<rect class="hit" x="0" y="{:.1}" width="{width}" height="26"/>"#, y - 13.0);
    let bad = if row.wrong.is_empty() { "" } else { " bad" };
    put!(svg, r#"<text class="label{bad}" x="0" y="{:.1}">{}</text>"#, y + 4.0, escape(&palette.name(&row.who)));
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

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Draws the cost of a fork over the sequential program, with one worker.
pub(crate) fn overheads(program: &Program, palette: &Palette) -> String {
    const PLOT: f64 = 190.0;
    const RIGHT: f64 = 122.0;
    const LINE: f64 = 24.0;
    let mut rows: Vec<(&Row, Estimate)> =
        program.rows.iter().filter_map(|row| Some((row, row.compared.fork_seconds?))).collect();
    rows.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    if rows.is_empty() {
        return String::new();
    }
    let left = beside(rows.iter().map(|(row, _)| *row), palette);
    let width = left + PLOT + RIGHT;
    let longest = rows.iter().map(|(_, cost)| cost.value).fold(f64::MIN_POSITIVE, f64::max);
    // One disturbed round must not compress all bars.
    let reach = |cost: &Estimate| cost.interval.map_or(cost.value, |(_, high)| high).min(1.5 * longest);
    let most = rows.iter().map(|(_, cost)| reach(cost)).fold(longest, f64::max);
    let at = |seconds: f64| left + (seconds / most).clamp(0.0, 1.0) * PLOT;
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let mut svg = open(width, LINE * rows.len() as f64 + 4.0, &format!("Cost of a fork in {}", program.title));
    let mut y = 0.0;
    for (row, cost) in rows {
        let ratio = row.compared.overhead.map_or_else(String::new, |ratio| format!("T1/Ts {:.2}", ratio.value));
        let text = Unit::ForkSeconds.text(cost.value);
        let within = cost.interval.map_or_else(String::new, |(low, high)| {
            format!(" [{}, {}]", Unit::ForkSeconds.text(low), Unit::ForkSeconds.text(high))
        });
        let tip = format!("{}\n{text}{within} per task\n{ratio}", row.label);
        put!(svg, r#"<g {} data-tip="{}">"#, palette.look(&row.who).attributes(), escape(&tip));
        put!(svg, r#"<rect class="hit" x="0" y="{y:.1}" width="{width}" height="{LINE}"/>"#);
        put!(svg, r#"<text class="label" x="0" y="{:.1}">{}</text>"#, y + 16.0, escape(&palette.name(&row.who)));
        put!(
            svg,
            r#"<rect class="bar" x="{left}" y="{:.1}" width="{:.1}" height="13" rx="2.5"/>"#,
            y + 5.0,
            (at(cost.value) - left).max(1.5)
        );
        let (low, high) = cost.interval.map_or((cost.value, cost.value), |(low, high)| (low, high.max(cost.value)));
        put!(
            svg,
            r#"<line class="error" x1="{:.1}" x2="{:.1}" y1="{:.1}" y2="{:.1}"/>"#,
            at(low),
            at(high),
            y + 11.5,
            y + 11.5
        );
        put!(
            svg,
            r#"<text class="value" x="{:.1}" y="{:.1}">{text} <tspan class="tick">{ratio}</tspan></text></g>"#,
            at(high) + 8.0,
            y + 16.0,
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
        for svg in [
            times(&programs[0], &palette),
            speedup(&programs[0], Over::Serial, &palette, &[], 2),
            overheads(&programs[0], &palette),
        ] {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
            assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
            assert!(svg.contains("&lt;rayon&gt;") && !svg.contains("<rayon>"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
