//! Colour and width of the terminal, and numbers for people.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// The most important text.
pub const STRONG: Style = Style::new().bold();
/// The least important text.
pub const FAINT: Style = Style::new().dimmed();
/// The name of a section, or of a file above its contents.
pub const HEADING: Style = Style::new().bold().underline();
/// A file.
pub const FILE: Style = Style::new().underline();
/// An expected result.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The best of several.
pub const BEST: Style = GOOD.bold();
/// A summary number.
pub const FIGURE: Style = AnsiColor::Cyan.on_default().bold();
/// A reason to doubt.
pub const DOUBT: Style = AnsiColor::Yellow.on_default();
/// An error.
pub const BAD: Style = AnsiColor::Red.on_default();
/// An error that must not be overlooked.
pub const FAILURE: Style = BAD.bold();

/// Whether standard output may be coloured: it is a terminal, and no variable such as `NO_COLOR` forbids it.
pub fn colour() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Whether standard error may be coloured.
pub fn colour_on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// The width of the terminal behind standard output, in columns, if there is one.
pub fn width() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    (columns.0 > 0).then_some(usize::from(columns.0))
}

/// Returns `text` in a style if `colour` is set.
///
/// ```
/// use filch_catalogue::console::terminal::{BAD, paint};
///
/// assert_eq!(paint("wrong", BAD, true), "\u{1b}[31mwrong\u{1b}[0m");
/// assert_eq!(paint("wrong", BAD, false), "wrong");
/// ```
pub fn paint(text: &str, style: Style, colour: bool) -> String {
    if colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Formats a duration with three significant digits and a unit.
///
/// ```
/// assert_eq!(filch_catalogue::console::terminal::duration(0.045_6), "45.6 ms");
/// ```
pub fn duration(seconds: f64) -> String {
    let magnitude = seconds.abs();
    let (value, unit) = match magnitude {
        _ if magnitude >= 1.0 => (seconds, "s"),
        _ if magnitude >= 1e-3 => (seconds * 1e3, "ms"),
        _ if magnitude >= 1e-6 => (seconds * 1e6, "µs"),
        _ => (seconds * 1e9, "ns"),
    };
    format!("{} {unit}", significant(value))
}

/// Formats a number with three significant digits and no exponent.
pub fn significant(value: f64) -> String {
    let digits = match value.abs() {
        magnitude if magnitude >= 99.95 => 0,
        magnitude if magnitude >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// Formats a number of workers.
///
/// ```
/// use filch_catalogue::console::terminal::workers;
///
/// assert_eq!([workers(1), workers(2)], ["1 worker", "2 workers"]);
/// ```
pub fn workers(number: usize) -> String {
    if number == 1 { "1 worker".to_owned() } else { format!("{number} workers") }
}

/// Formats a count, with a unit prefix from ten thousand upwards.
pub fn count(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{} G", significant(value / 1e9)),
        _ if value >= 1e6 => format!("{} M", significant(value / 1e6)),
        _ if value >= 1e4 => format!("{} k", significant(value / 1e3)),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(duration(1.234_5), "1.23 s");
        assert_eq!(duration(0.045_6), "45.6 ms");
        assert_eq!(duration(4.56e-7), "456 ns");
        assert_eq!(count(165_580_140.0), "166 M");
        assert_eq!(count(9_999.0), "9999");
        assert_eq!(significant(99.96), "100");
        assert_eq!(significant(9.999), "10.0");
    }
}
