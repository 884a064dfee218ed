//! `filch report`: an HTML report, or a JSON summary, from JSON lines.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use filch_catalogue::protocol::Machine;

use crate::base::{Comparison, Difference, rows_of};
use crate::columns::Choice;
use crate::conclude::{Found, show_differences};
use crate::error::{Result, usage};
use crate::experiment::Experiment;
use crate::experiment::claim::decide;
use crate::experiment::probe;
use crate::experiments::all;
use crate::export::html::{Figures, Origin, Page, probe_page};
use crate::export::json::{Lines, check_writable, read, rows, write_file};
use crate::export::tables::Sheet;
use crate::flags::Report as Flags;
use crate::record::Run;
use crate::terminal::colour;
use crate::warnings::warnings;

const PAGE: &str = "filch-report.html";

pub(crate) fn report(flags: &Flags) -> Result {
    let named = flags.tables.columns.as_deref();
    Choice::of(named, &[])?;
    let comparison = Comparison::of(&flags.against)?;
    flags.tables.check(flags.json.as_deref())?;
    let page = flags.output.as_deref().or(flags.files().next().is_none().then_some(Path::new(PAGE)));
    if let Some(page) = page {
        check_writable(page)?;
    }
    if let [file] = flags.files.as_slice()
        && let Some(experiment) = probed(file)
    {
        return of_probe(&experiment, file, page, flags);
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
    tell_builds_apart(&mut runs);
    let experiment = experiment(&runs);
    let none = Experiment::new("");
    let asked = experiment.as_ref().unwrap_or(&none);
    let choice = Choice::of(named, asked.columns)?;
    comparison.check(&rows_of(&runs), &[])?;
    let programs = comparison.summarize(&runs, &[]);
    let differences = comparison.differences(&programs);
    let cores = runs.iter().map(|run| run.machine.cores).max().unwrap_or(1);
    let decided = decide(asked, &comparison.alone(&programs, &runs, &[]), cores);
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
            origin: &Origin { command: measured_by(&runs, experiment.as_ref()), files: None },
        };
        write_file(page, shown.html())?;
    }
    let mut lines = flags.json.as_deref().map(Lines::create).transpose()?;
    if let Some(lines) = &mut lines {
        rows(&programs, &choice.all()).iter().try_for_each(|row| lines.write(row))?;
        decided.iter().try_for_each(|claim| lines.write(&claim.json()))?;
    }
    let machine = runs.first().map(|run| run.machine.clone()).unwrap_or_default();
    let sweep = asked.sweep.as_ref();
    Sheet { programs: &programs, choice: &choice, differences: &differences, sweep }.write(&flags.tables, &machine)?;
    written(flags, page, &format!("{} runs", runs.len()))?;
    if !flags.is_stdout() {
        show_differences(&mut std::io::stdout().lock(), &differences, colour())?;
    }
    let failures: Vec<String> = differences.iter().filter_map(Difference::failure).collect();
    Found { failures, ..Found::default() }.end()
}

impl Flags {
    /// The files besides the page.
    fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.json, &self.tables.csv, &self.tables.markdown].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Whether one of them is standard output.
    fn is_stdout(&self) -> bool {
        self.files().any(|path| path == Path::new("-"))
    }
}

/// Runs of several commits, machines or flags are several rows, named by what differs.
fn tell_builds_apart(runs: &mut [Run]) {
    let aspects: [fn(&Run) -> String; 6] = [
        |run| run.commit.clone(),
        |run| format!("{} × {}", run.machine.cores, run.machine.processor),
        |run| run.machine.kernel.clone(),
        |run| run.machine.compiler.clone(),
        |run| run.machine.profile.clone(),
        |run| run.machine.rustflags.clone(),
    ];
    let differs = |of: &fn(&Run) -> String| runs.iter().map(of).collect::<BTreeSet<_>>().len() > 1;
    let differing: Vec<_> = aspects.into_iter().filter(differs).collect();
    for run in runs.iter_mut().filter(|_| !differing.is_empty()) {
        let build = run.who.build.take().into_iter().chain(differing.iter().map(|of| of(run)));
        run.who.build = Some(build.collect::<Vec<_>>().join(", "));
    }
}

