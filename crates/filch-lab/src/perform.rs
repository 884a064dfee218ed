//! Runs an experiment from its plan to its results.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::base::{Base, Comparison, is_runner};
use crate::columns::Choice;
use crate::conclude::{Conclusion, Found, conclude, conclude_probe};
use crate::earlier::Earlier;
use crate::error::Result;
use crate::experiment::Experiment;
use crate::experiment::claim::{ENOUGH_ROUNDS, RowId};
use crate::experiment::plan::Plan;
use crate::experiment::probe::Probe;
use crate::export::json::{Lines, check_writable};
use crate::flags::{Session as Flags, Size};
use crate::identity::Placement;
use crate::measure::Processes;
use crate::progress::Progress;
use crate::rounds::{RoundLimits, execute};
use crate::runners::{self, Executable};

/// Measures an experiment in this size, and shows the results; the flags override its workers, placement and effort.
pub(crate) fn perform(mut experiment: Experiment, size: Size, flags: &Flags) -> Result<Found> {
    if let Some(probe) = experiment.probe {
        return measure(&experiment, probe, size, flags);
    }
    if let Some(path) = &flags.against.baseline
        && is_runner(path)?
    {
        experiment.baseline = Some(path.clone());
    }
    let choice = Choice::of(flags.tables.columns.as_deref(), experiment.columns)?;
    let comparison = Comparison::of(&flags.against)?;
    if let Some(workers) = &flags.workers {
        experiment.workers = workers.iter().copied().map(usize::from).collect();
    }
    experiment.workers.sort_unstable();
    experiment.workers.dedup();
    if flags.pin {
        experiment.placements = vec![Placement::Pinned];
    }
    let mut plan = Plan::new(&experiment, size)?;
    plan.fits()?;
    plan.leave_out_missing();
    let rows: Vec<RowId> = (0..plan.cells.len()).map(|cell| plan.row(cell)).collect();
    comparison.check(&rows, &plan.left_out)?;
    let json = flags.output.json.as_deref();
    flags.tables.check(json)?;
    let (measured, lines) = match json.filter(|_| flags.resume) {
        Some(path) => (Earlier::read(path, experiment.name, size)?, Some(Lines::append(path)?)),
        None => (Default::default(), json.map(Lines::create).transpose()?),
    };
    if !flags.no_report {
        check_writable(&flags.report)?;
    }
    let programs: BTreeSet<Executable> = plan.cells.iter().map(|cell| cell.scheduler.runner()).collect();
    runners::ready(&programs, !flags.output.quiet)?;
    crate::interrupt::watch()?;
    let effort = experiment.effort;
    let is_asked = comparison.base != Base::Usual;
    let at_least = if is_asked { effort.at_least.max(ENOUGH_ROUNDS) } else { effort.at_least };
    let limits = RoundLimits {
        seed: flags.seed,
        budget: flags.budget.unwrap_or(effort.budget).into(),
        patience: flags.decide.into(),
        at_least: flags.repeat.map_or(at_least, |repeat| repeat as usize),
        at_most: flags.repeat.map_or(effort.at_most, |repeat| repeat as usize),
        visit: effort.visit,
    };
    let limit = Duration::from_secs(flags.timeout.into());
    let mut processes = Processes::new(&experiment, &plan, measured, lines, limit, Progress::new(!flags.output.quiet));
    let finish = execute(plan.cells.len(), &limits, &mut processes);
    let runs = processes.end()?;
    conclude(&Conclusion {
        experiment: &experiment,
        plan: &plan,
        size,
        runs: &runs,
        finish: &finish,
        choice: &choice,
        comparison: &comparison,
        flags,
    })
}

/// Measures by a probe, and shows the results.
fn measure(experiment: &Experiment, probe: &Probe, size: Size, flags: &Flags) -> Result<Found> {
    if !flags.no_report {
        check_writable(&flags.report)?;
    }
    runners::ready(&[probe.program.clone()].into(), !flags.output.quiet)?;
    crate::interrupt::watch()?;
    let kept = flags.output.json.clone().filter(|path| path != Path::new("-"));
    let file = kept.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("filch-{}.jsonl", std::process::id())));
    let lines = probe.run(size, &file, flags.output.quiet);
    if kept.is_none() {
        // It was only the way from that program to this one.
        let _ = std::fs::remove_file(&file);
    }
    conclude_probe(experiment, experiment.findings(&lines?).unwrap_or_default(), flags)
}
