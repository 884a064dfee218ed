//! Runs one program on one scheduler in this process, some number of times, and tells of each run.

use std::cell::Cell;
use std::time::Instant;

use filch::ThreadPool;
use filch::jobs::Jobs;
use filch::pool::Pool;
use filch::worklist::Worklist;
use filch_peers::Peer;
use filch_queue::Queue;
use filch_workloads::{Answer, Executor, FilchClosures, Instance, Kind, Listed, Workload};
use serde_json::Map;

use crate::error::{Result, usage};
use crate::machine::{Load, Machine, Usage, commit, now};
use crate::pools::{PoolUser, Settings, with_pool};
use crate::queues::{ListUser, with_list};
use crate::record::{Run, value};
use crate::scheduler::{Scheduler, Style};

/// Address space for a stack that a program may need: reserved, not used.
const STACK_BYTES: usize = 64 << 20;

/// What to run, on what, how often.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) workload: Workload,
    /// What warms up: the workload itself, or a smaller one.
    pub(crate) warmup_workload: Workload,
    pub(crate) scheduler: Scheduler,
    pub(crate) workers: usize,
    pub(crate) warmup: usize,
    pub(crate) repeat: usize,
    pub(crate) pin: bool,
    pub(crate) copies: usize,
    pub(crate) round: usize,
}

/// Who is told.
pub(crate) trait Watcher: Send {
    /// Everything is ready for the next timed run; returning lets it start.
    fn ready(&mut self) -> Result {
        Ok(())
    }

    /// A run has ended.
    fn ended(&mut self, run: Run) -> Result;
}

/// Runs the job; an answer that is wrong is told, not returned.
pub(crate) fn measure(job: &Job, watcher: &mut dyn Watcher) -> Result {
    let mut instance = job.workload.prepare().map_err(usage)?;
    let needed = usize::try_from(instance.stack_bytes()).unwrap_or(usize::MAX);
    let stack = STACK_BYTES.max(needed);
    let instance = &mut instance;
    if matches!(job.scheduler, Scheduler::Peer(_)) && std::env::var_os("RUST_MIN_STACK").is_none() {
        // SAFETY: this process has only its first thread yet. Peers that leave the stacks of their threads to the
        // standard library get as much as the others.
        unsafe { std::env::set_var("RUST_MIN_STACK", stack.to_string()) };
    }
    std::thread::scope(|scope| {
        // The sequential program and some peers run on the calling thread, whose stack is small.
        let thread = std::thread::Builder::new().stack_size(stack);
        match thread.spawn_scoped(scope, move || measure_here(job, instance, stack, watcher)) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => Err(usage(format!("cannot start a thread with a stack of {} MiB: {error}", stack >> 20))),
        }
    })
}

fn measure_here(job: &Job, instance: &mut Instance, stack: usize, watcher: &mut dyn Watcher) -> Result {
    match &job.scheduler {
        Scheduler::Serial => {
            if job.pin {
                pin_this_thread()?;
            }
            repeat(job, &Sequential, instance, watcher)
        }
        Scheduler::Peer(name) => {
            let peer = Peer::start(name, job.workers, stack).map_err(usage)?;
            if !peer.supports(job.workload.name()) {
                return Err(usage(format!("{name} does not run {}", job.workload.name())));
            }
            repeat(job, &Rival(peer), instance, watcher)
        }
        Scheduler::Filch { pool, style, wait } => {
            let settings = Settings { workers: job.workers, wait: *wait, pin: job.pin };
            with_pool(pool, settings, OnPool { job, style: *style, instance, watcher }).map_err(usage)?
        }
        Scheduler::Worklist(tuning) => {
            with_list(tuning, job.workers, OnList { job, instance, watcher }).map_err(usage)?
        }
    }
}

fn pin_this_thread() -> Result {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    match cores.first() {
        Some(&core) if core_affinity::set_for_current(core) => Ok(()),
        _ => Err(usage("cannot pin this thread to a processor; leave out --pin")),
    }
}

/// An answer, or why there is none.
type Outcome = std::result::Result<Answer, String>;

/// A started scheduler.
trait Contender {
    fn run(&self, instance: &mut Instance) -> Outcome;

    /// Its counters since it was started, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Tasks of the last run, if it has counted them.
    fn tasks(&self) -> Option<u64> {
        None
    }
}

