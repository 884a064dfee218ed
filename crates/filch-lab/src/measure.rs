//! The visits of a plan, each to a fresh process, and the resulting runs.
//!
//! Invariants: a run is saved, in its file too, before the next one starts; an earlier measurement is not repeated.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use filch_catalogue::protocol::cores;

use crate::earlier::Earlier;
use crate::error::{Error, Result};
use crate::experiment::Experiment;
use crate::experiment::claim::{Decided, RowId, Verdict, decide};
use crate::experiment::plan::{Cell, Plan};
use crate::export::json::Lines;
use crate::identity::Placement;
use crate::progress::Progress;
use crate::record::{Occasion, Run};
use crate::rounds::{Runner, Visit, VisitOutcome};
use crate::scheduler::Scheduler;
use crate::session::{Asked, Trouble};
use crate::stats::Sample;
use crate::summary::summarize;
use crate::terminal::{FAILURE, colour_on_stderr, paint};

/// Runs visits in fresh processes.
pub(crate) struct Processes<'s> {
    experiment: &'s Experiment,
    plan: &'s Plan,
    start: Instant,
    /// The time limit of a visit.
    limit: Duration,
    runs: Vec<Run>,
    earlier: Earlier,
    /// The right answers by program, as far as they were needed.
    references: HashMap<usize, String>,
    failure: Option<Error>,
    lines: Option<Lines>,
    progress: Progress,
}

impl<'s> Processes<'s> {
    /// Starts after these runs.
    pub(crate) fn new(
        experiment: &'s Experiment,
        plan: &'s Plan,
        (runs, earlier): (Vec<Run>, Earlier),
        lines: Option<Lines>,
        limit: Duration,
        progress: Progress,
    ) -> Self {
        let (start, references) = (Instant::now(), HashMap::new());
        Self { experiment, plan, start, limit, runs, earlier, references, failure: None, lines, progress }
    }

    /// Returns all runs, or the error that ended the session.
    pub(crate) fn end(self) -> Result<Vec<Run>> {
        self.progress.end();
        self.failure.map_or(Ok(self.runs), Err)
    }

    fn keep(&mut self, run: Run) -> bool {
        if let Some(lines) = &mut self.lines
            && let Err(error) = lines.write(&run)
        {
            self.fail(error);
            return false;
        }
        if !run.correct && run.seconds.is_some() {
            let why = run.error.as_deref().unwrap_or_default();
            let wrong = paint("wrong answer", FAILURE, colour_on_stderr());
            self.progress.say(&format!("{wrong}: {}, {} on {}: {why}", run.program, run.who, run.workers));
        }
        self.runs.push(run);
        true
    }

