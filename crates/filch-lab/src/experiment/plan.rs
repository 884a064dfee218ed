//! The plan of an experiment in one size: its programs, and the cells to visit.
//!
//! Invariants: a requested scheduler that cannot run a program is reported with the reason; an unknown name is an
//! error.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use filch_catalogue::Workload;
use filch_catalogue::protocol::{Order, cores};

use super::claim::RowId;
use super::{Contender, Experiment, Sweep};
use crate::adapters;
use crate::error::Result;
use crate::flags::Size;
use crate::identity::{Placement, ProgramId};
use crate::programs::{fits, unchecked};
use crate::runners::Executable;
use crate::scheduler::{Foreign, Scheduler, Suited};

/// A program, and the work of one visit to it.
pub(crate) struct Cell {
    pub(crate) program: usize,
    pub(crate) scheduler: Scheduler,
    pub(crate) workers: usize,
    pub(crate) placement: Placement,
    /// The request to the runner. It warms up on the quick size.
    pub(crate) order: Order,
    /// The numbers of copies of the sequential program to run side by side after it ran alone.
    pub(crate) copies: Vec<usize>,
}

pub(crate) struct Plan {
    pub(crate) experiment: Option<&'static str>,
    pub(crate) size: Size,
    pub(crate) programs: Vec<Workload>,
    pub(crate) ids: Vec<ProgramId>,
    pub(crate) cells: Vec<Cell>,
    /// The requested schedulers that cannot run a program, with reasons.
    pub(crate) left_out: Vec<String>,
}

impl Plan {
    /// Makes the cells, in the order of the experiment, whatever memory there is: see [`Plan::fits`].
    pub(crate) fn new(experiment: &Experiment, size: Size) -> Result<Self> {
        let mut plan = Self {
            experiment: experiment.name,
            size,
            programs: Vec::new(),
            ids: Vec::new(),
            cells: Vec::new(),
            left_out: Vec::new(),
        };
        let guests = Guests::of(experiment);
        for entry in &experiment.entries {
            let Some(text) = entry.program.of(size) else { continue };
            let baseline = experiment.baseline.iter().cloned().map(Contender::Runner);
            let contenders: Vec<Contender> = entry.contenders.iter().cloned().chain(baseline).collect();
            for text in Sweep::spread(experiment.sweep.as_ref(), text) {
                plan.add(experiment, unchecked(&text, size)?, &contenders, &guests)?;
            }
        }
        plan.left_out.extend(guests.strangers);
        Ok(plan)
    }

    /// Adds a program and all its contenders.
    fn add(&mut self, experiment: &Experiment, program: Workload, contenders: &[Contender], guests: &Guests) -> Result {
        let copies = copies(&experiment.workers);
        let (index, name) = (self.programs.len(), program.name());
        let warm = warmup(&program)?;
        let cell = |scheduler: Scheduler, workers, placement| {
            let warmup_parameters = Some(scheduler.parameters(&warm));
            let order = scheduler.order(&program, workers, placement);
            let order = Order { warmup: 1, warmup_parameters, cold: experiment.is_about_starts(), ..order };
            Cell { program: index, scheduler, workers, placement, order, copies: Vec::new() }
        };
        for (nth, &placement) in experiment.placements.iter().enumerate() {
            let serial = cell(Scheduler::Serial, 1, placement);
            // The capacity belongs to the processors, whatever the placement.
            let copies = if nth == 0 { copies.clone() } else { Vec::new() };
            self.cells.push(Cell { copies, ..serial });
        }
        let (suited, left_out) = schedulers(experiment, &program, contenders, guests)?;
        self.left_out.extend(left_out.into_iter().map(|why| format!("{name}, {why}")));
        for scheduler in suited {
            for &placement in &experiment.placements {
                if placement == Placement::Pinned && !scheduler.can_be_pinned() {
                    let who = scheduler.identity(Placement::Free);
                    self.left_out.push(format!("{name}, {who}: its workers cannot be bound to processors"));
                    continue;
                }
                for &workers in &experiment.workers {
                    match scheduler.why_not_with(workers) {
                        Some(why) => self.left_out.push(format!("{name}, {why}")),
                        None => self.cells.push(cell(scheduler.clone(), workers, placement)),
                    }
                }
            }
        }
        self.ids.push(ProgramId::of(&program));
        self.programs.push(program);
        Ok(())
    }

    /// Fails unless each program fits into memory, also as the copies that run side by side.
    pub(crate) fn fits(&self) -> Result {
        let copies = |index| {
            let cells = self.cells.iter().filter(move |cell| cell.program == index);
            cells.flat_map(|cell| cell.copies.iter().copied()).max().unwrap_or(1)
        };
        self.programs.iter().enumerate().try_for_each(|(index, program)| fits(program, copies(index)))
    }

    /// Leaves out the peers whose runners are missing.
    pub(crate) fn leave_out_missing(&mut self) {
        let missing = |cell: &Cell| match cell.scheduler.runner() {
            Executable::Added(name) => adapters::why_not(&name),
            _ => None,
        };
        let mut reasons: Vec<String> = self.cells.iter().filter_map(missing).collect();
        reasons.dedup();
        self.cells.retain(|cell| missing(cell).is_none());
        for reason in reasons {
            if !self.left_out.contains(&reason) {
                self.left_out.push(reason);
            }
        }
    }