/// Says what was written, unless the lines are on standard output.
fn written(flags: &Flags, page: Option<&Path>, what: &str) -> Result {
    let files: Vec<String> = page.into_iter().chain(flags.files()).map(|path| path.display().to_string()).collect();
    if !flags.is_stdout() {
        writeln!(std::io::stdout(), "{what}: {}", files.join(", "))?;
    }
    Ok(())
}

/// Returns the experiment whose probe wrote this file: lines of a probe do not name it, but their file does.
fn probed(file: &Path) -> Option<Experiment> {
    let name = file.file_name()?.to_str()?.split('.').next()?;
    all().into_iter().find(|experiment| experiment.name == Some(name) && experiment.probe.is_some())
}

/// Reports what a probe found.
fn of_probe(experiment: &Experiment, file: &Path, page: Option<&Path>, flags: &Flags) -> Result {
    let lines = probe::lines(file)?;
    let Some(findings) = experiment.findings(&lines).filter(|_| !lines.is_empty()) else {
        return Err(usage(format!("{} contains no lines", file.display())));
    };
    let machine = lines.iter().find_map(|line| serde_json::from_value::<Machine>(line.get("machine")?.clone()).ok());
    if let Some(page) = page {
        write_file(page, probe_page(experiment, &findings, &machine.unwrap_or_default(), &Origin::default()))?;
    }
    if let Some(mut output) = flags.json.as_deref().map(Lines::create).transpose()? {
        findings.decided.iter().try_for_each(|claim| output.write(&claim.json()))?;
    }
    written(flags, page, &format!("{} lines", lines.len()))
}

/// Returns the command that measures this experiment, if all runs are of one size.
fn measured_by(runs: &[Run], experiment: Option<&Experiment>) -> Option<String> {
    let experiment = experiment?;
    let size = runs.first()?.size.as_ref().filter(|size| runs.iter().all(|run| run.size.as_ref() == Some(size)))?;
    let verb = if experiment.is_reproduction() { "reproduce" } else { "experiment" };
    Some(format!("filch {verb} {} --size {size}", experiment.name?))
}

/// Returns the experiment that all runs belong to, if it still exists; otherwise the runs are a comparison.
fn experiment(runs: &[Run]) -> Option<Experiment> {
    let name = runs.first().and_then(|run| run.experiment.as_deref())?;
    let all_belong = runs.iter().all(|run| run.experiment.as_deref() == Some(name));
    all().into_iter().find(|experiment| all_belong && experiment.name == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::run;
    use crate::summary::summarize;

    #[test]
    fn runs_of_two_builds_are_two_rows() {
        let mut runs: Vec<Run> = [1.0, 2.0].map(|seconds| run("fib", "filch split", 1, seconds)).into();
        let rows = |runs: &[Run]| -> Vec<(String, f64)> {
            let [program] = &summarize(runs, &[])[..] else { panic!("one program") };
            program.rows.iter().map(|row| (row.label.clone(), row.median().unwrap())).collect()
        };
        tell_builds_apart(&mut runs);
        assert_eq!(rows(&runs), [("filch split".to_owned(), 1.5)], "one build");
        (runs[0].commit, runs[1].commit) = ("abc".to_owned(), "def".to_owned());
        runs[1].machine.rustflags = "-C target-cpu=native".to_owned();
        let mut machines = runs.clone();
        tell_builds_apart(&mut runs);
        let flags = ["", "-C target-cpu=native"];
        let named = |commit: &str, flags: &str| format!("filch split ({commit}, {flags})");
        assert_eq!(rows(&runs), [(named("abc", flags[0]), 1.0), (named("def", flags[1]), 2.0)]);
        machines[1].commit = "abc".to_owned();
        machines[1].machine.rustflags = String::new();
        machines[1].machine.cores += 1;
        tell_builds_apart(&mut machines);
        assert_eq!(rows(&machines).len(), 2, "two machines");
    }
}
