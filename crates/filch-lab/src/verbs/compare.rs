//! `filch compare`: schedulers side by side, each run in a process of its own, in shuffled order.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::time::{Duration, Instant};

use filch_protocol::{Machine, Order, cores};
use filch_schedulers::{Style, wait};
use filch_workloads::{Kind, Workload};

use crate::columns::Choice;
use crate::earlier::Earlier;
use crate::error::{Error, Result, usage};
use crate::export::json::{Lines, check_writable, write_file};
use crate::export::{html, table};
use crate::flags::{Compare as Flags, Size};
use crate::plan::{Finish, Outcome, Runner, Settings, Visit, execute};
use crate::progress::Progress;
use crate::record::{Occasion, Run, title};
use crate::runners::{self, Executable};
use crate::scheduler::{Foreign, STYLED, Scheduler};
use crate::session::{Asked, Trouble};
use crate::stats::Sample;
use crate::summary::{Program, facts, summarize};
use crate::terminal::{colour, colour_on_stderr, paint, width};
use crate::verbs::{assignment, fits, workload};
use crate::warnings::{Warning, warnings};

/// What is compared unless something else is asked for: on two processors a session of about one minute.
const PROGRAMS: &[&str] =
    &["fib", "fib-unrolled", "queens", "uts:tree=T1S", "uts:tree=T3S", "matmul", "cilksort", "spread", "grain"];
/// The same with --quick: UTS's trees are as large as they are, so a part of one stands in for them.
const QUICK_PROGRAMS: &[&str] = &["fib", "fib-unrolled", "queens", "uts", "matmul", "cilksort", "spread", "grain"];
/// What there is besides every program with its own defaults.
const VARIANTS: &[&str] = &[
    "uts:tree=T3,b=60",
    "cilksort:input=exponential",
    "quicksort:input=exponential",
    "samplesort:input=exponential",
    "knapsack:input=independent,items=22",
    "hull:input=plummer",
    "spread:shape=list",
    "spread:shape=forks",
    "spread:shape=loop",
    "mis:graph=randlocal",
    "mis:graph=rmat",
    "matching:graph=randlocal",
    "matching:graph=rmat",
    "pseudo-dfs:graph=randlocal",
    "pseudo-dfs:graph=rmat",
    "closure:graph=torus",
    "spanning-tree:graph=random",
    "trees:tree=fat,fanout=40,depth=3",
    "trees:tree=comb,depth=50000",
];
const POOLS: &[&str] = &["split", "chase-lev"];
const PEERS: &[&str] = &["rayon", "chili", "lace-ws"];
/// The queues of worklist programs; the last one for tasks that may be run twice.
const LISTS: &[&str] = &["chase-lev", "lace", "bwos-l", "pdq-r", "idem-lifo"];

const ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 30;

pub(crate) fn compare(flags: &Flags) -> Result {
    let choice = Choice::of(flags.columns.as_deref())?;
    let session = Session::new(flags)?;
    let json = flags.output.json.as_deref();
    let ((runs, earlier), mut lines) = match json.filter(|_| flags.resume) {
        Some(path) => (Earlier::read(path)?, Some(Lines::append(path)?)),
        None => (Default::default(), json.map(Lines::create).transpose()?),
    };
    if !flags.no_report {
        check_writable(&flags.report)?;
    }
    let programs: BTreeSet<Executable> = session.cells.iter().map(|cell| cell.scheduler.runner()).collect();
    runners::ready(&programs, !flags.output.quiet)?;
    crate::interrupt::watch()?;
    let budget = flags.budget.unwrap_or(match (flags.all, flags.quick) {
        (true, _) => 180,
        (_, true) => 15,
        _ => 60,
    });
    let settings = Settings {
        seed: flags.seed,
        budget: f64::from(budget),
        at_least: flags.repeat.map_or(if flags.all { 1 } else { ROUNDS }, |repeat| repeat as usize),
        at_most: flags.repeat.map_or(MOST_ROUNDS, |repeat| repeat as usize),
        visit: if flags.quick || flags.all { 0.05 } else { 0.15 },
    };
    let mut processes = Processes {
        session: &session,
        start: Instant::now(),
        limit: Duration::from_secs(flags.timeout.into()),
        runs,
        earlier,
        references: HashMap::new(),
        failure: None,
        lines: lines.as_mut(),
        progress: Progress::new(!flags.output.quiet),
    };
    let finish = execute(session.cells.len(), &settings, &mut processes);
    processes.progress.end();
    if let Some(error) = processes.failure {
        return Err(error);
    }
    let runs = processes.runs;
    conclude(flags, &choice, &session, &runs, &finish)
}

