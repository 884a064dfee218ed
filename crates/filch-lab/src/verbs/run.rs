//! `filch run`: programs on schedulers, one after the other.

use std::collections::BTreeSet;
use std::io::Write;

use filch_catalogue::protocol::{Hello, Order, Ran, cores};
use filch_catalogue::{Kind, Memory, POOLS, Workload};

use super::compare::Named;
use crate::error::{Error, Result, usage};
use crate::experiment::plan::{Guests, schedulers};
use crate::experiment::{Contender, Experiment, Program, each};
use crate::export::json::Lines;
use crate::flags::{Manner, Run as Flags, Size};
use crate::identity::{Placement, ProgramId};
use crate::programs::parse;
use crate::record::{Occasion, Run};
use crate::runners::{self, Executable};
use crate::scheduler::Scheduler;
use crate::session::{Asked, Trouble};
use crate::stats::Sample;
use crate::terminal::{self, BEST, DOUBT, FAILURE, GOOD, STRONG, colour, count, duration, paint, significant};

pub(crate) fn run(flags: &Flags) -> Result {
    let jobs = jobs(flags)?;
    let mut lines = flags.output.json.as_deref().map(Lines::create).transpose()?;
    let talks = flags.output.talks(lines.as_ref());
    let mut runners: BTreeSet<Executable> = jobs.iter().map(|job| job.scheduler.runner()).collect();
    if jobs.iter().any(|job| job.scheduler.is_foreign()) {
        runners.insert(Scheduler::Serial.runner());
    }
    runners::ready(&runners, !flags.output.quiet)?;
    crate::interrupt::watch()?;
    let (mut all, mut wrong) = (0, Vec::new());
    for jobs in jobs.chunk_by(|a, b| ProgramId::of(&a.program) == ProgramId::of(&b.program)) {
        let mut runs = Vec::new();
        for job in jobs {
            let first = runs.len();
            measure(flags, job, &mut |run| {
                lines.as_mut().map_or(Ok(()), |lines| lines.write(&run))?;
                runs.push(run);
                Ok(())
            })?;
            if talks {
                say(&runs[first..])?;
            }
        }
        let program = &jobs[0].program;
        // The sequential program runs first.
        let counts = program.kind() == Kind::Jobs && jobs.len() > 1 && talks;
        if let Some(tasks) = program.tasks().filter(|&tasks| counts && tasks > 0) {
            say_what_a_job_costs(&runs, tasks)?;
        }
        all += runs.len();
        wrong.extend(runs.into_iter().filter(|run| !run.correct));
    }
    match wrong.first().and_then(|run| run.error.as_deref()) {
        Some(why) => Err(Error::FailedBecause(format!("{} of {all} runs are wrong: {why}", wrong.len()))),
        None => Ok(()),
    }
}

/// A program on a scheduler.
struct Job {
    program: Workload,
    scheduler: Scheduler,
    workers: usize,
}

