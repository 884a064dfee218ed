//! `filch trace`: what each worker does during one run of a program.

use std::io::Write;

use filch_catalogue::protocol::{Order, cores};

use super::run::{ask, default_pool};
use crate::error::{Error, Result, usage};
use crate::export::json::check_writable;
use crate::flags::Trace as Flags;
use crate::identity::ProgramId;
use crate::programs::parse;
use crate::runners;
use crate::scheduler::Scheduler;
use crate::terminal::{self, BEST, STRONG, colour, duration, paint};

pub(super) fn trace(flags: &Flags) -> Result {
    let program = parse(&flags.workload, flags.manner.size())?;
    let pool = flags.pool.as_deref().unwrap_or_else(|| default_pool(&program));
    let wait = filch_catalogue::wait(flags.wait.as_deref()).map_err(usage)?;
    let scheduler = Scheduler::from_pool(&program, pool, wait)?.map_err(usage)?;
    if !matches!(scheduler, Scheduler::Filch { .. }) {
        return Err(usage("a timeline shows the workers of a pool: name one with --pools, and a fork–join program"));
    }
    check_writable(&flags.output)?;
    runners::ready(&[scheduler.runner()].into(), !flags.quiet)?;
    crate::interrupt::watch()?;
    let workers = flags.workers.map_or_else(cores, usize::from);
    let (order, placement) = flags.manner.order(&program, &scheduler, workers);
    let file = std::path::absolute(&flags.output).map_err(|error| usage(error.to_string()))?;
    let mut ran = None;
    let order = Order { timeline: Some(file), ..order };
    ask(&scheduler, &order, placement, (1, 1), &mut |_, one| {
        ran = Some(one);
        Ok(())
    })?;
    let ran = ran.expect("one run was asked for");
    let Some(timeline) = &ran.timeline else {
        return Err(Error::FailedBecause("the runner has written no timeline".to_owned()));
    };
    if !flags.quiet {
        let (mut out, colour) = (std::io::stdout().lock(), colour());
        let who = paint(&scheduler.identity(placement).to_string(), STRONG, colour);
        let time = paint(&duration(ran.seconds), BEST, colour);
        writeln!(
            out,
            "{} on {who}, {}: {time}\n\n{timeline}\n",
            paint(&ProgramId::of(&program).to_string(), STRONG, colour),
            terminal::workers(workers)
        )?;
        writeln!(out, "Written to {}: open it at https://ui.perfetto.dev.", flags.output.display())?;
    }
    match ran.error {
        Some(why) => Err(Error::FailedBecause(format!("the run is wrong: {why}"))),
        None => Ok(()),
    }
}
