//! Shares of a whole, as bars beside their names.

use std::fmt::Write;

use super::lines::width_of;
use super::palette::Look;
use super::{escape, open};

/// A name and its shares, from 0 to 1, each with a text.
type Row = (String, Vec<(f64, String)>);

/// Draws the rows whose shares of the wholes `of` are not all below half a percent.
pub(crate) fn bars(title: &str, of: &[&str], rows: impl Iterator<Item = Row>) -> String {
    const LEAST: f64 = 0.005;
    const PLOT: f64 = 300.0;
    const RIGHT: f64 = 170.0;
    const BAR: f64 = 13.0;
    const APART: f64 = 9.0;
    let rows: Vec<Row> = rows.filter(|(_, shares)| shares.iter().any(|(share, _)| *share >= LEAST)).collect();
    let left = rows.iter().map(|(name, _)| width_of(name)).fold(60.0, f64::max) + 14.0;
    let width = left + PLOT + RIGHT;
    let tall = of.len() as f64 * (BAR + 2.0) + APART;
    let most = rows.iter().flat_map(|(_, shares)| shares.iter().map(|share| share.0)).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = open(width, 22.0 + tall * rows.len() as f64, title);
    let mut x = left;
    for (index, whole) in of.iter().enumerate() {
        let attributes = Look::nth(index).attributes();
        put!(svg, r#"<g {attributes}><rect class="bar" x="{x:.1}" y="2" width="9" height="9" rx="2"/>"#);
        put!(svg, r#"<text class="tick" x="{:.1}" y="11">{}</text></g>"#, x + 14.0, escape(whole));
        x += 34.0 + width_of(whole);
    }
    let mut y = 22.0;
    for (name, shares) in &rows {
        let middle = y + (tall - APART) / 2.0 + 4.0;
        put!(svg, r#"<text class="label" x="0" y="{middle:.1}">{}</text>"#, escape(name));
        for (index, ((share, text), whole)) in shares.iter().zip(of).enumerate() {
            let tip = format!("{name}\n{text}, {:.1} % {whole}", share * 100.0);
            let (at, wide) = (y + index as f64 * (BAR + 2.0), (share / most * PLOT).max(1.5));
            put!(svg, r#"<g {} data-tip="{}">"#, Look::nth(index).attributes(), escape(&tip));
            put!(svg, r#"<rect class="bar" x="{left:.1}" y="{at:.1}" width="{wide:.1}" height="{BAR}" rx="2.5"/>"#);
            put!(
                svg,
                r#"<text class="value" x="{:.1}" y="{:.1}">{:.0} %"#,
                left + wide + 8.0,
                at + 11.0,
                share * 100.0
            );
            put!(svg, r#" <tspan class="tick">{}</tspan></text></g>"#, escape(text));
        }
        y += tall;
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_bar_for_each_whole() {
        let rows = [("<a>", 0.5, 0.2), ("b", 0.25, 0.0)]
            .map(|(name, work, span)| (name.to_owned(), vec![(work, "1 ms".to_owned()), (span, "2 ms".to_owned())]));
        let svg = bars("shares", &["of the work", "of the span"], rows.into_iter());
        let drawn = roxmltree::Document::parse(&svg).unwrap();
        let widths: Vec<f64> = drawn
            .descendants()
            .filter(|node| node.attribute("height") == Some("13"))
            .map(|bar| bar.attribute("width").unwrap().parse().unwrap())
            .collect();
        assert_eq!(widths, [300.0, 120.0, 150.0, 1.5]);
        assert!(svg.contains("&lt;a&gt;\n1 ms, 50.0 % of the work"), "{svg}");
    }
}
