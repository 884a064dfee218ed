//! The results of a session: the page, and the tables on the terminal.

use std::io::Write;
use std::path::Path;

use filch_catalogue::console::table::list;
use filch_catalogue::protocol::{Machine, cores};

use crate::base::{Comparison, Difference};
use crate::columns::Choice;
use crate::error::{Error, Result};
use crate::experiment::Experiment;
use crate::experiment::claim::{Decided, decide};
use crate::experiment::origin::{Standing, Totals};
use crate::experiment::plan::Plan;
use crate::experiment::probe::Findings;
use crate::export::html::{Figures, Origin, Page, probe_page};
use crate::export::json::write_file;
use crate::export::tables::Sheet;
use crate::export::{beside, csv, table};
use crate::facts::{Fact, facts};
use crate::flags::{Session as Flags, Size};
use crate::record::Run;
use crate::rounds::Finish;
use crate::summary::Program;
use crate::terminal::{BAD, DOUBT, FAILURE, FAINT, FIGURE, FILE, GOOD, STRONG, colour, paint, width};
use crate::warnings::{Warning, warnings};

/// The data to show.
pub(crate) struct Conclusion<'c> {
    pub(crate) experiment: &'c Experiment,
    pub(crate) plan: &'c Plan,
    pub(crate) size: Size,
    pub(crate) runs: &'c [Run],
    pub(crate) finish: &'c Finish,
    pub(crate) choice: &'c Choice,
    pub(crate) comparison: &'c Comparison,
    pub(crate) flags: &'c Flags,
}

/// What a session found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) decided: Vec<Decided>,
    pub(crate) rounds: usize,
    pub(crate) interrupted: bool,
    /// The failed checks. A claim that does not hold is none.
    pub(crate) failures: Vec<String>,
}

impl Found {
    /// Fails if a check failed.
    pub(crate) fn end(&self) -> Result {
        self.failures.iter().for_each(|failure| eprintln!("filch: {failure}"));
        if self.failures.is_empty() { Ok(()) } else { Err(Error::Failed) }
    }
}

/// Shows the results.
pub(crate) fn conclude(session: &Conclusion<'_>) -> Result<Found> {
    let Conclusion { experiment, plan, runs, finish, choice, comparison, flags, .. } = *session;
    if runs.is_empty() && finish.interrupted {
        return Err(Error::Interrupted);
    }
    let programs = comparison.summarize(runs, &plan.ids);
    let differences = comparison.differences(&programs);
    let mut doubts = warnings(runs, &programs);
    if finish.interrupted {
        doubts.insert(0, Warning::Interrupted);
    }
    let refused = finish.refused.iter().map(|(cell, why)| format!("{} ({why})", plan.describe(*cell)));
    let left_out: Vec<String> = refused.chain(plan.left_out.iter().cloned()).collect();
    if runs.is_empty() {
        return Err(Error::FailedBecause(format!("nothing can run here: {}", left_out.join("; "))));
    }
    if !left_out.is_empty() {
        doubts.push(Warning::Refused(left_out));
    }
    // The claims, and what is said about all, are of this session alone.
    let alone = comparison.alone(&programs, runs, &plan.ids);
    let decided = decide(experiment, &alone, cores());
    if !flags.no_report {
        let figures = Figures::of(&programs, Some(experiment), cores());
        let page = Page {
            runs,
            programs: &programs,
            choice,
            doubts: &doubts,
            experiment: Some(experiment),
            decided: &decided,
            figures: &figures,
            origin: &origin(flags),
        };
        write_file(&flags.report, page.html())?;
        if flags.files {
            beside::write(
                &flags.report,
                &csv::programs(&programs, &Choice::Usual, experiment.sweep.as_ref()),
                figures.all(),
            )?;
        }
    }
    let sheet = Sheet { programs: &programs, choice, differences: &differences, sweep: experiment.sweep.as_ref() };
    sheet.write(&flags.tables, &Machine::here())?;
    let stdout_is_json = flags.output.json.as_deref().is_some_and(|path| path == Path::new("-"));
    if !stdout_is_json && !flags.tables.is_stdout() && !flags.output.quiet {
        let facts = if differences.is_empty() { facts(&alone, cores()) } else { Vec::new() };
        show(session, &programs, &facts, &differences, &doubts, &decided)?;
    }
    let doubts = doubts.iter().filter(|doubt| doubt.is_failure()).map(ToString::to_string);
    let failures = doubts.chain(differences.iter().filter_map(Difference::failure)).collect();
    Ok(Found { decided, rounds: finish.rounds, interrupted: finish.interrupted, failures })
}

