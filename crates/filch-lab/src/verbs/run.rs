//! `filch run`: one program on one scheduler.

use std::io::{BufRead, Write};

use crate::child::READY;
use crate::error::{Error, Result, usage};
use crate::export::json::Lines;
use crate::flags::Run as Flags;
use crate::measure::{Job, Watcher, measure};
use crate::record::Run;
use crate::scheduler::{Scheduler, Style, wait};
use crate::stats::Sample;
use crate::terminal::{bytes, colour, count, duration, paint, significant};
use crate::verbs::{Size, assignment, workload};

pub(crate) fn run(flags: &Flags) -> Result {
    if flags.child {
        // SAFETY: the call only sets which signal this process gets when its parent ends.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    }
    let set = flags.set.iter().map(|text| assignment(text)).collect::<Result<Vec<_>>>()?;
    let program = workload(&flags.workload, Size::Compare, &set)?;
    let job = Job {
        warmup_workload: if flags.child { workload(&flags.workload, Size::Quick, &[])? } else { program.clone() },
        workload: program,
        scheduler: scheduler(flags)?,
        workers: flags.workers.map_or_else(|| default_workers(flags), usize::from),
        warmup: flags.warmup as usize,
        repeat: flags.repeat as usize,
        pin: flags.pin,
        copies: flags.copies,
        round: flags.round,
    };
    if job.scheduler == Scheduler::Serial && job.workers > 1 {
        return Err(usage("the sequential program has one worker; leave out --workers"));
    }
    let lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let talks = !flags.output.quiet && !lines.as_ref().is_some_and(Lines::is_stdout);
    let mut teller = Teller { lines, gate: flags.gate, runs: Vec::new() };
    measure(&job, &mut teller)?;
    let wrong: Vec<&Run> = teller.runs.iter().filter(|run| !run.correct).collect();
    if talks {
        say(&teller.runs)?;
    }
    match wrong.first().and_then(|run| run.error.as_deref()) {
        Some(why) => {
            Err(Error::FailedBecause(format!("{} of {} runs are wrong: {why}", wrong.len(), teller.runs.len())))
        }
        None => Ok(()),
    }
}

fn default_workers(flags: &Flags) -> usize {
    if flags.peer.is_none() && flags.pool == "serial" { 1 } else { crate::machine::cores() }
}

fn scheduler(flags: &Flags) -> Result<Scheduler> {
    match &flags.peer {
        Some(peer) => Scheduler::from_peer(peer),
        None => {
            let wait = flags.wait.as_deref().map(wait).transpose()?.unwrap_or_default();
            let scheduler = Scheduler::from_pool(&flags.pool, flags.style.unwrap_or(Style::Handles), wait)?;
            if scheduler == Scheduler::Serial && (flags.style.is_some() || flags.wait.is_some()) {
                return Err(usage("the sequential program has no tasks; leave out --style and --wait"));
            }
            Ok(scheduler)
        }
    }
}

/// Writes runs as they end.
struct Teller {
    lines: Option<Lines>,
    gate: bool,
    runs: Vec<Run>,
}

impl Watcher for Teller {
    fn ready(&mut self) -> Result {
        if self.gate {
            let mut output = std::io::stdout().lock();
            writeln!(output, "{READY}")?;
            output.flush()?;
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line)? == 0 {
                return Err(usage("nobody is left to let this process go"));
            }
        }
        Ok(())
    }

    fn ended(&mut self, run: Run) -> Result {
        if let Some(lines) = &mut self.lines {
            lines.write(&run)?;
        }
        self.runs.push(run);
        Ok(())
    }
}

/// A few lines for people.
fn say(runs: &[Run]) -> Result {
    let mut out = std::io::stdout().lock();
    let colour = colour();
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(()) };
    let Some(times) = Sample::of(runs.iter().filter_map(|run| run.seconds)) else { return Ok(()) };
    let how = match &first.wait {
        Some(wait) => format!(", {wait}, {}", first.style.as_deref().unwrap_or_default()),
        None => format!(" {}", first.version).trim_end().to_owned(),
    };
    let workers = if first.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", first.workers) };
    writeln!(
        out,
        "{} on {}{how}, {workers}",
        paint(&first.program(), "1", colour),
        paint(&first.label(), "1", colour)
    )?;
    let time = paint(&duration(times.median), "1;32", colour);
    let (least, most) = (duration(times.min), duration(times.max));
    writeln!(out, "  time      {time}  median of {}, from {least} to {most}", times.n)?;
    if let Some(tasks) = first.tasks.filter(|&tasks| tasks > 0) {
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let tasks = tasks as f64;
        let each = duration(times.median / tasks);
        writeln!(out, "  tasks     {}  {each} each, {} per second", count(tasks), count(tasks / times.median))?;
    }
    let verdict = match runs.iter().find_map(|run| run.error.as_deref()) {
        None => paint("right", "32", colour),
        Some(why) => paint(&format!("wrong: {why}"), "1;31", colour),
    };
    writeln!(out, "  answer    {}  {verdict}", first.answer)?;
    let cpu = Sample::of(runs.iter().map(|run| run.cpu_seconds / run.seconds.unwrap_or(f64::NAN)));
    // The kernel's account of processor time is too coarse for shorter runs.
    let cpu = cpu
        .filter(|_| times.median >= 0.01)
        .map_or_else(String::new, |cpu| format!("{} processors, ", significant(cpu.median)));
    writeln!(out, "  used      {cpu}{} of memory", bytes(last.peak_rss_bytes))?;
    if !last.counters.is_empty() {
        let counters = last.counters.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
        writeln!(out, "  last run  {}", counters.collect::<Vec<_>>().join(", "))?;
    }
    if last.machine.is_debug() {
        writeln!(out, "  {}", paint("This is a debug build: measure with `cargo run --release`.", "33", colour))?;
    }
    out.flush()?;
    Ok(())
}