/// Returns what the flags name, program by program.
fn jobs(flags: &Flags) -> Result<Vec<Job>> {
    let named = Named::of(&flags.schedulers)?;
    let contenders: Vec<Contender> =
        [named.pools.unwrap_or_default(), named.peers.unwrap_or_default(), named.runners].concat();
    let size = flags.manner.size();
    let entry = |text: &String| {
        let program = parse(text, size)?;
        let default = || vec![Contender::Pool { name: default_pool(&program).to_owned(), wait: named.wait }];
        let contenders = if contenders.is_empty() { default() } else { contenders.clone() };
        Ok((program, contenders))
    };
    let entries = flags.workloads.iter().map(entry).collect::<Result<Vec<_>>>()?;
    let asked = Experiment { entries: each(&[Program::new("")], &contenders), ..Experiment::new("") };
    let guests = Guests::of(&asked);
    if let Some(why) = guests.strangers.first() {
        return Err(usage(why));
    }
    let mut jobs: Vec<Job> = Vec::new();
    for (program, contenders) in entries {
        let (schedulers, left_out) = schedulers(&asked, &program, &contenders, &guests)?;
        if !left_out.is_empty() {
            return Err(usage(left_out.join("; ")));
        }
        let mut job = |scheduler: &Scheduler, workers| {
            jobs.push(Job { program: program.clone(), scheduler: scheduler.clone(), workers });
        };
        if schedulers == [Scheduler::Serial] && flags.workers.as_ref().is_some_and(|numbers| *numbers != [1]) {
            return Err(usage("the sequential program has one worker; omit --workers"));
        }
        // The cost of a job is the difference from the sequential program.
        if schedulers.contains(&Scheduler::Serial) || program.kind() == Kind::Jobs {
            job(&Scheduler::Serial, 1);
        }
        for scheduler in schedulers.iter().filter(|scheduler| **scheduler != Scheduler::Serial) {
            if flags.manner.pin && !scheduler.can_be_pinned() {
                let who = scheduler.identity(Placement::Free);
                return Err(usage(format!("the workers of {who} cannot be bound to processors; omit --pin")));
            }
            match &flags.workers {
                None => job(scheduler, cores()),
                Some(numbers) => numbers.iter().for_each(|&workers| job(scheduler, workers.into())),
            }
        }
    }
    let has_joins = |job: &Job| matches!(job.scheduler, Scheduler::Filch { .. });
    if flags.schedulers.wait.is_some() && !jobs.iter().any(has_joins) {
        return Err(usage("only forks on pools of filch wait for stolen tasks; omit --wait"));
    }
    Ok(jobs)
}

/// Returns the pool that runs a program unless another one is named.
pub(super) fn default_pool(program: &Workload) -> &'static str {
    match program.kind() {
        Kind::Worklist | Kind::Queue => "chase-lev",
        Kind::Jobs => "wsq",
        _ => POOLS[0].name,
    }
}

/// Runs a program on a scheduler.
fn measure(flags: &Flags, job: &Job, take: &mut dyn FnMut(Run) -> Result) -> Result {
    let Job { program, scheduler, workers } = job;
    let (order, placement) = flags.manner.order(program, scheduler, *workers);
    let occasion = Occasion {
        experiment: None,
        size: None,
        workload: program,
        scheduler,
        workers: *workers,
        placement,
        copies: 1,
        round: 0,
        repeat: 0,
    };
    let mut right = None;
    if scheduler.is_foreign() {
        let order = Scheduler::Serial.order(program, 1, Placement::Free);
        ask(&Scheduler::Serial, &order, Placement::Free, (1, 1), &mut |_, ran| {
            right = Some(ran.answer);
            Ok(())
        })?;
    }
    let mut repeat = 0;
    ask(scheduler, &order, placement, (1, flags.repeat as usize), &mut |hello, ran| {
        let mut run = Occasion { repeat, ..occasion }.ran(hello, ran);
        repeat += 1;
        if let Some(right) = &right {
            run.check(right);
        }
        take(run)
    })
}

/// Has so many copies of a scheduler run a program so many times.
pub(super) fn ask(
    scheduler: &Scheduler,
    order: &Order,
    placement: Placement,
    (copies, repeats): (usize, usize),
    take: &mut dyn FnMut(&Hello, Ran) -> Result,
) -> Result {
    let runner = scheduler.runner().path()?;
    let asked = Asked { runner: &runner, order, copies, repeats, limit: None };
    asked.run(take).map_err(|trouble| match trouble {
        Trouble::Refused(why) => usage(why),
        Trouble::Broken(why) => Error::FailedBecause(format!("{} failed: {why}", scheduler.identity(placement))),
        Trouble::Interrupted => Error::Interrupted,
        Trouble::Taker(error) => error,
    })
}

impl Manner {
    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(if self.quick { Size::Quick } else { Size::Small })
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
