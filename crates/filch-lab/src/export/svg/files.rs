//! Figures as files for papers: SVG with its own style in the page's light colours.

use std::fmt::Write;

use super::{Figure, escape};

const STYLE: &str = include_str!("../html/report.css");

/// The size of a text without a class.
const SIZE: f32 = 12.5;

/// The room around the drawing.
const EDGE: f32 = 6.0;

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
            assert!(roxmltree::Document::parse(&file).is_ok(), "no XML: {file}");
        }
    }
}
