//! The numbers of a probe against each other, both axes to scale.

use std::fmt::Write;

use super::lines::{self, End, Point};
use super::{Axis, escape, open, palette, trimmed};

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 430.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// A plot of some series.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The meanings of the axes, with units.
    pub(crate) across: &'static str,
    pub(crate) up: &'static str,
    /// Whether on both axes each doubling has the same length; otherwise the upward one starts at zero.
    pub(crate) doubles: bool,
    pub(crate) series: Vec<Series>,
    /// Positions to mark on the axis across, with names.
    pub(crate) references: Vec<(f64, String)>,
}

/// Points with a common meaning.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    Line,
    /// Not measured.
    Dashes,
    Dots,
    Crosses,
}

impl Chart {
    /// Draws the chart; `None` if there are not two places on each axis.
    pub(crate) fn draw(&self) -> Option<String> {
        let all = || self.series.iter().flat_map(|series| series.points.iter().copied());
        let (least, most) = super::range(all().map(|(x, _)| x).chain(self.references.iter().map(|&(x, _)| x)));
        let (low, high) = super::range(all().map(|(_, y)| y));
        if !(least < most && low < high) {
            return None;
        }
        let (wide, tall) = ((LEFT + 12.0, RIGHT), (BOTTOM, TOP));
        let (across, up) = if self.doubles {
            (Axis::doubling(least, most, wide), Axis::doubling(low, high, tall))
        } else {
            (Axis::new(least.min(0.0), most, wide, 5.0), Axis::new(low.min(0.0), high, tall, 4.0))
        };
        let mut ends = Vec::new();
        let mut drawn = String::new();
        for (index, series) in self.series.iter().enumerate() {
            let look = palette::Look::nth(index);
            drawn += &series.draw(&look, (&across, &up));
            if let Some(&(x, last)) = series.points.last() {
                // Other marks than a line's are their own legend.
                let look = Some(look).filter(|_| series.look == Look::Line);
                ends.push(End { at: (across.at(x), up.at(last)), look, text: series.name.clone() });
            }
        }
        let (labels, room) = lines::labels(ends, RIGHT + 6.0, (TOP, BOTTOM));
        let mut svg = open(WIDTH.max(RIGHT + 6.0 + room), HEIGHT, &self.title);
        for &tick in &up.ticks {
            let y = up.at(tick);
            put!(svg, r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/>"#);
            let (x, y) = (LEFT - 6.0, y + 4.0);
            put!(svg, r#"<text class="tick" text-anchor="end" x="{x}" y="{y:.1}">{}</text>"#, trimmed(tick));
        }
        let ticks: Vec<(f64, String)> = across.ticks.iter().map(|&tick| (tick, trimmed(tick))).collect();
        svg += &lines::marks(&ticks, &across, BOTTOM);
        put!(svg, r#"<text class="tick" x="0" y="14">{}</text>"#, escape(self.up));
        put!(
            svg,
            r#"<text class="tick" text-anchor="middle" x="{:.1}" y="{:.1}">{}</text>"#,
            f64::midpoint(LEFT, RIGHT),
            HEIGHT - 8.0,
            escape(self.across)
        );
        for (place, name) in &self.references {
            let x = across.at(*place);
            put!(
                svg,
                r#"<g data-tip="{}"><line class="floor" x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{BOTTOM}"/><text class="tick" text-anchor="middle" x="{x:.1}" y="{}">{}</text></g>"#,
                escape(name),
                TOP - 6.0,
                escape(name)
            );
        }
        Some(svg + &drawn + &labels + "</svg>")
    }
}

impl Series {
    fn draw(&self, look: &palette::Look, (across, up): (&Axis, &Axis)) -> String {
        if self.look == Look::Line {
            let point = |&(x, value): &(f64, f64)| Point { x, name: trimmed(x), value, interval: None };
            let points: Vec<Point> = self.points.iter().map(point).collect();
            return lines::draw(&self.name, &points, trimmed, look, (across, up));
        }
        let mut svg = format!(r#"<g {} data-tip="{}">"#, look.attributes(), escape(&self.name));
        if self.look == Look::Dashes {
            put!(
                svg,
                r#"<polyline class="beside" fill="none" points="{}"/>"#,
                lines::corners(&self.points, across, up)
            );
        }
        for &(x, y) in self.points.iter().filter(|_| self.look != Look::Dashes) {
            let (x, y) = (across.at(x), up.at(y));
            if self.look == Look::Dots {
                put!(svg, r#"<circle class="point" cx="{x:.1}" cy="{y:.1}" r="4"/>"#);
            } else {
                put!(svg, r#"<path class="series" d="M{:.1} {:.1}l8 8m0 -8l-8 8"/>"#, x - 4.0, y - 4.0);
            }
        }
        svg + "</g>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(doubles: bool, look: Look) -> Chart {
        Chart {
            title: "<t>".to_owned(),
            across: "stores",
            up: "ticks",
            doubles,
            series: vec![Series { name: "a < b".to_owned(), points: vec![(1.0, 8.0), (2.0, 16.0), (4.0, 64.0)], look }],
            references: vec![(2.0, "documented".to_owned())],
        }
    }

    /// The corners of the line of this class.
    fn corners(svg: &str, class: &str) -> Vec<(f64, f64)> {
        let line = svg.split(&format!("class=\"{class}\"")).nth(1).and_then(|rest| rest.split("points=\"").nth(1));
        let line = line.and_then(|rest| rest.split('"').next()).expect("a line");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        line.split(' ').map(|point| point.split_once(',').map(|(x, y)| (number(x), number(y))).expect("x,y")).collect()
    }

    #[test]
    fn both_axes_are_to_scale() {
        let svg = chart(false, Look::Line).draw().expect("a plot");
        let [a, b, c] = corners(&svg, "series")[..] else { panic!("three points") };
        assert!((2.0 * (b.0 - a.0) - (c.0 - b.0)).abs() < 0.5);
        assert!((BOTTOM - b.1 - 2.0 * (BOTTOM - a.1)).abs() < 0.5, "the axis does not start at zero");
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b") && !svg.contains("NaN"));
        assert!(svg.contains(&format!("x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{TOP}\"", b.0, b.0)), "the reference is at 2");
    }

    #[test]
    fn doublings_are_equally_long() {
        let svg = chart(true, Look::Dashes).draw().expect("a plot");
        let [a, b, c] = corners(&svg, "beside")[..] else { panic!("three points") };
        assert!(((b.0 - a.0) - (c.0 - b.0)).abs() < 0.5 && (2.0 * (a.1 - b.1) - (b.1 - c.1)).abs() < 0.5);
    }

    #[test]
    fn each_point_has_its_mark() {
        assert_eq!(chart(true, Look::Dots).draw().expect("a plot").matches("<circle").count(), 3);
        assert_eq!(chart(true, Look::Crosses).draw().expect("a plot").matches("<path").count(), 3);
    }

    #[test]
    fn one_place_makes_no_plot() {
        let mut flat = chart(false, Look::Dots);
        (flat.series[0].points, flat.references) = (vec![(1.0, 2.0), (1.0, 3.0)], Vec::new());
        assert!(flat.draw().is_none());
        assert!(Chart::default().draw().is_none());
    }
}