/// Shows what a probe found.
pub(crate) fn conclude_probe(experiment: &Experiment, findings: Findings, flags: &Flags) -> Result<Found> {
    let colour = colour();
    if !flags.no_report {
        write_file(&flags.report, probe_page(experiment, &findings, &Machine::here(), &origin(flags)))?;
        if flags.files {
            beside::write(&flags.report, &csv::listings(&findings.tables), &findings.figures)?;
        }
    }
    if !flags.output.quiet {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{}", paint(&Machine::here().summary(), FAINT, colour))?;
        writeln!(out, "{}", paint(&experiment.question, STRONG, colour))?;
        for table in &findings.tables {
            let heads: Vec<&str> = table.heads.iter().map(String::as_str).collect();
            writeln!(out, "\n{}\n{}", table.caption, list(&heads, &table.rows, colour))?;
        }
        claims(&mut out, &findings.decided, colour)?;
        if !flags.no_report {
            writeln!(out, "\nReport: {}", paint(&flags.report.display().to_string(), FILE, colour))?;
        }
    }
    Ok(Found { decided: findings.decided, rounds: 1, ..Found::default() })
}

/// Returns where the page of this session comes from.
fn origin(flags: &Flags) -> Origin {
    let files = flags.files.then(|| flags.report.file_stem()).flatten();
    Origin {
        command: Some(flags.command.clone().unwrap_or_else(command)),
        files: files.map(|name| name.to_string_lossy().into_owned()),
    }
}

/// The command of this process, as a shell reads it.
fn command() -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%".contains(c);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let arguments = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("filch".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn show(
    session: &Conclusion<'_>,
    programs: &[Program],
    facts: &[Fact],
    differences: &[Difference],
    doubts: &[Warning],
    decided: &[Decided],
) -> Result {
    let Conclusion { experiment, choice, flags, .. } = *session;
    let look = table::Look { colour: colour(), width: width(), cores: cores() };
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{}", paint(&Machine::here().summary(), FAINT, look.colour))?;
    if experiment.name.is_some() {
        writeln!(out, "{}", paint(&experiment.question, STRONG, look.colour))?;
    }
    for program in programs {
        writeln!(out, "\n{}", table::program(program, choice, look))?;
    }
    writeln!(out, "{}", paint(&table::legend(programs, choice, look), FAINT, look.colour))?;
    show_differences(&mut out, differences, look.colour)?;
    for fact in facts {
        writeln!(out, "{}  {}", paint(&fact.figure, FIGURE, look.colour), fact.sentence)?;
    }
    claims(&mut out, decided, look.colour)?;
    if session.size == Size::Quick {
        writeln!(out, "{}", paint("The sizes are small: larger ones give more stable numbers.", FAINT, look.colour))?;
    }
    for doubt in doubts {
        let style = if doubt.is_failure() { FAILURE } else { DOUBT };
        writeln!(out, "\n{} {}", paint(&doubt.to_string(), style, look.colour), doubt.remedy())?;
    }
    if !flags.no_report {
        writeln!(out, "\nReport: {}", paint(&flags.report.display().to_string(), FILE, look.colour))?;
    }
    out.flush()?;
    Ok(())
}

/// Prints how rows differ from what they are compared with.
pub(crate) fn show_differences(out: &mut impl Write, differences: &[Difference], colour: bool) -> Result {
    let Some(first) = differences.first() else { return Ok(()) };
    writeln!(out, "Against {}:", paint(&first.base, STRONG, colour))?;
    for difference in differences {
        let style = match difference.verdict() {
            _ if difference.is_failure() => FAILURE,
            "faster" => GOOD,
            "slower" => BAD,
            _ => FAINT,
        };
        let verdict = paint(&format!("{:<13}", difference.verdict()), style, colour);
        let open = if difference.is_open() { ", which crosses the limit: more rounds may decide" } else { "" };
        writeln!(out, "  {verdict}  {}: {difference}{open}", difference.row)?;
    }
    Ok(())
}

/// Prints the claims and their verdicts, and the totals by origin.
fn claims(out: &mut impl Write, decided: &[Decided], colour: bool) -> Result {
    for claim in decided {
        let style = match claim.standing() {
            Standing::Holds => GOOD,
            Standing::Fails => BAD,
            Standing::Undecided | Standing::Untestable | Standing::Stale => FAINT,
        };
        let verdict = paint(&format!("{:<17}", claim.name()), style, colour);
        writeln!(out, "{verdict}  {}", paint(claim.text, STRONG, colour))?;
        writeln!(out, "{:19}It holds if {}.", "", claim.rule)?;
        writeln!(out, "{:19}{}", "", claim.why())?;
    }
    let totals: Totals = decided.iter().collect();
    if !totals.is_empty() {
        writeln!(out, "{totals}.")?;
    }
    Ok(())
}
