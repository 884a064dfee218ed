//! Curves, drawn with characters.

/// The lines of a plot.
const HEIGHT: usize = 12;

/// Draws a curve per mark, each as values at 1, 2, …; two points share a column where that keeps the plot narrow.
pub(crate) fn plot(curves: &[(char, &[f64])], unit: &str) -> String {
    let values = || curves.iter().flat_map(|(_, values)| values.iter().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let longest = curves.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let per_column = longest.div_ceil(80).max(1);
    let mut cells = vec![vec![' '; longest.div_ceil(per_column)]; HEIGHT];
    for (mark, values) in curves {
        for (at, value) in values.iter().enumerate() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of the height"
            )]
            let up = ((value - low) / (high - low).max(f64::MIN_POSITIVE) * (HEIGHT - 1) as f64).round() as usize;
            cells[HEIGHT - 1 - up.min(HEIGHT - 1)][at / per_column] = *mark;
        }
    }
    let label = |line: usize| match line {
        0 => format!("{high:8.1}"),
        line if line == HEIGHT - 1 => format!("{low:8.1}"),
        _ => " ".repeat(8),
    };
    let mut text = String::new();
    for (line, row) in cells.into_iter().enumerate() {
        let row: String = row.into_iter().collect();
        text.push_str(format!("{} |{row}", label(line)).trim_end());
        text.push('\n');
    }
    text.push_str(&format!("         +{}\n", "-".repeat(longest.div_ceil(per_column))));
    text.push_str(&format!("{unit:>8}  1{:>width$}\n", longest, width = longest.div_ceil(per_column).max(2) - 1));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_its_extremes_at_its_edges() {
        let values: Vec<f64> = (0..160).map(|n| f64::from(n.max(64))).collect();
        let text = plot(&[('*', &values)], "cycles");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 2);
        assert!(lines[0].starts_with("   159.0 |") && lines[0].ends_with('*'), "{text}");
        assert!(lines[HEIGHT - 1].starts_with("    64.0 |*****"), "{text}");
        assert!(lines[HEIGHT + 1].ends_with("160") && lines[HEIGHT + 1].starts_with("  cycles  1"), "{text}");
        assert_eq!(lines[HEIGHT].len(), 10 + 80);
    }

    #[test]
    fn a_flat_curve_and_no_curve_can_be_drawn() {
        assert!(plot(&[('*', &[2.0; 3])], "ns").contains("2.0 |***"));
        assert!(!plot(&[], "ns").contains('*'));
    }
}
