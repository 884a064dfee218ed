//! `filch scale`: records programs, and says how far they would scale, and why not further.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use filch_catalogue::console::table;
use filch_catalogue::protocol::{Order, Ran, cores};
use filch_sim::forecast::Pool;
use serde::Serialize;

use super::run::ask;
use crate::error::{Error, Result, usage};
use crate::export::html::scale_page;
use crate::export::json::{Lines, check_writable, text, write_file};
use crate::flags::{Scale as Flags, Size};
use crate::identity::Placement;
use crate::programs::{fits, parse};
use crate::runners::{self, Executable};
use crate::scale::{Capacity, Costs, Forecast, Recording};
use crate::scheduler::Scheduler;
use crate::stats::Sample;
use crate::terminal::{colour, count, significant};

/// What is written of a recording, from which it can be read again.
#[derive(Serialize)]
struct Line<'r> {
    #[serde(flatten)]
    recording: &'r Recording,
    forecast: &'r [Forecast],
}

pub(super) fn scale(flags: &Flags) -> Result {
    let pools = flags.pools.iter().map(|pool| pool.parse()).collect::<std::result::Result<Vec<Pool>, _>>();
    let pools = pools.map_err(usage)?;
    let workers: Vec<usize> = flags.workers.iter().copied().map(usize::from).collect();
    let before = flags.against.as_deref().map(recordings).transpose()?;
    flags.page.as_deref().map(check_writable).transpose()?;
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let mut all = Vec::new();
    for mut recording in record(flags)? {
        let mut costs = recording.costs.take().expect("measured by now");
        flags.costs.iter().for_each(|(name, cost)| costs.set(name, *cost));
        let forecast = recording.forecast(&pools, &workers, &costs)?;
        recording.costs = Some(costs);
        if let Some(lines) = &mut lines {
            lines.write(&Line { recording: &recording, forecast: &forecast })?;
        }
        all.push((recording, forecast));
    }
    if let Some(page) = &flags.page {
        write_file(page, scale_page(&all))?;
    }
    if flags.output.talks(lines.as_ref()) {
        writeln!(std::io::stdout(), "{}", told(&all, before.as_deref(), &workers)).map_err(Error::Output)?;
    }
    Ok(())
}

/// Records the programs, runs the command, and reads the files; each recording then has costs.
fn record(flags: &Flags) -> Result<Vec<Recording>> {
    let is_file = |name: &&String| name.ends_with(".json") || name.ends_with(".jsonl");
    let (files, programs): (Vec<&String>, Vec<&String>) = flags.programs.iter().partition(is_file);
    let mut all = Vec::new();
    for file in files {
        all.extend(recordings(Path::new(file))?);
    }
    if let Some(command) = &flags.command {
        all.push(run(command)?);
    }
    if !programs.is_empty() || all.iter().any(|recording| recording.costs.is_none()) {
        let (costs, mut recorded) = probe(&programs, flags)?;
        for (recording, program) in recorded.iter_mut().zip(&programs) {
            recording.capacity = capacity(program, if flags.quick { Size::Quick } else { Size::Small })?;
        }
        all.extend(recorded);
        all.iter_mut().for_each(|recording| _ = recording.costs.get_or_insert_with(|| costs.clone()));
    }
    Ok(all)
}

/// Has the probe measure the costs of tasks here, and record these programs.
fn probe(programs: &[&String], flags: &Flags) -> Result<(Costs, Vec<Recording>)> {
    runners::ready(&[Executable::Probe, Scheduler::Serial.runner()].into(), !flags.output.quiet)?;
    let path = Executable::Probe.path()?;
    let mut command = Command::new(&path);
    command.arg("scale").args(programs).args(flags.quick.then_some("--quick"));
    command.args(flags.closures.then_some("--closures"));
    if let Some((_, theft)) = flags.costs.iter().find(|(name, _)| name == "theft") {
        command.args(["--theft", &theft.to_string()]);
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| usage(format!("{} cannot be started: {error}", path.display())))?;
    match output.status.code() {
        Some(0) => {}
        // It has said why.
        Some(2) => return Err(usage("nothing was recorded")),
        _ => return Err(Error::FailedBecause(format!("{}: {}", path.display(), output.status))),
    }
    let wrong = |error: serde_json::Error| Error::FailedBecause(format!("{}: {error}", path.display()));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let costs = serde_json::from_str(lines.next().unwrap_or_default()).map_err(wrong)?;
    Ok((costs, lines.map(|line| serde_json::from_str(line).map_err(wrong)).collect::<Result<_>>()?))
}

