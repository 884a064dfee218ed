//! Flags that several programs have.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedI64ValueParser;

use crate::json::Lines;

/// More workers than this are a typing error, or wait for a larger machine.
const MOST_WORKERS: i64 = 1024;

/// Where JSON goes, and whether to talk.
#[derive(Debug, Args)]
pub struct Output {
    /// Write one JSON object per measured run, or one for a probe, to FILE; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Say only what is wrong
    #[arg(long, short)]
    pub quiet: bool,
}

impl Output {
    /// Whether text for people goes to standard output, where `lines` may go too.
    pub fn talks(&self, lines: Option<&Lines>) -> bool {
        !self.quiet && !lines.is_some_and(Lines::is_stdout)
    }
}

/// A number of workers.
pub fn workers() -> RangedI64ValueParser<u16> {
    RangedI64ValueParser::new().range(1..=MOST_WORKERS)
}

/// A number in this range.
pub fn count(least: i64, most: i64) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(least..=most)
}