/// A program, and what is done with it in one visit.
struct Cell {
    program: usize,
    scheduler: Scheduler,
    workers: usize,
    /// What its runner is asked. It warms up on the quick size.
    order: Order,
    /// Numbers of copies of the sequential program to run side by side after it ran alone.
    copies: Vec<usize>,
}

struct Session {
    programs: Vec<Workload>,
    titles: Vec<String>,
    size: Size,
    cells: Vec<Cell>,
    /// Who was asked for and cannot run which program, and why.
    left_out: Vec<String>,
}

impl Session {
    fn new(flags: &Flags) -> Result<Self> {
        let default = if flags.quick || flags.all { Size::Quick } else { Size::Compare };
        let size = flags.size.unwrap_or(default);
        let programs = programs(flags, size)?;
        let workers = workers(flags);
        let wait = wait(flags.wait.as_deref()).map_err(usage)?;
        let mut copies: Vec<usize> = workers.iter().map(|&workers| workers.min(cores())).collect();
        copies.retain(|&copies| copies > 1);
        copies.sort_unstable();
        copies.dedup();
        let (mut cells, mut left_out) = (Vec::new(), Vec::new());
        let mut brought = Vec::new();
        for runner in &flags.runners {
            match Foreign::at(runner) {
                Ok(foreign) => brought.push(foreign),
                Err(why) => left_out.push(why),
            }
        }
        for (index, workload) in programs.iter().enumerate() {
            fits(workload, copies.last().copied().unwrap_or(1))?;
            let warm = super::workload(workload.name(), Size::Quick, &[])?;
            let cell = |scheduler: Scheduler, workers| {
                let warmup_parameters = Some(scheduler.parameters(&warm));
                let order = Order { warmup: 1, warmup_parameters, ..scheduler.order(workload, workers) };
                Cell { program: index, scheduler, workers, order, copies: Vec::new() }
            };
            cells.push(Cell { copies: copies.clone(), ..cell(Scheduler::Serial, 1) });
            let (suited, unsuited) = schedulers(flags, workload, wait)?;
            left_out.extend(unsuited.into_iter().map(|why| format!("{}, {why}", workload.name())));
            for scheduler in suited {
                cells.extend(workers.iter().map(|&workers| cell(scheduler.clone(), workers)));
            }
            for (foreign, &workers) in brought.iter().flat_map(|foreign| workers.iter().map(move |n| (foreign, n))) {
                match Scheduler::from_runner(workload, foreign, workers) {
                    Ok(scheduler) => cells.push(cell(scheduler, workers)),
                    Err(why) => left_out.push(format!("{}, {why}", workload.name())),
                }
            }
        }
        let titles = programs
            .iter()
            .map(|workload| {
                let params = workload.params().into_iter().map(|(name, text)| (name.to_owned(), text));
                title(workload.name(), &params.collect::<Vec<_>>())
            })
            .collect();
        Ok(Self { programs, titles, size, cells, left_out })
    }

    fn describe(&self, cell: usize) -> String {
        let cell = &self.cells[cell];
        format!("{}, {} on {}", self.titles[cell.program], cell.scheduler.label(), cell.workers)
    }
}