/// Runs a copy of the sequential program on each processor, and one alone, by turns; `None` if there is one processor,
/// or too little memory.
fn capacity(program: &str, size: Size) -> Result<Option<Capacity>> {
    const ROUNDS: usize = 3;
    /// Seconds of a visit to a copy.
    const ENOUGH: f64 = 0.05;
    let (program, processors) = (parse(program, size)?, cores());
    if processors == 1 || fits(&program, processors).is_err() {
        return Ok(None);
    }
    let order = Order { warmup: 1, ..Scheduler::Serial.order(&program, 1, Placement::Free) };
    let mean = |copies, repeats| -> Result<f64> {
        let mut all = Vec::new();
        let take = &mut |_: &_, ran: Ran| {
            all.push(ran.seconds);
            Ok(())
        };
        ask(&Scheduler::Serial, &order, Placement::Free, (copies, repeats), take)?;
        Ok(all.iter().sum::<f64>() / all.len() as f64)
    };
    let repeats = (ENOUGH / mean(1, 1)?).ceil().clamp(1.0, 50.0) as usize;
    let round = |_| Ok(processors as f64 * mean(1, repeats)? / mean(processors, repeats)?);
    let rounds = (0..ROUNDS).map(round).collect::<Result<Vec<f64>>>()?;
    Ok(Sample::of(rounds).map(|sample| Capacity { processors, times: sample.median }))
}

/// Runs a program over filch's rayon-core, which records itself.
fn run(command: &str) -> Result<Recording> {
    let file = std::env::temp_dir().join(format!("filch-scale-{}.json", std::process::id()));
    let _removed = Removed(&file);
    let mut shell = Command::new("sh");
    // What the program prints is not a part of our output.
    shell.args(["-c", command]).env("FILCH_SCALE", &file).stdout(std::io::stderr());
    let status = shell.status().map_err(|error| usage(format!("`{command}` cannot be started: {error}")))?;
    if !status.success() {
        return Err(Error::FailedBecause(format!("`{command}` ended with {status}")));
    }
    if !file.exists() {
        return Err(usage(format!(
            "`{command}` has recorded nothing: is it built with filch's rayon-core and its feature `scale`, and does it call \
             into its pool? See docs/drop-in.md"
        )));
    }
    let mut recorded = recordings(&file)?.pop().expect("at least one");
    command.clone_into(&mut recorded.program);
    Ok(recorded)
}

/// Removes a file when dropped.
struct Removed<'f>(&'f PathBuf);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        // It may not have been written.
        let _ = std::fs::remove_file(self.0);
    }
}

/// Reads the recordings in a file.
fn recordings(file: &Path) -> Result<Vec<Recording>> {
    let text = text(file)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let wrong = |error| usage(format!("{}, line {}: not a recording: {error}", file.display(), number + 1));
        serde_json::from_str(line).map_err(wrong)
    };
    let all = lines.map(parse).collect::<Result<Vec<_>>>()?;
    if all.is_empty() { Err(usage(format!("{} contains no recording", file.display()))) } else { Ok(all) }
}

/// Returns the tables and the sentences, for a terminal.
fn told(all: &[(Recording, Vec<Forecast>)], before: Option<&[Recording]>, workers: &[usize]) -> String {
    let mut heads = vec!["program", "work", "span", "parallelism", "burdened", "forks", "median grain"];
    let has_capacity = all.iter().any(|(recording, _)| recording.capacity.is_some());
    if has_capacity {
        heads.push("capacity");
    }
    if before.is_some() {
        heads.extend(["work, of before", "span, of before"]);
    }
    let row = |recording: &Recording| {
        let long = |length: u64| recording.long(length as f64);
        let mut row = vec![
            recording.program.clone(),
            long(recording.work),
            long(recording.span),
            significant(recording.parallelism()),
            significant(recording.burdened_parallelism()),
            count(recording.forks as f64),
            long(recording.median_grain),
        ];
        if has_capacity {
            let told = |of: Capacity| format!("C{} {}", of.processors, significant(of.times));
            row.push(recording.capacity.map_or_else(|| "–".to_owned(), told));
        }
        if let Some(before) = before {
            let former = before.iter().find(|former| former.program == recording.program);
            let of = |part: fn(&Recording) -> u64| {
                former
                    .map_or_else(|| "–".to_owned(), |former| significant(part(recording) as f64 / part(former) as f64))
            };
            row.extend([of(|recording| recording.work), of(|recording| recording.span)]);
        }
        row
    };
    let rows: Vec<Vec<String>> = all.iter().map(|(recording, _)| row(recording)).collect();
    let mut text = table::list(&heads, &rows, colour());
    for (recording, _) in all {
        text += &format!("\n\n{}: {}", recording.program, recording.sentence);
    }
    let heads: Vec<String> = workers.iter().map(|workers| format!("on {workers}")).collect();
    let heads: Vec<&str> =
        ["forecast of speed-up", "pool"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let of_pool = |recording: &Recording, forecasts: &[Forecast]| {
        let names = [recording.program.clone(), forecasts[0].pool.clone()];
        names.into_iter().chain(forecasts.iter().map(|forecast| significant(forecast.speedup))).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = all
        .iter()
        .flat_map(|(recording, forecasts)| forecasts.chunks(workers.len()).map(move |some| of_pool(recording, some)))
        .collect();
    if !rows.is_empty() {
        text += &format!("\n\n{}", table::list(&heads, &rows, colour()));
    }
    for (recording, forecasts) in all {
        if forecasts.is_empty() {
            text += &format!("\n{}: no forecast, since its graph was too long to keep.", recording.program);
        }
    }
    text
}
