//! Lines through points with intervals, between two axes, with their names at their ends: the common part of all plots
//! of numbers.

use std::fmt::Write;

use super::palette::Look;
use super::{Axis, escape};

/// A point of a line.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    /// The position, for people.
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// Draws a line with its points and intervals; the tip has all numbers.
pub(super) fn draw(
    title: &str,
    points: &[Point],
    text: impl Fn(f64) -> String,
    look: &Look,
    (across, up): (&Axis, &Axis),
) -> String {
    let told = points.iter().map(|Point { name, value, interval, .. }| match interval {
        Some((low, high)) => format!("{name}: {} [{}, {}]", text(*value), text(*low), text(*high)),
        None => format!("{name}: {}", text(*value)),
    });
    let tip = format!("{title}\n{}", told.collect::<Vec<_>>().join("\n"));
    let line: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.value)).collect();
    let mut svg = format!(r#"<g {} data-tip="{}">"#, look.attributes(), escape(&tip));
    put!(svg, r#"<polyline class="series" points="{}"/>"#, corners(&line, across, up));
    for point in points {
        let (x, y) = (across.at(point.x), up.at(point.value));
        if let Some((low, high)) = point.interval {
            let (low, high) = (up.at(low), up.at(high));
            put!(svg, r#"<line class="whisker" x1="{x:.1}" x2="{x:.1}" y1="{low:.1}" y2="{high:.1}"/>"#);
        }
        svg += &symbol(look.symbol, x, y);
    }
    svg + "</g>"
}

/// Draws the symbol of a series, so that no reader needs its colour.
fn symbol(kind: usize, x: f64, y: f64) -> String {
    let shape = match kind % 5 {
        0 => return format!(r#"<circle class="point" cx="{x:.1}" cy="{y:.1}" r="3.6"/>"#),
        1 => "m-3.3-3.3h6.6v6.6h-6.6z",
        2 => "m0-4.6 4.6 4.6-4.6 4.6-4.6-4.6z",
        3 => "m0-4.4 4.4 7.4h-8.8z",
        _ => "m0 4.4-4.4-7.4h8.8z",
    };
    format!(r#"<path class="point" d="M{x:.1} {y:.1}{shape}"/>"#)
}

/// Formats points for an SVG element.
pub(super) fn corners(points: &[(f64, f64)], across: &Axis, up: &Axis) -> String {
    let each = points.iter().map(|&(x, y)| format!("{:.1},{:.1}", across.at(x), up.at(y)));
    each.collect::<Vec<_>>().join(" ")
}

/// Draws marks below the axis at the measured values; omits a name that does not fit.
pub(super) fn marks(each: &[(f64, String)], axis: &Axis, bottom: f64) -> String {
    // The gap between two names.
    const APART: f64 = 6.0;
    let mut svg = String::new();
    let mut free = f64::INFINITY;
    for (value, name) in each.iter().rev() {
        let x = axis.at(*value);
        put!(svg, r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{bottom}" y2="{:.1}"/>"#, bottom + 4.0);
        let half = width_of(name) / 2.0;
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

/// The widths of the characters from space to tilde in DejaVu Sans, in thousandths of its size. Those of a page's font
/// are hardly larger.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656,
    557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613,
    635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818,
    592, 592, 525, 636, 337, 636, 838,
];
/// Of any other character: `µ`, `δ` and `−` are about as wide.
const USUAL: u16 = 700;

/// The width of a name or a number in a plot.
pub(super) fn width_of(text: &str) -> f64 {
    let width = |letter: char| {
        let place = (letter as usize).checked_sub(usize::from(b' '));
        place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(USUAL)
    };
    text.chars().map(|letter| f64::from(width(letter))).sum::<f64>() * 12.5e-3
}

/// The end of a line, and what to write beside it.
pub(super) struct End {
    pub(super) at: (f64, f64),
    /// The look of the line, if its symbol shall precede the text.
    pub(super) look: Option<Look>,
    pub(super) text: String,
}

/// The least distance of two labels.
pub(super) const LABEL: f64 = 15.0;

/// Draws names beside the ends of lines, moved apart to avoid overlap; returns them and the width that they take.
pub(super) fn labels(mut ends: Vec<End>, x: f64, bounds: (f64, f64)) -> (String, f64) {
    ends.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    let mut places: Vec<f64> = ends.iter().map(|end| end.at.1).collect();
    for index in 1..places.len() {
        places[index] = places[index].max(places[index - 1] + LABEL);
    }
    let mut limit = bounds.1;
    for place in places.iter_mut().rev() {
        *place = place.min(limit).max(bounds.0);
        limit = *place - LABEL;
    }
    let mut svg = String::new();
    for (end, place) in ends.iter().zip(places) {
        let (from, y) = end.at;
        let attributes = end.look.as_ref().map_or_else(|| r#"class="aside""#.to_owned(), Look::attributes);
        put!(
            svg,
            r#"<g {attributes}><polyline class="leader" points="{:.1},{y:.1} {:.1},{place:.1}"/>"#,
            from + 5.0,
            x + 3.0
        );
        if let Some(look) = &end.look {
            svg += &symbol(look.symbol, x + 8.0, place);
        }
        put!(svg, r#"<text class="end" x="{:.1}" y="{:.1}">{}</text></g>"#, x + 15.0, place + 4.0, escape(&end.text));
    }
    let width = ends.iter().map(|end| width_of(&end.text)).fold(0.0, f64::max) + 18.0;
    (svg, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        let end = |_| End { at: (0.0, 95.0), look: None, text: "x".to_owned() };
        let (svg, width) = labels((0..5).map(end).collect(), 0.0, (14.0, 100.0));
        let mut places: Vec<f64> = svg
            .split("class=\"end\"")
            .skip(1)
            .map(|part| part.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        places.sort_by(f64::total_cmp);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 14.9), "{places:?}");
        assert!(places.last().unwrap() <= &104.0 && width > 18.0);
    }
}
