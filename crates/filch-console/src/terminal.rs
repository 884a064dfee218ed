//! Colour and width of the terminal, and text for people.

use std::io::IsTerminal;

/// Whether standard output may be coloured.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && allows_colour()
}

/// Whether standard error may be coloured.
pub fn colour_on_stderr() -> bool {
    std::io::stderr().is_terminal() && allows_colour()
}

fn allows_colour() -> bool {
    let unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The columns of the terminal behind standard output, if there is one.
pub fn width() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    (columns.0 > 0).then_some(usize::from(columns.0))
}

/// `text` between a colour's escape codes.
pub fn paint(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// A duration with three significant digits and its unit.
///
/// ```
/// assert_eq!(filch_console::terminal::duration(0.045_6), "45.6 ms");
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

/// Three significant digits, without an exponent.
pub fn significant(value: f64) -> String {
    let digits = match value.abs() {
        magnitude if magnitude >= 99.95 => 0,
        magnitude if magnitude >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// A count with a unit prefix from ten thousand upwards.
pub fn count(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{} G", significant(value / 1e9)),
        _ if value >= 1e6 => format!("{} M", significant(value / 1e6)),
        _ if value >= 1e4 => format!("{} k", significant(value / 1e3)),
        _ => format!("{value:.0}"),
    }
}

/// Bytes in binary units.
pub fn bytes(value: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let value = value as f64;
    match value {
        _ if value >= f64::from(1 << 30) => format!("{} GiB", significant(value / f64::from(1 << 30))),
        _ if value >= f64::from(1 << 20) => format!("{} MiB", significant(value / f64::from(1 << 20))),
        _ => format!("{} KiB", significant(value / 1024.0)),
    }
}

/// A duration as a clock shows it, for times to come.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round();
    format!("{}:{:02}", (seconds / 60.0).floor(), seconds % 60.0)
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
        assert_eq!(clock(61.0), "1:01");
    }
}
