//! `filch report`: an HTML report, or a JSON summary, from JSON lines.

use std::io::Write;
use std::path::Path;

use crate::columns::Choice;
use crate::error::{Result, usage};
use crate::experiment::Experiment;
use crate::experiment::claim::decide;
use crate::experiments::all;
use crate::export::html::{Figures, Origin, Page};
use crate::export::json::{Lines, check_writable, read, rows, write_file};
use crate::flags::Report as Flags;
use crate::record::Run;
use crate::summary::summarize;
use crate::warnings::warnings;

const PAGE: &str = "filch-report.html";

pub(crate) fn report(flags: &Flags) -> Result {
    let named = flags.columns.as_deref();
    Choice::of(named, &[])?;
    let page = flags.output.as_deref().or(flags.json.is_none().then_some(Path::new(PAGE)));
    if let Some(page) = page {
        check_writable(page)?;
    }
    let mut runs = Vec::new();
    let mut first_round = 0;
    for file in &flags.files {
        let mut more = read(file)?;
        // Rounds of different sessions are not close in time.
        more.iter_mut().for_each(|run| run.round += first_round);
        first_round = more.iter().map(|run| run.round + 1).max().unwrap_or(first_round);
        runs.append(&mut more);
    }
    if runs.is_empty() {
        return Err(usage("these files contain no runs"));
    }
    let experiment = experiment(&runs);
    let none = Experiment::new("");
    let asked = experiment.as_ref().unwrap_or(&none);
    let choice = Choice::of(named, asked.columns)?;
    let programs = summarize(&runs, &[]);
    let cores = runs.iter().map(|run| run.machine.cores).max().unwrap_or(1);
    let decided = decide(asked, &programs, cores);
    if let Some(page) = page {
        let (choice, doubts) = (&choice, &warnings(&runs, &programs));
        let shown = Page {
            runs: &runs,
            programs: &programs,
            choice,
            doubts,
            experiment: experiment.as_ref(),
            decided: &decided,
            figures: &Figures::of(&programs, experiment.as_ref(), cores),
            origin: &Origin::default(),
        };
        write_file(page, shown.html())?;
    }
    let mut lines = flags.json.as_deref().map(Lines::create).transpose()?;
    if let Some(lines) = &mut lines {
        rows(&programs, &choice.all()).iter().try_for_each(|row| lines.write(row))?;
        decided.iter().try_for_each(|claim| lines.write(&claim.json()))?;
    }
    if !lines.is_some_and(|lines| lines.is_stdout()) {
        let written = [page, flags.json.as_deref()].into_iter().flatten();
        let written: Vec<String> = written.map(|path| path.display().to_string()).collect();
        writeln!(std::io::stdout(), "{} runs: {}", runs.len(), written.join(", "))?;
    }
    Ok(())
}

/// Returns the experiment that all runs belong to, if it still exists; otherwise the runs are a comparison.
fn experiment(runs: &[Run]) -> Option<Experiment> {
    let name = runs.first().and_then(|run| run.experiment.as_deref())?;
    let all_belong = runs.iter().all(|run| run.experiment.as_deref() == Some(name));
    all().into_iter().find(|experiment| all_belong && experiment.name == Some(name))
}