/// The programs asked for, written as `fib:n=40,cutoff=3`.
fn programs(flags: &Flags, size: Size) -> Result<Vec<Workload>> {
    let known: Vec<&str> = filch_workloads::specs().iter().map(|spec| spec.name).collect();
    let mut wanted: Vec<String> = Vec::new();
    let default = if size == Size::Quick { QUICK_PROGRAMS } else { PROGRAMS };
    let all = || default.iter().filter(|program| known.contains(&name_of(program)));
    if flags.all {
        wanted.extend(known.iter().chain(VARIANTS).map(ToString::to_string));
        // Next to each other what is of one name.
        wanted.sort_by_key(|program| known.iter().position(|name| *name == name_of(program)));
    } else if flags.workloads.is_empty() {
        wanted.extend(all().map(ToString::to_string));
    }
    for given in &flags.workloads {
        // A bare name stands for all its variants.
        let variants: Vec<String> =
            all().filter(|program| name_of(program) == given).map(ToString::to_string).collect();
        if variants.is_empty() { wanted.push(given.clone()) } else { wanted.extend(variants) }
    }
    wanted
        .iter()
        .map(|text| {
            let (name, set) = text.split_once(':').unwrap_or((text, ""));
            let set = set.split(',').filter(|text| !text.is_empty()).map(assignment).collect::<Result<Vec<_>>>()?;
            workload(name, size, &set)
        })
        .collect()
}

fn name_of(program: &str) -> &str {
    program.split(':').next().unwrap_or(program)
}

fn workers(flags: &Flags) -> Vec<usize> {
    let mut workers: Vec<usize> = match &flags.workers {
        Some(workers) => workers.iter().map(|&workers| usize::from(workers)).collect(),
        None => vec![1, cores()],
    };
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// Who runs a program, and who was asked for by name and cannot.
fn schedulers(flags: &Flags, workload: &Workload, wait: filch::Wait) -> Result<(Vec<Scheduler>, Vec<String>)> {
    let named = |list: &Option<Vec<String>>| -> Option<Vec<String>> {
        list.as_ref().map(|names| names.iter().filter(|name| !name.is_empty()).cloned().collect())
    };
    let from_pool = |name: &str| Scheduler::from_pool(workload, name, Style::Handles, wait);
    let from_peer = |name: &str| Scheduler::from_peer(workload, name);
    let pools = match named(&flags.pools) {
        Some(names) => {
            names.iter().filter(|name| *name != "serial").map(|name| from_pool(name)).collect::<Result<_>>()?
        }
        None => default_pools(workload).into_iter().map(from_pool).collect::<Result<Vec<_>>>()?,
    };
    let peers = match named(&flags.peers) {
        Some(names) => names.iter().map(|name| from_peer(name)).collect::<Result<_>>()?,
        None => default_peers(workload).into_iter().map(from_peer).collect::<Result<Vec<_>>>()?,
    };
    let (mut suited, mut unsuited) = (Vec::new(), Vec::new());
    for scheduler in pools.into_iter().chain(peers) {
        match scheduler {
            Ok(scheduler) => suited.push(scheduler),
            Err(why) => unsuited.push(why),
        }
    }
    suited.dedup();
    Ok((suited, unsuited))
}

fn default_pools(workload: &Workload) -> Vec<&'static str> {
    match workload.kind() {
        // Where forks are all there is, in each style.
        Kind::ForkJoin if workload.name() == "fib" => {
            POOLS.iter().copied().chain(STYLED.iter().map(|&(name, ..)| name)).collect()
        }
        Kind::ForkJoin => POOLS.to_vec(),
        _ => LISTS.iter().copied().filter(|&name| name != "idem-lifo" || workload.is_idempotent()).collect(),
    }
}

fn default_peers(workload: &Workload) -> Vec<&'static str> {
    if workload.kind() == Kind::ForkJoin { PEERS.to_vec() } else { Vec::new() }
}

/// Runs visits in fresh processes.
struct Processes<'s> {
    session: &'s Session,
    start: Instant,
    limit: Duration,
    runs: Vec<Run>,
    earlier: Earlier,
    /// The right answers, by program, as far as somebody had to know them.
    references: HashMap<usize, String>,
    failure: Option<Error>,
    lines: Option<&'s mut Lines>,
    progress: Progress,
}

