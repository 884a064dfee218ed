//! Flags that several programs share.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedI64ValueParser;

use crate::console::json::Lines;

/// More workers than this are a typing error, or a much larger machine.
pub const MOST_WORKERS: usize = 1024;

/// Where JSON goes, and how much to print.
#[derive(Debug, Args)]
pub struct Output {
    /// Write JSON to FILE, one object per measured run, or one per probe; `-` means standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print only errors and warnings
    #[arg(long, short)]
    pub quiet: bool,
}

impl Output {
    /// Whether text for people goes to standard output; `lines` may go there too.
    pub fn talks(&self, lines: Option<&Lines>) -> bool {
        !self.quiet && !lines.is_some_and(Lines::is_stdout)
    }
}

/// Parses a number of workers.
pub fn workers() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=MOST_WORKERS as i64)
}

/// Parses a number in this range.
pub fn count(least: i64, most: i64) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(least..=most)
}