    /// Runs copies of a cell; returns the seconds of one timed run, or how the visit ended.
    fn go(&mut self, cell: &'s Cell, visit: Visit, copies: usize) -> std::result::Result<f64, VisitOutcome> {
        // Copies bound to processors would all share the first one.
        let placement = if copies == 1 { cell.placement } else { Placement::Free };
        let first = Occasion { placement, copies, ..self.occasion(cell, visit) };
        if let Some(seconds) = self.earlier.of(first) {
            return Ok(seconds);
        }
        let scheduler = &cell.scheduler;
        let runner = scheduler.runner().path().map_err(|error| self.fail(error))?;
        let limit = Some(self.limit);
        let mut order = cell.order.clone();
        if placement != cell.placement {
            order.settings = scheduler.order(first.workload, cell.workers, placement).settings;
        }
        let asked = Asked { runner: &runner, order: &order, copies, repeats: visit.repeats, limit };
        let mut found: Vec<Run> = Vec::new();
        let outcome = asked.run(&mut |hello, ran| {
            found.push(Occasion { repeat: found.len() / copies, ..first }.ran(hello, ran));
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(Trouble::Interrupted) => return Err(VisitOutcome::Interrupted),
            Err(Trouble::Broken(why)) => return Err(VisitOutcome::Broken(why)),
            Err(Trouble::Refused(why)) => return Err(VisitOutcome::Refused(why)),
            Err(Trouble::Taker(error)) => return Err(self.fail(error)),
        }
        let seconds = Sample::of(found.iter().filter_map(|run| run.seconds));
        if scheduler.is_foreign() {
            let right = self.reference(cell.program)?;
            found.iter_mut().for_each(|run| run.check(&right));
        }
        for run in found {
            if !self.keep(run) {
                return Err(VisitOutcome::Interrupted);
            }
        }
        seconds.map(|sample| sample.median).ok_or_else(|| VisitOutcome::Broken("it returned no times".to_owned()))
    }

    /// Returns a program's right answer, from the sequential program, which checks it.
    fn reference(&mut self, program: usize) -> std::result::Result<String, VisitOutcome> {
        if let Some(known) = self.references.get(&program) {
            return Ok(known.clone());
        }
        let order = Scheduler::Serial.order(&self.plan.programs[program], 1, Placement::Free);
        let runner = Scheduler::Serial.runner().path().map_err(|error| self.fail(error))?;
        let asked = Asked { runner: &runner, order: &order, copies: 1, repeats: 1, limit: Some(self.limit) };
        let mut right = Err(VisitOutcome::Broken("the sequential program gives no right answer".to_owned()));
        let outcome = asked.run(&mut |_, ran| {
            if ran.error.is_none() {
                right = Ok(ran.answer);
            }
            Ok(())
        });
        if matches!(outcome, Err(Trouble::Interrupted)) {
            return Err(VisitOutcome::Interrupted);
        }
        let right = right?;
        self.references.insert(program, right.clone());
        Ok(right)
    }

    /// The first run of a visit.
    fn occasion(&self, cell: &'s Cell, visit: Visit) -> Occasion<'s> {
        Occasion {
            experiment: self.plan.experiment,
            size: Some(self.plan.size),
            workload: &self.plan.programs[cell.program],
            scheduler: &cell.scheduler,
            workers: cell.workers,
            placement: cell.placement,
            copies: 1,
            round: visit.round,
            repeat: 0,
        }
    }

    /// Ends the session with this error.
    fn fail(&mut self, error: Error) -> VisitOutcome {
        self.failure = Some(error);
        VisitOutcome::Interrupted
    }
}

impl Runner for Processes<'_> {
    fn clock(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn run(&mut self, visit: Visit) -> VisitOutcome {
        if crate::interrupt::interrupted() {
            return VisitOutcome::Interrupted;
        }
        let plan = self.plan;
        let cell = &plan.cells[visit.cell];
        let mut seconds = 0.0;
        for &copies in [1].iter().chain(&cell.copies) {
            match self.go(cell, visit, copies) {
                Ok(more) => seconds += more,
                Err(VisitOutcome::Broken(why)) => {
                    self.progress.say(&format!("failed: {}: {why}", plan.describe(visit.cell)));
                    let run = self.occasion(cell, visit).broken(&why);
                    self.keep(run);
                    return VisitOutcome::Broken(why);
                }
                Err(VisitOutcome::Refused(why)) => {
                    self.progress.say(&format!("omitted: {}: {why}", plan.describe(visit.cell)));
                    return VisitOutcome::Refused(why);
                }
                Err(outcome) => return outcome,
            }
        }
        VisitOutcome::Timed(seconds)
    }

    fn undecided(&mut self) -> Vec<usize> {
        let decided = decide(self.experiment, &summarize(&self.runs, &self.plan.ids), cores());
        let rows = |claim: Decided| match claim.verdict {
            Verdict::Undecided { rows, .. } => rows,
            Verdict::Holds | Verdict::DoesNotHold | Verdict::NotTestable(_) => Vec::new(),
        };
        let open: Vec<RowId> = decided.into_iter().flat_map(rows).collect();
        (0..self.plan.cells.len()).filter(|&cell| open.contains(&self.plan.row(cell))).collect()
    }

    fn progress(&mut self, next: Visit, done: usize, planned: usize, left: f64) {
        self.progress.show(done, planned, left, self.plan.describe(next.cell));
    }
}