struct Sequential;

impl Contender for Sequential {
    fn run(&self, instance: &mut Instance) -> Outcome {
        Ok(instance.serial())
    }
}

struct Rival(Peer);

impl Contender for Rival {
    fn run(&self, instance: &mut Instance) -> Outcome {
        self.0.run(instance).map_err(|error| error.to_string())
    }
}

struct OnPool<'a> {
    job: &'a Job,
    style: Style,
    instance: &'a mut Instance,
    watcher: &'a mut dyn Watcher,
}

impl PoolUser for OnPool<'_> {
    type Output = Result;

    fn with<P: Pool>(self, pool: &ThreadPool<P>) -> Result
    where
        ThreadPool<P>: Executor,
    {
        match self.style {
            Style::Handles => repeat(self.job, &Handles(pool), self.instance, self.watcher),
            Style::Closures => repeat(self.job, &Closures(pool), self.instance, self.watcher),
        }
    }
}

struct Handles<'a, P: Pool>(&'a ThreadPool<P>);

impl<P: Pool> Contender for Handles<'_, P>
where
    ThreadPool<P>: Executor,
{
    fn run(&self, instance: &mut Instance) -> Outcome {
        Ok(self.0.execute(instance))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        counters(self.0)
    }
}

struct Closures<'a, P: Pool>(&'a ThreadPool<P>);

impl<P: Pool> Contender for Closures<'_, P> {
    fn run(&self, instance: &mut Instance) -> Outcome {
        Ok(self.0.install(|| FilchClosures.execute(instance)))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        counters(self.0)
    }
}

struct OnList<'a> {
    job: &'a Job,
    instance: &'a mut Instance,
    watcher: &'a mut dyn Watcher,
}

impl ListUser for OnList<'_> {
    type Output = Result;

    fn exactly_once<Q: Queue>(self, list: Worklist<Q>) -> Result {
        if self.instance.kind() == Kind::Jobs {
            let run = |instance: &mut Instance, jobs: &Jobs<Q>| Some(instance.run_jobs(jobs));
            let list = Jobs::from(list);
            return repeat(self.job, &List { list, run, counts: Cell::default() }, self.instance, self.watcher);
        }
        let run = |instance: &mut Instance, list: &Worklist<Q>| Some(instance.list_exactly_once(list));
        repeat(self.job, &List { list, run, counts: Cell::default() }, self.instance, self.watcher)
    }

    fn at_least_once<Q: Queue>(self, list: Worklist<Q>) -> Result {
        let run = Instance::list_at_least_once;
        repeat(self.job, &List { list, run, counts: Cell::default() }, self.instance, self.watcher)
    }
}

/// A worklist or a job system, and how it runs a program, if the program permits that.
struct List<L> {
    list: L,
    run: fn(&mut Instance, &L) -> Option<Listed>,
    counts: Cell<Counts>,
}

/// What a worklist has counted in all its runs.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    steals: u64,
    attempts: u64,
    duplicates: Option<u64>,
    /// Of the last run.
    tasks: u64,
}

impl<L> Contender for List<L> {
    fn run(&self, instance: &mut Instance) -> Outcome {
        let name = instance.name();
        let run = (self.run)(instance, &self.list).ok_or_else(|| format!("{name} must not run a task twice"))?;
        let mut counts = self.counts.get();
        counts.steals += run.tallies.iter().map(|tally| tally.stolen).sum::<u64>();
        counts.attempts += run.tallies.iter().map(|tally| tally.attempts).sum::<u64>();
        counts.duplicates = run.duplicates.map(|more| counts.duplicates.unwrap_or(0) + more);
        counts.tasks = run.tasks();
        self.counts.set(counts);
        Ok(run.answer)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counts { steals, attempts, duplicates, .. } = self.counts.get();
        let always = [("steals", steals), ("attempts", attempts)];
        always.into_iter().chain(duplicates.map(|duplicates| ("duplicates", duplicates))).collect()
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.counts.get().tasks)
    }
}

fn counters<P: Pool>(pool: &ThreadPool<P>) -> Vec<(&'static str, u64)> {
    pool.stats().total().each().collect()
}

