//! Figures as files for papers: SVG with its own style in the page's light colours, and PNG.

use std::fmt::Write;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::{Figure, escape, font};

const STYLE: &str = include_str!("../html/report.css");

/// The size of a text without a class.
const SIZE: f32 = 12.5;

/// The room around the drawing.
const EDGE: f32 = 6.0;

/// The pixels of the picture for each unit of the drawing.
const SCALE: f32 = 2.0;

/// A rule of the page's style that concerns plots.
struct Rule {
    selectors: Vec<&'static str>,
    body: &'static str,
}

impl Rule {
    /// Whether it makes a series' colour known to the parts of the series.
    fn is_colour(&self) -> bool {
        self.body.contains("--colour:")
    }

    /// Whether it applies to a text of this class, whatever is around that.
    fn is_about(&self, class: &str) -> bool {
        self.selectors.iter().any(|selector| selector.rsplit([' ', '.']).next() == Some(class))
    }

    /// The value of a property.
    fn value(&self, property: &str) -> Option<&'static str> {
        self.body.split(';').find_map(|line| line.trim().strip_prefix(property)?.trim_start().strip_prefix(':'))
    }
}

/// Returns the rules, in their order.
fn rules() -> Vec<Rule> {
    // Rules of plots begin so, and have lines of their own.
    let lines = STYLE
        .lines()
        .filter(|line| line.starts_with("svg .") || line.starts_with("svg text") || line.contains("--colour:"));
    let each = lines.flat_map(|line| line.split_inclusive('}')).filter_map(|rule| rule.trim().strip_suffix('}'));
    let parsed = |rule: &'static str| {
        let (selectors, body) = rule.split_once('{')?;
        let selectors = selectors.split(',').map(|one| one.trim().trim_start_matches("svg ")).collect();
        Some(Rule { selectors, body: body.trim() })
    };
    each.filter_map(parsed).collect()
}

/// Returns a variable's value in the light theme.
fn variable(name: &str) -> &'static str {
    let start = format!("{name}: light-dark(");
    STYLE.split(&start).nth(1).and_then(|rest| rest.split([',', ')']).next()).unwrap_or("#000")
}

/// Replaces variables by their values; that of the series' colour by this one.
fn resolved(body: &str, colour: Option<&str>) -> String {
    let mut parts = body.split("var(");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut depth = 1;
        let is_end = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        };
        let (inside, rest) = part.split_at(part.find(is_end).unwrap_or(part.len()));
        let (name, fallback) = inside.split_once(", ").unwrap_or((inside, "#000"));
        match (name, colour) {
            ("--colour", Some(colour)) => text += colour,
            ("--colour", None) => text += &resolved(fallback, None),
            _ => text += variable(name),
        }
        text += rest.strip_prefix(')').unwrap_or(rest);
    }
    text
}

/// Returns the style of a file: the rules without variables.
fn style() -> String {
    let rules = rules();
    let mut text = String::new();
    for rule in rules.iter().filter(|rule| !rule.is_colour()) {
        let _ = writeln!(text, "{}{{{}}}", rule.selectors.join(","), resolved(rule.body, None));
        if !rule.body.contains("var(--colour") {
            continue;
        }
        for of in rules.iter().filter(|rule| rule.is_colour()) {
            let colour = of.value("--colour").map(|value| resolved(value.trim(), None));
            let within =
                of.selectors.iter().flat_map(|class| rule.selectors.iter().map(move |part| format!("{class} {part}")));
            let within: Vec<String> = within.collect();
            let _ = writeln!(text, "{}{{{}}}", within.join(","), resolved(rule.body, colour.as_deref()));
        }
    }
    text
}

/// Returns the figure as a file of its own.
pub(crate) fn svg(figure: &Figure) -> String {
    let plain = without(&figure.svg, &["data-tip", "data-s", "preserveAspectRatio"]);
    let (start, rest) = plain.split_once('>').unwrap_or((&plain, ""));
    let view = attribute(start, "viewBox").unwrap_or_default();
    let [width, height] =
        [2, 3].map(|nth| view.split(' ').nth(nth).and_then(|size| size.parse::<f32>().ok()).unwrap_or(0.0));
    let (width, height) = (width + 2.0 * EDGE, height + 2.0 * EDGE);
    let start = start.replace(view, &format!("{0} {0} {width} {height}", -EDGE));
    format!(
        "{start} xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"DejaVu Sans, Verdana, \
         sans-serif\" font-size=\"{SIZE}\">\n<title>{}</title>\n<style>\n{}</style>\n<rect x=\"{2}\" y=\"{2}\" width=\"{width}\" \
         height=\"{height}\" fill=\"#ffffff\"/>\n{rest}\n",
        escape(&figure.caption),
        style(),
        -EDGE,
    )
}

/// Returns the figure as a file of a picture; why not, if that fails.
pub(crate) fn png(figure: &Figure) -> Result<Vec<u8>, String> {
    picture(figure)?.encode_png().map_err(|error| error.to_string())
}

fn picture(figure: &Figure) -> Result<Pixmap, String> {
    let tree = Tree::from_str(&outlined(&svg(figure)), &Options::default()).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the figure has no size")?;
    let mut picture = Pixmap::new(size.width(), size.height()).ok_or("the figure has no size")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
    Ok(picture)
}

/// Returns an attribute of an element's start.
fn attribute<'t>(start: &'t str, name: &str) -> Option<&'t str> {
    start.split(&format!(" {name}=\"")).nth(1)?.split('"').next()
}

