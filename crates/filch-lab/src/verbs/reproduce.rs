//! `filch reproduce`: tables and figures of the documents, each into files of its own in one folder, and a page about all.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use filch_catalogue::Memory;
use filch_console::flags::Output;
use filch_console::table::list;

use crate::error::{Error, Result, usage};
use crate::experiment::Experiment;
use crate::experiments::{all, find};
use crate::export::html::overview;
use crate::export::json::write_file;
use crate::flags::{Reproduce as Flags, Session, Size};
use crate::forecast::Times;
use crate::outcome::Outcome;
use crate::perform::perform;
use crate::runners;
use crate::scheduler::Scheduler;
use crate::terminal::{FILE, STRONG, colour, duration, paint};

pub(crate) fn reproduce(flags: &Flags) -> Result {
    let experiments = chosen(&flags.ids)?;
    let size = flags.size.unwrap_or(if flags.quick { Size::Quick } else { Size::Small });
    if flags.dry_run {
        return forecast(&experiments, size);
    }
    std::fs::create_dir_all(&flags.dir)
        .map_err(|error| usage(format!("cannot make the folder {}: {error}", flags.dir.display())))?;
    let mut failed = false;
    for (index, experiment) in experiments.iter().enumerate() {
        let id = experiment.name.unwrap_or_default();
        let earlier = if flags.resume { Outcome::read(&flags.dir, id)? } else { None };
        if earlier.is_some_and(|earlier| earlier.is_current(size)) {
            continue;
        }
        if !flags.quiet {
            let heading = format!("{id}, {} of {}", index + 1, experiments.len());
            writeln!(std::io::stdout(), "\n{}", paint(&heading, STRONG, colour()))?;
        }
        let start = Instant::now();
        let mut adjusted = experiment.clone();
        adjusted.effort = adjusted.effort.at(size);
        // What an interrupted run left is continued, or replaced, but never taken for this run's.
        let _ = std::fs::remove_file(Outcome::file(&flags.dir, id));
        let found = perform(adjusted, size, &session(flags, id, size))?;
        if found.interrupted {
            show_all(&flags.dir)?;
            return Err(Error::Interrupted);
        }
        failed |= found.end().is_err();
        Outcome::of(experiment, size, &found, start.elapsed().as_secs_f64()).write(&flags.dir)?;
        show_all(&flags.dir)?;
    }
    if !flags.quiet {
        let page = flags.dir.join("index.html").display().to_string();
        writeln!(std::io::stdout(), "\nAll: {}", paint(&page, FILE, colour()))?;
    }
    if failed { Err(Error::Failed) } else { Ok(()) }
}

/// Returns the experiments of these names, each once, in the order of the list.
fn chosen(ids: &[String]) -> Result<Vec<Experiment>> {
    let reproduced = || all().into_iter().filter(Experiment::is_reproduction);
    if ids.iter().any(|id| id == "all") {
        return Ok(reproduced().collect());
    }
    let asked = ids.iter().map(|id| find(id)).collect::<Result<Vec<_>>>()?;
    let is_asked = |experiment: &Experiment| asked.iter().any(|asked| asked.name == experiment.name);
    Ok(all().into_iter().filter(is_asked).collect())
}

/// The session of one experiment.
fn session(flags: &Flags, id: &str, size: Size) -> Session {
    Session {
        workers: None,
        pin: false,
        quick: false,
        size: Some(size),
        repeat: flags.repeat,
        budget: flags.budget,
        timeout: flags.timeout,
        seed: flags.seed,
        columns: None,
        report: flags.dir.join(format!("{id}.html")),
        no_report: false,
        resume: flags.resume,
        output: Output { json: Some(flags.dir.join(format!("{id}.jsonl"))), quiet: flags.quiet },
        command: Some(command(flags, id, size)),
        files: true,
    }
}

/// Returns the command that measures this experiment alone.
fn command(flags: &Flags, id: &str, size: Size) -> String {
    let given = [("repeat", flags.repeat), ("budget", flags.budget)];
    let given = given.into_iter().filter_map(|(name, value)| Some(format!(" --{name} {}", value?)));
    let seed = (flags.seed != 1).then(|| format!(" --seed {}", flags.seed));
    let rest: String = given.chain(seed).collect();
    format!("filch reproduce {id} --size {}{rest}", size.name())
}

/// Prints what the experiments cost.
fn forecast(experiments: &[Experiment], size: Size) -> Result {
    runners::ready(&[Scheduler::Serial.runner()].into(), true)?;
    let mut times = Times::default();
    let (mut rows, mut total) = (Vec::new(), 0.0);
    for experiment in experiments {
        let mut adjusted = experiment.clone();
        adjusted.effort = adjusted.effort.at(size);
        let cost = times.forecast(&adjusted, size)?;
        total += cost.seconds;
        let id = experiment.name.unwrap_or_default().to_owned();
        rows.push(if experiment.probe.is_some() {
            vec![id, "a probe".to_owned(), "seconds".to_owned(), String::new()]
        } else {
            let about = duration(cost.seconds);
            vec![id, cost.visits.to_string(), about, Memory(cost.bytes).to_string()]
        });
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", list(&["experiment", "runs a round", "about", "memory"], rows, colour()))?;
    let available = filch_protocol::memory_available()
        .map_or_else(String::new, |bytes| format!("; {} of memory are available", Memory(bytes)));
    writeln!(out, "All: about {} on this machine{available}", duration(total))?;
    Ok(())
}

/// Writes the page about all outcomes in the folder.
fn show_all(folder: &Path) -> Result {
    let outcomes = all().into_iter().filter_map(|experiment| {
        let outcome = Outcome::read(folder, experiment.name?).transpose()?;
        Some(outcome.map(|outcome| (experiment, outcome)))
    });
    let outcomes = outcomes.collect::<Result<Vec<_>>>()?;
    write_file(&folder.join("index.html"), overview(&outcomes))
}
