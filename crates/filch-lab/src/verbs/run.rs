//! `filch run`: one program on one scheduler.

use std::io::Write;

use filch_catalogue::{Kind, Memory, POOLS, Style, Workload, wait};
use filch_protocol::{Hello, Order, Ran, cores};

use crate::error::{Error, Result, usage};
use crate::export::json::Lines;
use crate::flags::{Choice, Run as Flags, Size};
use crate::identity::Placement;
use crate::programs::{assignment, workload};
use crate::record::{Occasion, Run};
use crate::runners;
use crate::scheduler::Scheduler;
use crate::session::{Asked, Trouble};
use crate::stats::Sample;
use crate::terminal::{self, BEST, DOUBT, FAILURE, GOOD, STRONG, colour, count, duration, paint, significant};

pub(crate) fn run(flags: &Flags) -> Result {
    let program = flags.what.program()?;
    let scheduler = match &flags.peer {
        Some(peer) => Scheduler::from_peer(&program, peer)?.map_err(usage)?,
        None => flags.what.scheduler(&program)?,
    };
    let workers: Vec<usize> = match &flags.workers {
        Some(numbers) => numbers.iter().copied().map(usize::from).collect(),
        None if scheduler == Scheduler::Serial => vec![1],
        None => vec![cores()],
    };
    if scheduler == Scheduler::Serial && workers != [1] {
        return Err(usage("the sequential program has one worker; omit --workers"));
    }
    let mut jobs: Vec<(&Scheduler, usize)> = workers.iter().map(|&workers| (&scheduler, workers)).collect();
    // The cost of a job is the difference from the sequential program.
    let is_compared = program.kind() == Kind::Jobs && scheduler != Scheduler::Serial;
    if is_compared {
        jobs.insert(0, (&Scheduler::Serial, 1));
    }
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let talks = flags.output.talks(lines.as_ref());
    runners::ready(&jobs.iter().map(|(scheduler, _)| scheduler.runner()).collect(), !flags.output.quiet)?;
    crate::interrupt::watch()?;
    let mut runs = Vec::new();
    for (scheduler, workers) in jobs {
        measure(flags, &program, scheduler, workers, &mut |run| {
            lines.as_mut().map_or(Ok(()), |lines| lines.write(&run))?;
            runs.push(run);
            Ok(())
        })?;
    }
    let wrong: Vec<&Run> = runs.iter().filter(|run| !run.correct).collect();
    if talks {
        for runs in runs.chunk_by(|a, b| (&a.who, a.workers) == (&b.who, b.workers)) {
            say(runs)?;
        }
        if let Some(tasks) = program.tasks().filter(|&tasks| is_compared && tasks > 0) {
            say_what_a_job_costs(&runs, tasks)?;
        }
    }
    match wrong.first().and_then(|run| run.error.as_deref()) {
        Some(why) => Err(Error::FailedBecause(format!("{} of {} runs are wrong: {why}", wrong.len(), runs.len()))),
        None => Ok(()),
    }
}

/// Runs the program on a scheduler.
fn measure(
    flags: &Flags,
    workload: &Workload,
    scheduler: &Scheduler,
    workers: usize,
    take: &mut dyn FnMut(Run) -> Result,
) -> Result {
    let (order, placement) = flags.what.order(workload, scheduler, workers);
    let mut repeat = 0;
    ask(scheduler, &order, placement, flags.repeat as usize, &mut |hello, ran| {
        let occasion = Occasion {
            experiment: None,
            size: None,
            workload,
            scheduler,
            workers,
            placement,
            copies: 1,
            round: 0,
            repeat,
        };
        repeat += 1;
        take(occasion.ran(hello, ran))
    })
}

/// Has a scheduler run a program.
pub(super) fn ask(
    scheduler: &Scheduler,
    order: &Order,
    placement: Placement,
    repeats: usize,
    take: &mut dyn FnMut(&Hello, Ran) -> Result,
) -> Result {
    let runner = scheduler.runner().path()?;
    let asked = Asked { runner: &runner, order, copies: 1, repeats, limit: None };
    asked.run(take).map_err(|trouble| match trouble {
        Trouble::Refused(why) => usage(why),
        Trouble::Broken(why) => Error::FailedBecause(format!("{} failed: {why}", scheduler.identity(placement))),
        Trouble::Interrupted => Error::Interrupted,
        Trouble::Taker(error) => error,
    })
}

impl Choice {
    pub(super) fn program(&self) -> Result<Workload> {
        let set = self.set.iter().map(|text| assignment(text)).collect::<Result<Vec<_>>>()?;
        let size = self.size.unwrap_or(if self.quick { Size::Quick } else { Size::Small });
        workload(&self.workload, size, &set)
    }

