//! A way through a computation: what it consists of, from left to right, and how deep it is there.

use std::fmt::Write;

use super::lines::width_of;
use super::palette::{COLOURS, Look};
use super::{escape, open};

/// Draws parts in their order, each with a name, a length and a depth. Where many are short, a column shows the name
/// that takes most of it, and the mean depth.
pub(crate) fn strip(title: &str, parts: &[(String, f64, u32)], long: impl Fn(f64) -> String) -> String {
    const WIDTH: f64 = 620.0;
    const TALL: f64 = 110.0;
    const HEAD: f64 = 26.0;
    const COLUMNS: usize = 310;
    let mut names: Vec<(&str, f64)> = Vec::new();
    for (name, length, _) in parts {
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += length,
            None => names.push((name, *length)),
        }
    }
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let index_of = |name: &str| names.iter().position(|(known, _)| *known == name).unwrap_or_default().min(COLOURS - 1);
    let whole: f64 = names.iter().map(|(_, length)| length).sum();
    let deepest = f64::from(parts.iter().map(|part| part.2).max().unwrap_or(0) + 1);
    // By column: how long each name is in it, and the sum of lengths times depths.
    let mut columns = vec![([0.0; COLOURS], 0.0); COLUMNS];
    let wide = whole / COLUMNS as f64;
    let mut at = 0.0;
    for (name, length, depth) in parts {
        let (end, index) = (at + length, index_of(name));
        let (first, last) = ((at / wide) as usize, ((end / wide) as usize).min(COLUMNS - 1));
        for (number, (shares, deep)) in columns.iter_mut().enumerate().take(last + 1).skip(first) {
            let (left, right) = (number as f64 * wide, (number + 1) as f64 * wide);
            let inside = (end.min(right) - at.max(left)).max(0.0);
            shares[index] += inside;
            *deep += inside * f64::from(depth + 1);
        }
        at = end;
    }
    let mut svg = open(WIDTH, HEAD + TALL + 20.0, title);
    let mut x = 0.0;
    for (index, (name, length)) in names.iter().enumerate().take(COLOURS - 1) {
        let text = format!("{name} {:.0} %", length / whole * 100.0);
        if x + width_of(&text) > WIDTH {
            break;
        }
        put!(
            svg,
            r#"<g {}><rect class="bar" x="{x:.1}" y="2" width="9" height="9" rx="2"/>"#,
            Look::nth(index).attributes()
        );
        put!(svg, r#"<text class="tick" x="{:.1}" y="11">{}</text></g>"#, x + 14.0, escape(&text));
        x += 34.0 + width_of(&text);
    }
    // Columns of the same look and height in a row are one.
    let looks: Vec<(usize, f64)> = columns
        .iter()
        .map(|(shares, deep)| {
            let most = (0..COLOURS).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap_or_default();
            // Half a pixel must not flicker between two.
            (most, (deep / wide / deepest * TALL + 0.1).max(2.0).round())
        })
        .collect();
    let mut start = 0;
    let step = WIDTH / COLUMNS as f64;
    for same in looks.chunk_by(|a, b| a == b) {
        let ((index, height), x) = (same[0], start as f64 * step);
        let depth = height / TALL * deepest - 1.0;
        let length = long(same.len() as f64 * wide);
        let name = names.get(index).map_or("others", |(name, _)| name);
        let tip = format!("{name}\n{length}, {:.0} forks open", depth.max(0.0));
        put!(svg, r#"<g {} data-tip="{}"><rect class="bar""#, Look::nth(index).attributes(), escape(&tip));
        let (y, wide) = (HEAD + TALL - height, same.len() as f64 * step);
        put!(svg, r#" x="{x:.1}" y="{y:.1}" width="{wide:.1}" height="{height:.1}"/></g>"#);
        start += same.len();
    }
    let y = HEAD + TALL + 16.0;
    put!(svg, r#"<text class="tick" x="0" y="{y}">0</text>"#);
    put!(svg, r#"<text class="tick" text-anchor="end" x="{WIDTH}" y="{y}">{}</text>"#, escape(&long(whole)));
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_wide_as_they_are_long() {
        let parts = [("merge", 50.0, 0), ("leaves", 25.0, 3), ("merge", 25.0, 1)];
        let parts = parts.map(|(name, length, depth)| (name.to_owned(), length, depth));
        let svg = strip("path", &parts, |length| format!("{length} ns"));
        let drawn = roxmltree::Document::parse(&svg).unwrap();
        let number = |node: &roxmltree::Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let bars: Vec<(f64, f64)> = drawn
            .descendants()
            .filter(|node| node.has_tag_name("rect") && node.attribute("rx").is_none())
            .map(|node| (number(&node, "width"), number(&node, "height")))
            .collect();
        let widths: f64 = bars.iter().map(|bar| bar.0).sum();
        assert!((widths - 620.0).abs() < 1.0, "{bars:?}");
        assert!((bars[0].0 - 310.0).abs() < 4.0 && bars.iter().any(|bar| bar.1 == 110.0), "{bars:?}");
        assert!(svg.contains("merge 75 %") && svg.contains("100 ns"), "{svg}");
    }
}
