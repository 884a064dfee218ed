//! What a measuring session needs to know, and what its results are compared with.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use filch_catalogue::console::flags::{Output, count, workers};

use crate::error::{Result, usage};
use crate::export::json::check_writable;

/// The size of programs without other parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Size {
    /// 10 to 50 ms sequentially
    Quick,
    /// 50 to 200 ms sequentially
    #[value(alias = "compare")]
    Small,
    /// As in the paper or program that it comes from
    Paper,
}

impl Size {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Small => "small",
            Self::Paper => "paper",
        }
    }
}

/// The flags of a measuring session.
#[derive(Debug, Args)]
pub(crate) struct Session {
    /// Numbers of workers [default: the experiment's; for `compare` 1 and the number of processors]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = workers(), allow_negative_numbers = true)]
    pub(crate) workers: Option<Vec<u16>>,
    /// Bind each worker to a processor; omit schedulers that cannot
    #[arg(long)]
    pub(crate) pin: bool,
    /// Use small sizes and a short budget
    #[arg(long, conflicts_with = "size")]
    pub(crate) quick: bool,
    /// Size of the programs [default: small; with --all quick]
    #[arg(long, value_enum)]
    pub(crate) size: Option<Size>,
    /// Exact number of rounds, however long they take
    #[arg(long, value_name = "R", value_parser = count(1, 1000), allow_negative_numbers = true)]
    pub(crate) repeat: Option<u32>,
    /// Seconds to fill with rounds; some rounds always run [default: the experiment's; for `compare` 60 and three
    /// rounds; for quick sizes 15; with --all 180 and one]
    #[arg(long, value_name = "SECONDS", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) budget: Option<u32>,
    /// Seconds more for further rounds of those runs that undecided claims compare
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = count(0, 86_400), allow_negative_numbers = true)]
    pub(crate) decide: u32,
    /// Seconds after which a run counts as hung
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = count(1, 86_400), allow_negative_numbers = true)]
    pub(crate) timeout: u32,
    /// Seed of the order of runs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) against: Against,
    #[command(flatten)]
    pub(crate) tables: Tables,
    /// File for the HTML report
    #[arg(long, value_name = "FILE", default_value = "filch-report.html", conflicts_with = "no_report")]
    pub(crate) report: PathBuf,
    /// Write no HTML report
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Continue an interrupted session from the file of --json: do not measure its lines again
    #[arg(long, requires = "json")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    /// The command to show on the page, if it is not the one of this process.
    #[arg(skip)]
    pub(crate) command: Option<String>,
    /// Whether figures and tables are written beside the page.
    #[arg(skip)]
    pub(crate) files: bool,
}

impl Session {
    /// Returns the requested size.
    pub(crate) fn size_or(&self, default: Size) -> Size {
        self.size.unwrap_or(if self.quick { Size::Quick } else { default })
    }
}

/// What rows are compared with.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Against {
    /// Contender to compare with, by its name in the table [default: rayon, or else the first]
    #[arg(long, value_name = "NAME", conflicts_with = "baseline")]
    pub(crate) base: Option<String>,
    /// Another build to compare with: a runner, which is measured by turns with the others, or a file of earlier --json
    /// lines
    #[arg(long, value_name = "RUNNER|FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// End with status 1 if a row takes longer than that by more than so much, such as 5%, with its whole interval
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub(crate) fail_above: Option<f64>,
}

/// Parses a percentage; returns the share.
fn share(text: &str) -> std::result::Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let is_sound = |percent: &f64| (0.0..=1000.0).contains(percent);
    number.filter(is_sound).map(|percent| percent / 100.0).ok_or_else(|| "it is a percentage, such as 5%".to_owned())
}

/// The columns of tables, and files for them.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Tables {
    /// Columns, in this order: see `filch list columns` [default: all; on the terminal the experiment's, or as many as
    /// fit]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Write all tables to FILE as comma-separated values, one line per row; `-` means standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the tables to FILE in Markdown; `-` means standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

impl Tables {
    /// Fails if the files cannot be written, or two of them and of `json` are standard output.
    pub(crate) fn check(&self, json: Option<&Path>) -> Result {
        let own = [&self.csv, &self.markdown].into_iter().flatten().map(PathBuf::as_path);
        let (shown, files): (Vec<&Path>, Vec<&Path>) = own.partition(|path| *path == Path::new("-"));
        if shown.len() + usize::from(json == Some(Path::new("-"))) > 1 {
            return Err(usage("only one of --json, --csv and --markdown can be written to standard output"));
        }
        files.into_iter().try_for_each(check_writable)
    }

    /// Whether one of them is standard output, so that nothing else goes there.
    pub(crate) fn is_stdout(&self) -> bool {
        [&self.csv, &self.markdown].into_iter().flatten().any(|path| path == Path::new("-"))
    }
}