impl Processes<'_> {
    fn keep(&mut self, run: Run) -> bool {
        if let Some(lines) = &mut self.lines
            && let Err(error) = lines.write(&run)
        {
            self.fail(error);
            return false;
        }
        if !run.correct && run.seconds.is_some() {
            let why = run.error.as_deref().unwrap_or_default();
            let wrong = paint("wrong answer", "1;31", colour_on_stderr());
            self.progress.say(&format!("{wrong}: {}, {} on {}: {why}", run.program(), run.label(), run.workers));
        }
        self.runs.push(run);
        true
    }

    /// Runs copies of a cell and gives the seconds of one timed run, or how it ended instead.
    fn go(&mut self, cell: &Cell, visit: Visit, copies: usize) -> std::result::Result<f64, Outcome> {
        let workload = &self.session.programs[cell.program];
        let (scheduler, workers, round) = (&cell.scheduler, cell.workers, visit.round);
        let first = Occasion { workload, scheduler, workers, copies, round, repeat: 0 };
        if let Some(seconds) = self.earlier.of(first) {
            return Ok(seconds);
        }
        let runner = scheduler.runner().path().map_err(|error| self.fail(error))?;
        let limit = Some(self.limit);
        let asked = Asked { runner: &runner, order: &cell.order, copies, repeats: visit.repeats, limit };
        let mut found: Vec<Run> = Vec::new();
        let outcome = asked.run(&mut |hello, ran| {
            found.push(Occasion { repeat: found.len() / copies, ..first }.ran(hello, ran));
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(Trouble::Interrupted) => return Err(Outcome::Interrupted),
            Err(Trouble::Broken(why)) => return Err(Outcome::Broken(why)),
            Err(Trouble::Refused(why)) => return Err(Outcome::Refused(why)),
            Err(Trouble::Taker(error)) => return Err(self.fail(error)),
        }
        let seconds = Sample::of(found.iter().filter_map(|run| run.seconds));
        if matches!(scheduler, Scheduler::Foreign(_)) {
            let right = self.reference(cell.program)?;
            for run in &mut found {
                if !agree(&run.answer, &right) {
                    run.correct = false;
                    run.error = Some(format!("the answer is {}, but it should be {right}", run.answer));
                }
            }
        }
        for run in found {
            if !self.keep(run) {
                return Err(Outcome::Interrupted);
            }
        }
        seconds.map(|sample| sample.median).ok_or_else(|| Outcome::Broken("it measured nothing".to_owned()))
    }

    /// What a program's answer should be: what the sequential program says, which checks it.
    fn reference(&mut self, program: usize) -> std::result::Result<String, Outcome> {
        if let Some(known) = self.references.get(&program) {
            return Ok(known.clone());
        }
        let order = Scheduler::Serial.order(&self.session.programs[program], 1);
        let runner = Scheduler::Serial.runner().path().map_err(|error| self.fail(error))?;
        let asked = Asked { runner: &runner, order: &order, copies: 1, repeats: 1, limit: Some(self.limit) };
        let mut right = Err(Outcome::Broken("the sequential program gives no right answer".to_owned()));
        let outcome = asked.run(&mut |_, ran| {
            if ran.error.is_none() {
                right = Ok(ran.answer);
            }
            Ok(())
        });
        if matches!(outcome, Err(Trouble::Interrupted)) {
            return Err(Outcome::Interrupted);
        }
        let right = right?;
        self.references.insert(program, right.clone());
        Ok(right)
    }

    /// The line of a run that broke.
    fn broken(&self, cell: &Cell, visit: Visit, why: &str) -> Run {
        let workload = &self.session.programs[cell.program];
        let (scheduler, workers, round) = (&cell.scheduler, cell.workers, visit.round);
        Occasion { workload, scheduler, workers, copies: 1, round, repeat: 0 }.broken(why)
    }

    /// The session ends with this error.
    fn fail(&mut self, error: Error) -> Outcome {
        self.failure = Some(error);
        Outcome::Interrupted
    }
}

