//! Lines through points with intervals, between two axes: the common part of the plots of workers and of sweeps.

use std::fmt::Write;

use super::{Axis, escape};

/// A point of a line.
pub(super) struct Point {
    pub(super) x: f64,
    /// The position, for people.
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
}

/// Draws a line with its points and intervals; the tip has all numbers.
pub(super) fn draw(
    title: &str,
    points: &[Point],
    text: impl Fn(f64) -> String,
    attributes: &str,
    (across, up): (&Axis, &Axis),
) -> String {
    let told = points.iter().map(|Point { name, value, interval, .. }| match interval {
        Some((low, high)) => format!("{name}: {} [{}, {}]", text(*value), text(*low), text(*high)),
        None => format!("{name}: {}", text(*value)),
    });
    let tip = format!("{title}\n{}", told.collect::<Vec<_>>().join("\n"));
    let line: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.value)).collect();
    let mut svg = format!(r#"<g {attributes} data-tip="{}">"#, escape(&tip));
    put!(svg, r#"<polyline class="series" points="{}"/>"#, corners(&line, across, up));
    for point in points {
        let (x, y) = (across.at(point.x), up.at(point.value));
        if let Some((low, high)) = point.interval {
            let (low, high) = (up.at(low), up.at(high));
            put!(svg, r#"<line class="whisker" x1="{x:.1}" x2="{x:.1}" y1="{low:.1}" y2="{high:.1}"/>"#);
        }
        put!(svg, r#"<circle class="point" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#);
    }
    svg + "</g>"
}

/// Formats points for an SVG element.
pub(super) fn corners(points: &[(f64, f64)], across: &Axis, up: &Axis) -> String {
    let each = points.iter().map(|&(x, y)| format!("{:.1},{:.1}", across.at(x), up.at(y)));
    each.collect::<Vec<_>>().join(" ")
}

/// Draws marks below the axis at the measured values; omits a name that does not fit.
pub(super) fn marks(each: &[(f64, String)], axis: &Axis, bottom: f64) -> String {
    // The width of a character, and the gap between two names.
    const WIDTH: f64 = 6.5;
    const APART: f64 = 6.0;
    let mut svg = String::new();
    let mut free = f64::INFINITY;
    for (value, name) in each.iter().rev() {
        let x = axis.at(*value);
        put!(svg, r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{bottom}" y2="{:.1}"/>"#, bottom + 4.0);
        #[expect(clippy::cast_precision_loss, reason = "a short name")]
        let half = name.chars().count() as f64 * WIDTH / 2.0;
        // From right to left, since the largest value matters most.
        if x + half > free {
            continue;
        }
        free = x - half - APART;
        put!(
            svg,
            r#"<text class="tick" text-anchor="middle" x="{x:.1}" y="{:.1}">{}</text>"#,
            bottom + 18.0,
            escape(name)
        );
    }
    svg
}