    pub(super) fn scheduler(&self, program: &Workload) -> Result<Scheduler> {
        let default = match program.kind() {
            Kind::Worklist | Kind::Queue => "chase-lev",
            Kind::Jobs => "wsq",
            _ => POOLS[0].name,
        };
        let pool = self.pool.as_deref().unwrap_or(default);
        let wait = wait(self.wait.as_deref()).map_err(usage)?;
        let style = self.style.unwrap_or(Style::Handles);
        let scheduler = Scheduler::from_pool(program, pool, style, wait)?.map_err(usage)?;
        if self.style.is_some() || self.wait.is_some() {
            match scheduler {
                Scheduler::Serial => {
                    return Err(usage("the sequential program has no tasks; omit --style and --wait"));
                }
                Scheduler::Worklist(_) => return Err(usage("worklists have no joins; omit --style and --wait")),
                Scheduler::Filch { .. } | Scheduler::Peer(_) | Scheduler::Foreign(_) => {}
            }
        }
        Ok(scheduler)
    }

    pub(super) fn order(&self, program: &Workload, scheduler: &Scheduler, workers: usize) -> (Order, Placement) {
        let placement = if self.pin { Placement::Pinned } else { Placement::Free };
        (Order { warmup: self.warmup as usize, ..scheduler.order(program, workers, placement) }, placement)
    }
}

/// Prints a few lines for people.
fn say(runs: &[Run]) -> Result {
    let mut out = std::io::stdout().lock();
    let colour = colour();
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(()) };
    let Some(times) = Sample::of(runs.iter().filter_map(|run| run.seconds)) else { return Ok(()) };
    let how = match &first.who.wait {
        Some(wait) => format!(", {wait}, {}", first.who.style.as_deref().unwrap_or_default()),
        None if first.who.pool.is_some() => String::new(),
        None => format!(" {}", first.version).trim_end().to_owned(),
    };
    let workers = terminal::workers(first.workers);
    writeln!(
        out,
        "{} on {}{how}, {workers}",
        paint(&first.program.to_string(), STRONG, colour),
        paint(&first.who.to_string(), STRONG, colour)
    )?;
    let time = paint(&duration(times.median), BEST, colour);
    let (least, most) = (duration(times.min), duration(times.max));
    writeln!(out, "  time      {time}  median of {}, from {least} to {most}", times.n)?;
    if let Some(tasks) = first.tasks.filter(|&tasks| tasks > 0) {
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        let tasks = tasks as f64;
        let each = duration(times.median / tasks);
        writeln!(out, "  tasks     {}  {each} each, {} per second", count(tasks), count(tasks / times.median))?;
    }
    let verdict = match runs.iter().find_map(|run| run.error.as_deref()) {
        None => paint("right", GOOD, colour),
        Some(why) => paint(&format!("wrong: {why}"), FAILURE, colour),
    };
    writeln!(out, "  answer    {}  {verdict}", first.answer)?;
    let cpu = Sample::of(runs.iter().map(|run| run.cpu_seconds / run.seconds.unwrap_or(f64::NAN)));
    let cpu = cpu.map_or_else(String::new, |cpu| format!("{} processors, ", significant(cpu.median)));
    writeln!(out, "  used      {cpu}{} of memory", Memory(last.peak_rss_bytes))?;
    if !last.counters.is_empty() {
        let counters = last.counters.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
        writeln!(out, "  last run  {}", counters.collect::<Vec<_>>().join(", "))?;
    }
    if last.machine.is_debug() {
        writeln!(out, "  {}", paint("This is a debug build: measure with `cargo run --release`.", DOUBT, colour))?;
    }
    out.flush()?;
    Ok(())
}

/// Prints a table of times per job; the runs of the sequential program come first.
fn say_what_a_job_costs(runs: &[Run], jobs: u64) -> Result {
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    let each = |runs: &[Run]| Some(Sample::of(runs.iter().filter_map(|run| run.seconds))?.median / jobs as f64);
    let mut groups = runs.chunk_by(|a, b| (&a.who, a.workers) == (&b.who, b.workers));
    let Some(serial) = groups.next().and_then(each) else { return Ok(()) };
    let mut out = std::io::stdout().lock();
    writeln!(out, "a job: {:>8} {:>9} {:>9} {:>9} {:>9}", "workers", "serial", "parallel", "speedup", "overhead")?;
    for runs in groups {
        let (Some(parallel), Some(first)) = (each(runs), runs.first()) else { continue };
        #[expect(clippy::cast_precision_loss, reason = "few workers")]
        let overhead = parallel * first.workers as f64 - serial;
        let [serial, parallel, overhead, speedup] =
            [duration(serial), duration(parallel), duration(overhead), format!("{:.2}", serial / parallel)];
        writeln!(out, "       {:>8} {serial:>9} {parallel:>9} {speedup:>9} {overhead:>9}", first.workers)?;
    }
    out.flush()?;
    Ok(())
}