impl Runner for Processes<'_> {
    fn clock(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn run(&mut self, visit: Visit) -> Outcome {
        if crate::interrupt::interrupted() {
            return Outcome::Interrupted;
        }
        let session = self.session;
        let cell = &session.cells[visit.cell];
        let mut seconds = 0.0;
        for &copies in [1].iter().chain(&cell.copies) {
            match self.go(cell, visit, copies) {
                Ok(more) => seconds += more,
                Err(Outcome::Broken(why)) => {
                    self.progress.say(&format!("broken: {}: {why}", session.describe(visit.cell)));
                    let run = self.broken(cell, visit, &why);
                    self.keep(run);
                    return Outcome::Broken(why);
                }
                Err(Outcome::Refused(why)) => {
                    self.progress.say(&format!("left out: {}: {why}", session.describe(visit.cell)));
                    return Outcome::Refused(why);
                }
                Err(outcome) => return outcome,
            }
        }
        Outcome::Timed(seconds)
    }

    fn progress(&mut self, next: Visit, done: usize, planned: usize, left: f64) {
        self.progress.show(done, planned, left, self.session.describe(next.cell));
    }
}

/// Whether two answers are the same, but for the last digits of a real number: sums depend on their order.
fn agree(one: &str, other: &str) -> bool {
    const TOLERANCE: f64 = 1e-6;
    one == other
        || one.parse().ok().zip(other.parse().ok()).is_some_and(|(one, other): (f64, f64)| {
            other.fract() != 0.0 && (one - other).abs() <= TOLERANCE * other.abs()
        })
}

/// Shows what was measured, and fails if a check did.
fn conclude(flags: &Flags, choice: &Choice, session: &Session, runs: &[Run], finish: &Finish) -> Result {
    if runs.is_empty() {
        return Err(usage("interrupted before anything was measured"));
    }
    let programs = summarize(runs, &session.titles);
    let mut doubts = warnings(runs, &programs);
    if finish.interrupted {
        doubts.insert(0, Warning::Interrupted);
    }
    let refused = finish.refused.iter().map(|(cell, why)| format!("{} ({why})", session.describe(*cell)));
    let left_out: Vec<String> = refused.chain(session.left_out.iter().cloned()).collect();
    if !left_out.is_empty() {
        doubts.push(Warning::Refused(left_out));
    }
    if !flags.no_report {
        write_file(&flags.report, &html::report(runs, &programs, choice, &doubts))?;
    }
    let stdout_is_json = flags.output.json.as_deref().is_some_and(|path| path == std::path::Path::new("-"));
    if !stdout_is_json && !flags.output.quiet {
        show(&programs, choice, &doubts, flags, session.size)?;
    }
    if programs.iter().all(Program::all_right) || !doubts.iter().any(Warning::is_failure) {
        return Ok(());
    }
    for failure in doubts.iter().filter(|doubt| doubt.is_failure()) {
        eprintln!("filch: {failure}");
    }
    Err(Error::Failed)
}

fn show(programs: &[Program], choice: &Choice, doubts: &[Warning], flags: &Flags, size: Size) -> Result {
    let look = table::Look { colour: colour(), width: width(), cores: cores() };
    let mut out = std::io::stdout().lock();
    let machine = Machine::here();
    writeln!(out, "\n{}", paint(&machine.summary(), "2", look.colour))?;
    for program in programs {
        writeln!(out, "\n{}", table::program(program, choice, look))?;
    }
    writeln!(out, "{}", paint(&table::legend(programs, choice, look), "2", look.colour))?;
    for fact in facts(programs, look.cores) {
        writeln!(out, "{}  {}", paint(&fact.figure, "1;36", look.colour), fact.sentence)?;
    }
    if size == Size::Quick {
        writeln!(out, "{}", paint("Sizes are small: larger ones give steadier numbers.", "2", look.colour))?;
    }
    for doubt in doubts {
        let code = if doubt.is_failure() { "1;31" } else { "33" };
        writeln!(out, "\n{} {}", paint(&doubt.to_string(), code, look.colour), doubt.remedy())?;
    }
    if !flags.no_report {
        writeln!(out, "\nReport: {}", paint(&flags.report.display().to_string(), "4", look.colour))?;
    }
    out.flush()?;
    Ok(())
}