    /// The row of a cell's runs.
    pub(crate) fn row(&self, cell: usize) -> RowId {
        let cell = &self.cells[cell];
        let who = cell.scheduler.identity(cell.placement);
        RowId { program: self.ids[cell.program].clone(), who, workers: cell.workers }
    }

    /// Describes a cell for messages.
    pub(crate) fn describe(&self, cell: usize) -> String {
        let RowId { program, who, workers } = self.row(cell);
        format!("{program}, {who} on {workers}")
    }
}

/// The program for warming up: the quick size, or the program itself if it is smaller.
fn warmup(program: &Workload) -> Result<Workload> {
    let quick = unchecked(program.name(), Size::Quick)?;
    let are_alike = program.params().into_iter().skip(1).eq(quick.params().into_iter().skip(1));
    let has_fewer_tasks = program.tasks().zip(quick.tasks()).is_some_and(|(tasks, quick)| tasks < quick);
    let needs_less_memory = program.memory_bytes() < quick.memory_bytes();
    Ok(if are_alike && has_fewer_tasks || needs_less_memory { program.clone() } else { quick })
}

/// The numbers of copies of the sequential program that measure the capacity for these numbers of workers.
fn copies(workers: &[usize]) -> Vec<usize> {
    let mut copies: Vec<usize> = workers.iter().map(|&workers| workers.min(cores())).collect();
    copies.retain(|&copies| copies > 1);
    copies.sort_unstable();
    copies.dedup();
    copies
}

/// Users' runners, which were asked to identify themselves, and messages about those that did not answer.
pub(crate) struct Guests {
    known: HashMap<PathBuf, Foreign>,
    pub(crate) strangers: Vec<String>,
}

impl Guests {
    /// Asks the runners of all contenders. Several with one name are told apart by their paths; the baseline is known
    /// by its path.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let contenders = experiment.entries.iter().flat_map(|entry| &entry.contenders);
        let paths: BTreeSet<&PathBuf> =
            contenders.filter_map(Contender::as_runner).chain(&experiment.baseline).collect();
        let (mut known, mut strangers) = (HashMap::new(), Vec::new());
        for path in paths {
            match Foreign::at(path) {
                Ok(foreign) => _ = known.insert(path.clone(), foreign),
                Err(why) => strangers.push(why),
            }
        }
        let names: Vec<String> = known.values().map(|foreign: &Foreign| foreign.name().to_owned()).collect();
        for (path, foreign) in &mut known {
            let is_baseline = experiment.baseline.as_ref() == Some(path);
            if is_baseline || names.iter().filter(|name| *name == foreign.name()).count() > 1 {
                foreign.is_built_at(path);
            }
        }
        Self { known, strangers }
    }
}

/// Returns the schedulers of these contenders for a program, each once, and why others cannot run it.
pub(crate) fn schedulers(
    experiment: &Experiment,
    program: &Workload,
    contenders: &[Contender],
    guests: &Guests,
) -> Result<(Vec<Scheduler>, Vec<String>)> {
    let (mut suited, mut left_out) = (Vec::new(), Vec::new());
    for contender in contenders {
        for scheduler in candidates(experiment, program, contender, guests)? {
            match scheduler {
                Ok(scheduler) if suited.contains(&scheduler) => {}
                Ok(scheduler) => suited.push(scheduler),
                Err(why) => left_out.push(why),
            }
        }
    }
    Ok((suited, left_out))
}

/// Returns a contender's schedulers for a program: one, one per swept value, or none.
fn candidates(
    experiment: &Experiment,
    program: &Workload,
    contender: &Contender,
    guests: &Guests,
) -> Result<Vec<Suited>> {
    Ok(match contender {
        Contender::Pool { name, wait } => {
            let names = Sweep::spread(experiment.sweep.as_ref(), name).into_iter();
            names.map(|name| Scheduler::from_pool(program, &name, wait)).collect::<Result<_>>()?
        }
        Contender::Peer(name) => vec![Scheduler::from_peer(program, name)?],
        Contender::Runner(path) => {
            guests.known.get(path).map(|foreign| Scheduler::from_runner(program, foreign)).into_iter().collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_warm_up_is_longer_than_the_program() {
        let warms_up_itself = |text: &str| {
            let program = unchecked(text, Size::Quick).unwrap_or_else(|_| panic!("{text} is a program"));
            let warm = warmup(&program).unwrap_or_else(|_| panic!("{text} can be warmed up"));
            warm.params() == program.params()
        };
        for small in ["fib:n=20", "mis:graph=rmat:n=1000:grain=leaves", "hull:n=1000:input=plummer"] {
            assert!(warms_up_itself(small), "{small}");
        }
        // The number of sleeping leaves does not say how long they sleep.
        for large in ["fib:n=40", "mis:graph=grid:n=500000", "hull:n=2000000:grain=leaves", "spread:n=2:micros=100000"]
        {
            assert!(!warms_up_itself(large), "{large}");
        }
    }
}
