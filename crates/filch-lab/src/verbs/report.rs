//! `filch report`: HTML from JSON lines.

use std::io::Write;

use crate::error::{Result, usage};
use crate::export::html;
use crate::export::json::{check_writable, read, write_file};
use crate::flags::Report as Flags;
use crate::summary::summarize;
use crate::warnings::warnings;

pub(crate) fn report(flags: &Flags) -> Result {
    check_writable(&flags.output)?;
    let mut runs = Vec::new();
    let mut first_round = 0;
    for file in &flags.files {
        let mut more = read(file)?;
        // Rounds of different sessions are not near each other in time.
        more.iter_mut().for_each(|run| run.round += first_round);
        first_round = more.iter().map(|run| run.round + 1).max().unwrap_or(first_round);
        runs.append(&mut more);
    }
    if runs.is_empty() {
        return Err(usage("there are no runs in these files"));
    }
    let doubts = warnings(&runs, &summarize(&runs, &[]));
    write_file(&flags.output, &html::report(&runs, &[], &doubts))?;
    writeln!(std::io::stdout(), "{} runs: {}", runs.len(), flags.output.display())?;
    Ok(())
}
