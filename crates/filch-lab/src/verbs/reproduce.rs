//! `filch reproduce`: tables and figures of the documents, each into files of its own in one folder, and a page about
//! all.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use filch_catalogue::Memory;
use filch_catalogue::console::flags::Output;
use filch_catalogue::console::table::list;

use crate::earlier::Earlier;
use crate::error::{Error, Result, usage};
use crate::experiment::Experiment;
use crate::experiment::origin::Totals;
use crate::experiments::{all, find};
use crate::export::html::overview;
use crate::export::json::{check_writable, write_file};
use crate::flags::{Against, Reproduce as Flags, Session, Size, Tables};
use crate::forecast::Times;
use crate::interrupt::interrupted;
use crate::kept::{Kept, totals};
use crate::outcome::Outcome;
use crate::perform::perform;
use crate::runners;
use crate::scheduler::Scheduler;
use crate::terminal::{FILE, STRONG, colour, duration, paint};

pub(crate) fn reproduce(flags: &Flags) -> Result {
    let experiments = chosen(&flags.ids)?;
    let size = flags.size.unwrap_or(if flags.quick { Size::Quick } else { Size::Small });
    if flags.dry_run {
        return forecast(flags, &experiments, size);
    }
    let folder = &flags.folder;
    std::fs::create_dir_all(folder)
        .map_err(|error| usage(format!("cannot make the folder {}: {error}", folder.display())))?;
    check_writable(&folder.join("index.html"))?;
    let own: Vec<Experiment> = experiments.iter().filter(|experiment| experiment.file.is_some()).cloned().collect();
    let (todo, mut troubles) = if flags.resume { rest(flags, &experiments, size)? } else { (experiments, Vec::new()) };
    let mut totals = show_all(folder, &own, &troubles)?;
    for (index, experiment) in todo.iter().enumerate() {
        let id = experiment.name.unwrap_or_default();
        if !flags.quiet {
            let heading = format!("{id}, {} of {}", index + 1, todo.len());
            writeln!(std::io::stdout(), "\n{}", paint(&heading, STRONG, colour()))?;
        }
        let done = if interrupted() { Err(Error::Interrupted) } else { measure(flags, experiment, size) };
        match done {
            Ok(failures) => troubles.extend(failures.into_iter().map(|failure| (id, failure))),
            // Without room, the next experiment fails, too.
            Err(error @ (Error::File(..) | Error::Output(_))) => return Err(error),
            Err(error) if interrupted() || matches!(error, Error::Interrupted) => {
                show_all(folder, &own, &troubles)?;
                eprintln!("filch: the same command with --resume continues");
                return Err(Error::Interrupted);
            }
            Err(error) => {
                eprintln!("filch: {id}: {error}");
                troubles.push((id, error.to_string()));
            }
        }
        totals = show_all(folder, &own, &troubles)?;
    }
    if !flags.quiet {
        let page = folder.join("index.html").display().to_string();
        writeln!(std::io::stdout(), "\n{totals}\nAll: {}", paint(&page, FILE, colour()))?;
    }
    troubles.iter().for_each(|(id, why)| eprintln!("filch: {id} failed: {why}"));
    if troubles.is_empty() { Ok(()) } else { Err(Error::Failed) }
}

/// Measures an experiment into the folder; returns the checks that failed.
fn measure(flags: &Flags, experiment: &Experiment, size: Size) -> Result<Vec<String>> {
    let (folder, id) = (&flags.folder, experiment.name.unwrap_or_default());
    let start = Instant::now();
    let mut adjusted = experiment.clone();
    adjusted.effort = adjusted.effort.at(size);
    let budget = adjusted.effort.budget;
    // What an interrupted run left is continued, or replaced, but never taken for this run's.
    let _ = std::fs::remove_file(Outcome::file(folder, id));
    let found = perform(adjusted, size, &session(flags, experiment, size, budget))?;
    if found.interrupted {
        return Err(Error::Interrupted);
    }
    let seconds = start.elapsed().as_secs_f64();
    Outcome::of(experiment, size, command(flags, experiment, size), &found, seconds).write(folder)?;
    Ok(found.failures)
}