/// Removes attributes.
fn without(svg: &str, names: &[&str]) -> String {
    names.iter().fold(svg.to_owned(), |svg, name| {
        let start = format!(" {name}=\"");
        let mut parts = svg.split(&start);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
    })
}

/// Replaces texts by their outlines.
fn outlined(svg: &str) -> String {
    let mut parts = svg.split("<text ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let (text, rest) = part.split_once("</text>").unwrap_or((part, ""));
        done + &paths(text) + rest
    })
}

/// The outlines of a text, given from its attributes to its end.
fn paths(text: &str) -> String {
    let (start, content) = text.split_once('>').unwrap_or((text, ""));
    let start = format!(" {start}");
    let number = |name| attribute(&start, name).and_then(|value| value.parse::<f32>().ok()).unwrap_or(0.0);
    let (mut x, y) = (number("x"), number("y"));
    let class = attribute(&start, "class").unwrap_or_default();
    let spans: Vec<(&str, String)> = content
        .split("<tspan ")
        .enumerate()
        .flat_map(|(nth, part)| match (nth, part.split_once('>')) {
            (0, _) | (_, None) => vec![("", unescaped(part))],
            (_, Some((start, inside))) => {
                let (inside, after) = inside.split_once("</tspan>").unwrap_or((inside, ""));
                let class = start.strip_prefix("class=\"").and_then(|rest| rest.split('"').next());
                vec![(class.unwrap_or_default(), unescaped(inside)), ("", unescaped(after))]
            }
        })
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let look = |of_span: &str| Look::of(&[class, of_span]);
    let width: f32 = spans.iter().map(|(of, text)| font::width(text, look(of).size, look(of).is_bold)).sum();
    x -= match attribute(&start, "text-anchor") {
        Some("end") => width,
        Some("middle") => width / 2.0,
        _ => 0.0,
    };
    let mut svg = format!(r#"<g class="text {class}" fill="{}">"#, variable("--ink"));
    for (of, text) in spans {
        let Look { size, is_bold } = look(of);
        let _ = write!(svg, r#"<g class="{of}"><path d="{}"/></g>"#, font::outline(&text, (x, y), size, is_bold));
        x += font::width(&text, size, is_bold);
    }
    svg + "</g>"
}

/// The size and weight of a text.
#[derive(Clone, Copy)]
struct Look {
    size: f32,
    is_bold: bool,
}

impl Look {
    /// Returns the look of a text of these classes, the innermost last.
    fn of(classes: &[&str]) -> Self {
        let mut look = Self { size: SIZE, is_bold: false };
        let rules = rules();
        for class in classes.iter().flat_map(|classes| classes.split(' ')).filter(|class| !class.is_empty()) {
            for rule in rules.iter().filter(|rule| rule.is_about(class)) {
                let number = |property| rule.value(property)?.trim().trim_end_matches("px").parse::<f32>().ok();
                look.size = number("font-size").unwrap_or(look.size);
                look.is_bold = number("font-weight").map_or(look.is_bold, |weight| weight > 500.0);
            }
        }
        look
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::svg::{Over, Palette, overheads, speedup};
    use crate::record::tests::run;
    use crate::summary::summarize;

    fn figures() -> [Figure; 2] {
        let mut runs = vec![run("fib", "serial", 1, 1.0)];
        runs.extend(
            ["<rayon>", "chili"].into_iter().flat_map(|who| [run("fib", who, 1, 2.0), run("fib", who, 2, 1.0)]),
        );
        runs.iter_mut().for_each(|run| run.tasks = Some(1000));
        let programs = summarize(&runs, &[]);
        let palette = Palette::new(&programs);
        [speedup(&programs[0], Over::Serial, &palette, &[], 2), overheads(&programs[0], &palette)]
            .map(|svg| Figure { caption: "fib & <others>".to_owned(), svg })
    }

    #[test]
    fn a_file_needs_no_page() {
        for figure in figures() {
            let file = svg(&figure);
            for part in ["var(", "light-dark", "data-", "color-mix"] {
                assert!(!file.contains(part), "{part} in {file}");
            }
            assert!(file.contains("<title>fib &amp; &lt;others&gt;</title>") && file.contains("&lt;rayon&gt;"));
            assert!(file.contains(&format!(".c0 .point{{fill: {};", variable("--c0"))), "{file}");
            assert!(Tree::from_str(&file, &Options::default()).is_ok(), "no XML: {file}");
        }
    }

    #[test]
    fn texts_have_their_size_and_weight() {
        let look = |classes: &[&str]| (Look::of(classes).size, Look::of(classes).is_bold);
        assert_eq!(look(&["label"]), (SIZE, false));
        assert_eq!(look(&["end"]), (11.5, false));
        assert_eq!((look(&["value"]), look(&["value", "tick"])), ((12.0, true), (11.0, false)));
    }

    #[test]
    fn a_picture_shows_lines_and_texts_in_their_colours() {
        for figure in figures() {
            let picture = picture(&figure).expect("a picture");
            let count = |colour: &str| {
                let part = |at: usize| u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour");
                let wanted = (part(1), part(3), part(5));
                picture.pixels().iter().filter(|dot| (dot.red(), dot.green(), dot.blue()) == wanted).count()
            };
            let all = picture.width() as usize * picture.height() as usize;
            assert!(count("#ffffff") > all / 2, "the ground is white");
            // Bars or lines, and letters.
            assert!(count(variable("--c0")) > 50 && count(variable("--c1")) > 50 && count(variable("--ink")) > 50);
        }
    }
}