/// Counters of one run: differences, but for the depth, which is not a count.
fn since(later: &[(&'static str, u64)], earlier: &[(&'static str, u64)]) -> Map<String, serde_json::Value> {
    let difference = |(&(name, later), &(_, earlier)): (&(&str, u64), &(&str, u64))| {
        let value = if name == "peak_depth" { later } else { later.saturating_sub(earlier) };
        (name.to_owned(), value.into())
    };
    later.iter().zip(earlier).map(difference).collect()
}

fn repeat(job: &Job, contender: &impl Contender, instance: &mut Instance, watcher: &mut dyn Watcher) -> Result {
    let workload = &job.workload;
    warm_up(job, contender)?;
    let machine = Machine::here();
    let mut background = Background::default();
    for repeat in 0..job.repeat {
        instance.reset();
        watcher.ready()?;
        let counters = contender.counters();
        let (load, used) = (Load::now(), Usage::now());
        let start = Instant::now();
        let result = contender.run(instance);
        let seconds = start.elapsed().as_secs_f64();
        let (load_after, used_after) = (Load::now(), Usage::now());
        let answer = result.map_err(usage)?;
        let cpu_seconds = used_after.cpu_seconds - used.cpu_seconds;
        background.add(seconds, load_after.busy - load.busy - cpu_seconds, load_after.stolen - load.stolen);
        let error = instance.check(&answer).err();
        watcher.ended(Run {
            workload: workload.name().to_owned(),
            params: workload.params().into_iter().map(|(name, text)| (name.to_owned(), value(&text))).collect(),
            scheduler: job.scheduler.name(),
            pool: job.scheduler.pool(),
            wait: job.scheduler.wait(),
            style: job.scheduler.style(),
            version: version(&job.scheduler),
            workers: job.workers,
            copies: job.copies,
            round: job.round,
            repeat,
            seconds: Some(seconds),
            answer: answer.to_string(),
            correct: error.is_none(),
            error,
            tasks: match job.scheduler {
                Scheduler::Serial => None,
                _ => contender.tasks().or_else(|| instance.tasks(&answer)).or_else(|| workload.tasks()),
            },
            counters: since(&contender.counters(), &counters),
            cpu_seconds,
            others: background.others(),
            stolen: background.stolen(),
            peak_rss_bytes: used_after.peak_rss_bytes,
            at: now(),
            machine: machine.clone(),
            commit: commit(),
        })?;
    }
    Ok(())
}

fn warm_up(job: &Job, contender: &impl Contender) -> Result {
    if job.warmup == 0 {
        return Ok(());
    }
    let mut instance = job.warmup_workload.prepare().map_err(usage)?;
    for _ in 0..job.warmup {
        instance.reset();
        contender.run(&mut instance).map_err(usage)?;
    }
    Ok(())
}

fn version(scheduler: &Scheduler) -> String {
    match scheduler {
        Scheduler::Peer(name) => {
            filch_peers::specs().into_iter().find(|peer| peer.name == name).map(|peer| peer.version).unwrap_or_default()
        }
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// What else the machine did during the timed runs so far.
///
/// The kernel counts in hundredths of a second, so a short run alone says nothing.
#[derive(Debug, Default)]
struct Background {
    wall: f64,
    others: f64,
    stolen: f64,
}

impl Background {
    const SHORTEST: f64 = 0.1;

    fn add(&mut self, wall: f64, others: f64, stolen: f64) {
        self.wall += wall;
        self.others += others;
        self.stolen += stolen;
    }

    fn others(&self) -> f64 {
        self.share(self.others)
    }

    fn stolen(&self) -> f64 {
        self.share(self.stolen)
    }

    fn share(&self, seconds: f64) -> f64 {
        if self.wall < Self::SHORTEST { 0.0 } else { (seconds / self.wall).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_differences_but_depths_are_not() {
        let run = since(&[("steals", 12), ("peak_depth", 9)], &[("steals", 5), ("peak_depth", 8)]);
        assert_eq!(run["steals"], 7);
        assert_eq!(run["peak_depth"], 9);
    }

    #[test]
    fn a_run_shorter_than_the_kernels_clock_says_nothing_of_the_background() {
        let mut background = Background::default();
        background.add(0.01, 0.02, 0.0);
        assert_eq!(background.others(), 0.0);
        background.add(0.99, 0.48, 0.0);
        assert!((background.others() - 0.5).abs() < 1e-12);
    }
}