/// What went wrong, by experiment.
type Troubles = Vec<(&'static str, String)>;

/// Returns the experiments that are not complete in the folder, and the failed checks of those that are.
///
/// Fails if the folder holds other measurements under their names: continuing would mix them, and replacing would lose
/// them.
fn rest(flags: &Flags, experiments: &[Experiment], size: Size) -> Result<(Vec<Experiment>, Troubles)> {
    let folder = &flags.folder;
    let (mut todo, mut troubles, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for experiment in experiments {
        let id = experiment.name.unwrap_or_default();
        match Outcome::read(folder, id) {
            Ok(Some(outcome)) if outcome.is_current(&command(flags, experiment, size)) => {
                troubles.extend(outcome.failures.into_iter().map(|failure| (id, failure)));
                continue;
            }
            Ok(Some(Outcome { command, commit, machine, .. })) => {
                others.push(format!("{id} is there by `{command}` of commit {commit} on {}", machine.processor));
            }
            Ok(None) if experiment.probe.is_none() => {
                let lines = folder.join(format!("{id}.jsonl"));
                others.extend(Earlier::read(&lines, experiment.name, size).err().map(|why| why.to_string()));
            }
            Ok(None) => {}
            Err(why) => eprintln!("filch: {why}; {id} is concluded anew"),
        }
        todo.push(experiment.clone());
    }
    if others.is_empty() {
        return Ok((todo, troubles));
    }
    Err(usage(format!(
        "cannot continue in {}: {}. Without --resume this is measured anew and replaced; --output names another folder",
        folder.display(),
        others.join("; "),
    )))
}

/// Returns the experiments of these names and files, each once: those of names in the order of the list.
fn chosen(ids: &[String]) -> Result<Vec<Experiment>> {
    let wants_all = ids.iter().any(|id| id == "all");
    let asked = ids.iter().filter(|id| *id != "all").map(|id| find(id)).collect::<Result<Vec<_>>>()?;
    let is_asked = |experiment: &Experiment| {
        asked.iter().any(|asked| asked.name == experiment.name) || wants_all && experiment.is_reproduction()
    };
    let named = all().into_iter().filter(is_asked);
    Ok(named.chain(asked.iter().filter(|experiment| experiment.file.is_some()).cloned()).collect())
}

/// The session of an experiment that takes these seconds by itself.
fn session(flags: &Flags, experiment: &Experiment, size: Size, usual: u32) -> Session {
    let id = experiment.name.unwrap_or_default();
    let budget = flags.budget.unwrap_or(usual);
    Session {
        workers: None,
        pin: false,
        quick: false,
        size: Some(size),
        repeat: flags.repeat,
        budget: flags.budget,
        decide: patience(flags, size, budget),
        timeout: flags.timeout,
        seed: flags.seed,
        against: Against::default(),
        tables: Tables::default(),
        report: flags.folder.join(format!("{id}.html")),
        no_report: false,
        resume: flags.resume,
        output: Output { json: Some(flags.folder.join(format!("{id}.jsonl"))), quiet: flags.quiet },
        command: Some(command(flags, experiment, size)),
        files: true,
    }
}

/// The seconds for what is undecided after the budget.
fn patience(flags: &Flags, size: Size, budget: u32) -> u32 {
    let is_short = size == Size::Quick || flags.repeat.is_some();
    flags.decide.unwrap_or(if is_short { 0 } else { budget })
}

/// Returns the command that measures this experiment alone.
fn command(flags: &Flags, experiment: &Experiment, size: Size) -> String {
    let id = experiment.file.or(experiment.name).unwrap_or_default();
    let given = [("repeat", flags.repeat), ("budget", flags.budget), ("decide", flags.decide)];
    let given = given.into_iter().filter_map(|(name, value)| Some(format!(" --{name} {}", value?)));
    let seed = (flags.seed != 1).then(|| format!(" --seed {}", flags.seed));
    let rest: String = given.chain(seed).collect();
    format!("filch reproduce {id} --size {}{rest}", size.name())
}

/// Prints what the experiments cost.
fn forecast(flags: &Flags, experiments: &[Experiment], size: Size) -> Result {
    runners::ready(&[Scheduler::Serial.runner()].into(), true)?;
    let mut times = Times::default();
    let (mut rows, mut total, mut more) = (Vec::new(), 0.0, 0);
    for experiment in experiments {
        let mut adjusted = experiment.clone();
        adjusted.effort = adjusted.effort.at(size);
        let cost = times.forecast(&adjusted, size)?;
        total += cost.seconds;
        if experiment.probe.is_none() && !experiment.claims.is_empty() {
            more += patience(flags, size, flags.budget.unwrap_or(adjusted.effort.budget));
        }
        let id = experiment.name.unwrap_or_default().to_owned();
        rows.push(if experiment.probe.is_some() {
            vec![id, "a probe".to_owned(), "seconds".to_owned(), String::new()]
        } else {
            let about = duration(cost.seconds);
            vec![id, cost.visits.to_string(), about, Memory(cost.bytes).to_string()]
        });
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", list(&["experiment", "runs a round", "about", "memory"], &rows, colour()))?;
    let available = filch_catalogue::protocol::memory_available()
        .map_or_else(String::new, |bytes| format!("; {} of memory are available", Memory(bytes)));
    let more = match more {
        0 => String::new(),
        more => format!(", and up to {} more while claims are undecided", duration(more.into())),
    };
    writeln!(out, "All: about {} on this machine{more}{available}", duration(total))?;
    Ok(())
}

/// Writes the page about all outcomes in the folder, and about what went wrong; returns the totals of all claims.
///
/// `own` are the user's experiments of this command.
fn show_all(folder: &Path, own: &[Experiment], troubles: &Troubles) -> Result<Totals> {
    let (mut outcomes, mut troubles) = (Vec::new(), troubles.clone());
    for experiment in all().into_iter().chain(own.iter().cloned()) {
        let id = experiment.name.unwrap_or_default();
        match Kept::read(folder, experiment, "jsonl") {
            Ok(kept) => outcomes.extend(kept),
            Err(damaged) => troubles.push((id, damaged.to_string())),
        }
    }
    write_file(&folder.join("index.html"), overview(&outcomes, &troubles))?;
    Ok(totals(&outcomes))
}
