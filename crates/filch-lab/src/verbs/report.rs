//! `filch report`: HTML, or a summary in JSON, from JSON lines.

use std::io::Write;
use std::path::Path;

use crate::columns::Choice;
use crate::error::{Result, usage};
use crate::export::html;
use crate::export::json::{Lines, check_writable, read, rows, write_file};
use crate::flags::Report as Flags;
use crate::summary::summarize;
use crate::warnings::warnings;

const PAGE: &str = "filch-report.html";

pub(crate) fn report(flags: &Flags) -> Result {
    let choice = Choice::of(flags.columns.as_deref())?;
    let page = flags.output.as_deref().or(flags.json.is_none().then_some(Path::new(PAGE)));
    if let Some(page) = page {
        check_writable(page)?;
    }
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
    let programs = summarize(&runs, &[]);
    if let Some(page) = page {
        write_file(page, &html::report(&runs, &programs, &choice, &warnings(&runs, &programs)))?;
    }
    let mut lines = flags.json.as_deref().map(Lines::create).transpose()?;
    if let Some(lines) = &mut lines {
        rows(&programs, &choice.all()).iter().try_for_each(|row| lines.write(row))?;
    }
    if !lines.is_some_and(|lines| lines.is_stdout()) {
        let written = [page, flags.json.as_deref()].into_iter().flatten();
        let written: Vec<String> = written.map(|path| path.display().to_string()).collect();
        writeln!(std::io::stdout(), "{} runs: {}", runs.len(), written.join(", "))?;
    }
    Ok(())
}
