//! What an experiment comes to in one size: its programs, and the cells that are visited.
//!
//! What must always hold: who was asked for and cannot run a program is told with the reason; a name that nobody has is an error.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use filch_catalogue::Workload;
use filch_protocol::{Order, cores};

use super::{Contender, Experiment, Sweep};
use crate::error::Result;
use crate::flags::Size;
use crate::identity::{Placement, ProgramId};
use crate::programs::{fits, parse, workload};
use crate::scheduler::{Foreign, Scheduler, Suited};

/// A program, and what is done with it in one visit.
pub(crate) struct Cell {
    pub(crate) program: usize,
    pub(crate) scheduler: Scheduler,
    pub(crate) workers: usize,
    pub(crate) placement: Placement,
    /// What its runner is asked. It warms up on the quick size.
    pub(crate) order: Order,
    /// Numbers of copies of the sequential program to run side by side after it ran alone.
    pub(crate) copies: Vec<usize>,
}

pub(crate) struct Plan {
    pub(crate) experiment: Option<&'static str>,
    pub(crate) programs: Vec<Workload>,
    pub(crate) ids: Vec<ProgramId>,
    pub(crate) cells: Vec<Cell>,
    /// Who was asked for and cannot run which program, and why.
    pub(crate) left_out: Vec<String>,
}

impl Plan {
    /// The cells, in the order of the experiment.
    pub(crate) fn new(experiment: &Experiment, size: Size) -> Result<Self> {
        let mut plan = Self {
            experiment: experiment.name,
            programs: Vec::new(),
            ids: Vec::new(),
            cells: Vec::new(),
            left_out: Vec::new(),
        };
        let mut guests = Guests::default();
        for entry in &experiment.entries {
            let Some(text) = entry.program.of(size) else { continue };
            for text in Sweep::spread(experiment.sweep.as_ref(), text) {
                plan.add(experiment, parse(&text, size)?, &entry.contenders, &mut guests)?;
            }
        }
        plan.left_out.extend(guests.strangers);
        Ok(plan)
    }

    /// A program and everybody who runs it.
    fn add(
        &mut self,
        experiment: &Experiment,
        program: Workload,
        contenders: &[Contender],
        guests: &mut Guests,
    ) -> Result {
        let copies = copies(&experiment.workers);
        fits(&program, copies.last().copied().unwrap_or(1))?;
        let (index, name) = (self.programs.len(), program.name());
        let warm = warmup(&program)?;
        let cell = |scheduler: Scheduler, workers, placement| {
            let warmup_parameters = Some(scheduler.parameters(&warm));
            let order = Order { warmup: 1, warmup_parameters, ..scheduler.order(&program, workers, placement) };
            Cell { program: index, scheduler, workers, placement, order, copies: Vec::new() }
        };
        for (nth, &placement) in experiment.placements.iter().enumerate() {
            let serial = cell(Scheduler::Serial, 1, placement);
            // The capacity is that of the processors, whoever is bound to them.
            let copies = if nth == 0 { copies.clone() } else { Vec::new() };
            self.cells.push(Cell { copies, ..serial });
        }
        let mut suited: Vec<Scheduler> = Vec::new();
        for contender in contenders {
            for scheduler in candidates(experiment, &program, contender, guests)? {
                match scheduler {
                    Ok(scheduler) if suited.contains(&scheduler) => {}
                    Ok(scheduler) => suited.push(scheduler),
                    Err(why) => self.left_out.push(format!("{name}, {why}")),
                }
            }
        }
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

    /// A cell as messages name it.
    pub(crate) fn describe(&self, cell: usize) -> String {
        let cell = &self.cells[cell];
        format!("{}, {} on {}", self.ids[cell.program], cell.scheduler.identity(cell.placement), cell.workers)
    }
}

/// What a program is warmed up with: its quick size, or itself if it is the same but for being smaller.
fn warmup(program: &Workload) -> Result<Workload> {
    let quick = workload(program.name(), Size::Quick, &[])?;
    let are_alike = program.params().into_iter().skip(1).eq(quick.params().into_iter().skip(1));
    let is_smaller = program.tasks().zip(quick.tasks()).is_some_and(|(tasks, quick)| tasks < quick);
    Ok(if are_alike && is_smaller { program.clone() } else { quick })
}

/// How many copies of the sequential program tell what the processors of so many workers do at once.
fn copies(workers: &[usize]) -> Vec<usize> {
    let mut copies: Vec<usize> = workers.iter().map(|&workers| workers.min(cores())).collect();
    copies.retain(|&copies| copies > 1);
    copies.sort_unstable();
    copies.dedup();
    copies
}

/// Runners that were asked who they are, and what there is to say of those who did not answer.
#[derive(Default)]
struct Guests {
    asked: HashMap<PathBuf, Option<Foreign>>,
    strangers: Vec<String>,
}

impl Guests {
    fn at(&mut self, path: &Path) -> Option<&Foreign> {
        let Self { asked, strangers } = self;
        let ask = || Foreign::at(path).map_err(|why| strangers.push(why)).ok();
        asked.entry(path.to_path_buf()).or_insert_with(ask).as_ref()
    }
}

/// Who a contender is for a program: one, one for each value that is swept, or nobody.
fn candidates(
    experiment: &Experiment,
    program: &Workload,
    contender: &Contender,
    guests: &mut Guests,
) -> Result<Vec<Suited>> {
    Ok(match contender {
        Contender::Pool { name, wait } => {
            let names = Sweep::spread(experiment.sweep.as_ref(), name).into_iter();
            let style = filch_catalogue::Style::Handles;
            names.map(|name| Scheduler::from_pool(program, &name, style, wait)).collect::<Result<_>>()?
        }
        Contender::Peer(name) => vec![Scheduler::from_peer(program, name)?],
        Contender::Runner(path) => {
            guests.at(path).map(|foreign| Scheduler::from_runner(program, foreign)).into_iter().collect()
        }
    })
}
