//! What the simulations of both models have in common: seeds, progress, lines and the table.

use std::io::Write;

use filch_catalogue::console::error::{Error, Result};
use filch_catalogue::console::interrupt::{interrupted, watch};
use filch_catalogue::console::json::Lines;
use filch_catalogue::console::progress::Progress;
use filch_catalogue::console::stats::Sample;
use filch_catalogue::console::table;
use filch_catalogue::console::terminal::colour;
use serde::Serialize;

use crate::flags::Simulate;

/// The runs of a case, as a line.
pub(crate) trait Case: Serialize {
    /// A row of the table.
    fn row(&self) -> Vec<String>;
}

pub(crate) struct Session<'f> {
    flags: &'f Simulate,
    planned: usize,
    lines: Option<Lines>,
    progress: Progress,
    rows: Vec<Vec<String>>,
}

impl<'f> Session<'f> {
    /// Begins a session of so many cases.
    pub(crate) fn begin(flags: &'f Simulate, planned: usize) -> Result<Self> {
        let lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
        watch()?;
        Ok(Self { flags, planned, lines, progress: Progress::new(!flags.output.quiet), rows: Vec::new() })
    }

    /// Runs the next case with each of its seeds, and writes what `case` makes of the first seed and the runs.
    pub(crate) fn case<R, C: Case>(
        &mut self,
        name: String,
        run: impl Fn(u64) -> Result<R>,
        case: impl FnOnce(u64, &[R]) -> C,
    ) -> Result {
        self.progress.show(self.rows.len(), self.planned, f64::NAN, name);
        // Cases share no seed, so that chance in one says nothing of another.
        let runs = u64::from(self.flags.runs);
        let first = self.flags.seed.wrapping_add(self.rows.len() as u64 * runs);
        let run = |nth| if interrupted() { Err(Error::Interrupted) } else { run(first.wrapping_add(nth)) };
        let case = case(first, &(0..runs).map(run).collect::<Result<Vec<_>>>()?);
        if let Some(lines) = &mut self.lines {
            lines.write(&case)?;
        }
        self.rows.push(case.row());
        Ok(())
    }

    /// Prints the table, under this text.
    pub(crate) fn end(self, text: &str, heads: &[&str]) -> Result {
        self.progress.end();
        if self.flags.output.talks(self.lines.as_ref()) {
            writeln!(std::io::stdout(), "{text}\n{}", table::list(heads, &self.rows, colour()))?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
pub(crate) fn mean(numbers: &[u64]) -> f64 {
    Sample::of(numbers.iter().map(|&number| number as f64)).map_or(f64::NAN, |sample| sample.mean)
}
