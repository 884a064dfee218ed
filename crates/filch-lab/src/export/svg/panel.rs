//! Values against a number, both axes to scale: ours with their intervals, a document's beside them.

use std::fmt::Write;

use super::lines::{self, End, LABEL, Point};
use super::palette::Look;
use super::{Axis, escape, open};

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 316.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 430.0;
const TOP: f64 = 28.0;
/// The room for the numbers and the name of the lower axis.
const FOOT: f64 = 46.0;
/// Beyond this ratio of the positions, a linear axis would crowd the points at its left end.
const LINEAR: f64 = 16.0;

/// A plot of lines.
pub(crate) struct Panel<'c> {
    /// What it shows, for those who do not see it.
    pub(crate) title: String,
    /// The meaning of the lower axis, with its unit.
    pub(crate) across: &'c str,
    /// The meaning of the values.
    pub(crate) up: &'c str,
    /// Formats a value, with its unit.
    pub(crate) text: &'c dyn Fn(f64) -> String,
    pub(crate) series: Vec<Series>,
}

/// What belongs together in a plot.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) look: Look,
    pub(crate) drawn: Drawn,
}

/// How a series is drawn.
pub(crate) enum Drawn {
    Line(Vec<Point>),
    /// A value that does not depend on the position.
    Level(f64),
}

impl Series {
    /// The points, sorted by position.
    fn points(&self) -> &[Point] {
        if let Drawn::Line(points) = &self.drawn { points } else { &[] }
    }

    fn level(&self) -> Option<f64> {
        if let Drawn::Level(value) = self.drawn { Some(value) } else { None }
    }

    /// The values that the axis must include.
    fn extent(&self) -> impl Iterator<Item = f64> {
        let of_points =
            self.points().iter().flat_map(|point| [point.value, point.interval.map_or(0.0, |(_, high)| high)]);
        of_points.chain(self.level())
    }
}

impl Panel<'_> {
    /// Draws it; `None` if there are not two positions.
    pub(crate) fn svg(mut self) -> Option<String> {
        for series in &mut self.series {
            if let Drawn::Line(points) = &mut series.drawn {
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
            }
        }
        let points = || self.series.iter().flat_map(Series::points);
        let mut places: Vec<(f64, String)> = points().map(|point| (point.x, point.name.clone())).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        places.dedup_by(|a, b| a.0 == b.0);
        let (least, most) = (places.first()?.0, places.last()?.0);
        if least == most {
            return None;
        }
        let top = self.series.iter().flat_map(Series::extent).fold(0.0, f64::max);
        // Each name beside the plot has a line of its own.
        #[expect(clippy::cast_precision_loss, reason = "few series")]
        let height = HEIGHT.max(TOP + FOOT + LABEL * self.series.len() as f64);
        let bottom = height - FOOT;
        let up = Axis::new(0.0, if top > 0.0 { top } else { 1.0 }, (bottom, TOP), 4.0);
        let pixels = (LEFT + 12.0, RIGHT);
        let across = if least > 0.0 && most > LINEAR * least {
            Axis { from: least, to: most, ..Axis::doubling(least, most, pixels) }
        } else {
            Axis { from: least, to: most, ..Axis::new(least, most, pixels, 4.0) }
        };
        let (labels, room) = lines::labels(self.ends((&across, &up)), RIGHT + 6.0, (TOP, bottom));
        let mut svg = open(WIDTH.max(RIGHT + 6.0 + room), height, &self.title);
        self.grid(&mut svg, &up);
        svg += &lines::marks(&places, &across, bottom);
        put!(
            svg,
            r#"<text class="tick" text-anchor="middle" x="{:.1}" y="{:.1}">{}</text>"#,
            f64::midpoint(LEFT, RIGHT),
            height - 8.0,
            escape(self.across)
        );
        for series in &self.series {
            match &series.drawn {
                Drawn::Level(value) => svg += &self.level(series, up.at(*value), *value),
                Drawn::Line(points) => {
                    svg += &lines::draw(&series.name, points, self.text, &series.look, (&across, &up));
                }
            }
        }
        Some(svg + &labels + "</svg>")
    }

    fn grid(&self, svg: &mut String, up: &Axis) {
        put!(svg, r#"<text class="tick" x="0" y="12">{}</text>"#, escape(self.up));
        for &tick in &up.ticks {
            let y = up.at(tick);
            put!(svg, r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/>"#);
            let text = if tick == 0.0 { "0".to_owned() } else { escape(&(self.text)(tick)) };
            put!(svg, r#"<text class="tick" text-anchor="end" x="{}" y="{:.1}">{text}</text>"#, LEFT - 6.0, y + 4.0);
        }
    }

    fn level(&self, series: &Series, y: f64, value: f64) -> String {
        let (attributes, tip) = (series.look.attributes(), format!("{} {}", series.name, (self.text)(value)));
        let line = format!(r#"x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}""#);
        let tip = escape(&tip);
        format!(r#"<g {attributes} data-tip="{tip}"><line class="hit" {line}/><line class="beside" {line}/></g>"#)
    }

    /// Returns what to write beside the lines: the name and the last value.
    fn ends(&self, (across, up): (&Axis, &Axis)) -> Vec<End> {
        let end = |series: &Series| {
            let (at, value) = match (series.level(), series.points().last()) {
                (Some(value), _) => ((RIGHT - 5.0, up.at(value)), value),
                (None, Some(last)) => ((across.at(last.x), up.at(last.value)), last.value),
                (None, None) => return None,
            };
            let look = Some(series.look.clone()).filter(|_| series.level().is_none());
            Some(End { at, look, text: format!("{} {}", series.name, (self.text)(value)) })
        };
        self.series.iter().filter_map(end).collect()
    }
}
