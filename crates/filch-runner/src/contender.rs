//! A started scheduler, whatever its type.

use std::cell::RefCell;

use filch::ThreadPool;
use filch::jobs::{self, Jobs};
use filch::pool::Pool;
use filch::worklist::{self, StartError, Worklist};
use filch_queue::Queue;
use filch_workloads::{Answer, Instance, Kind, Listed};

use crate::counting::Threads;
use crate::serial::pin_this_thread;

/// Counts by name, in a fixed order.
pub type Counts = Vec<(&'static str, u64)>;

/// What a scheduler has counted since it was started.
///
/// ```
/// use filch_runner::Counters;
///
/// let counters = Counters::of_workers(vec![vec![("steals", 2), ("peak_depth", 7)], vec![("steals", 1), ("peak_depth", 9)]]);
/// assert_eq!(counters.total, [("steals", 3), ("peak_depth", 9)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All workers together.
    pub total: Counts,
    /// Each worker, in the order of their numbers; none if it does not count for each.
    pub workers: Vec<Counts>,
}

/// The name of the only counter that is not a count: its largest value stands for several workers, and the last one for a time.
pub(crate) const PEAK_DEPTH: &str = "peak_depth";

impl Counters {
    /// Workers, all of which count the same.
    pub fn of_workers(workers: Vec<Counts>) -> Self {
        let mut total: Counts = Vec::new();
        for worker in &workers {
            if total.is_empty() {
                total.clone_from(worker);
                continue;
            }
            for ((name, sum), (_, count)) in total.iter_mut().zip(worker) {
                *sum = if *name == PEAK_DEPTH { *count.max(sum) } else { *sum + count };
            }
        }
        Self { total, workers }
    }

    /// What was counted since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let difference = |(&(name, later), &(_, earlier)): (&(_, u64), &(_, u64))| {
            (name, if name == PEAK_DEPTH { later } else { later.saturating_sub(earlier) })
        };
        let differences = |later: &Counts, earlier: &Counts| later.iter().zip(earlier).map(difference).collect();
        let workers = self.workers.iter().zip(&earlier.workers);
        Self {
            total: differences(&self.total, &earlier.total),
            workers: workers.map(|(later, earlier)| differences(later, earlier)).collect(),
        }
    }
}

/// A started scheduler.
///
/// ```
/// use filch_runner::{Contender, Sequential};
/// use filch_workloads::{Prepare, Workload};
///
/// let mut queens = Workload::new("queens", &[("n".into(), "8".into())]).and_then(|made| made.prepare()).unwrap();
/// assert_eq!(Sequential.run(&mut queens)?.to_string(), "92");
/// # Ok::<(), String>(())
/// ```
pub trait Contender {
    /// Runs a program; an error if this scheduler cannot.
    ///
    /// # Panics
    /// If the program is not of a kind that it can run: see [`Instance::kind`].
    fn run(&self, instance: &mut Instance) -> Result<Answer, String>;

    /// Begins afresh with whatever belongs to one run and is not the difference of two counts. Called before each run, untimed.
    fn forget_last_run(&self) {}

    /// Its counters since it was started. Called before and after each run, untimed.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Tasks that were pushed in the last run, if it has counted them.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// What is wrong with the last run, as far as the scheduler can tell by its counts: a sentence.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// Whether a program's forks are tasks here.
    fn counts_tasks(&self) -> bool {
        true
    }
}

/// A thread pool, and how a program's forks reach it.
pub(crate) struct Pooled<P: Pool> {
    pool: ThreadPool<P>,
    run: fn(&ThreadPool<P>, &mut Instance) -> Answer,
    threads: Threads,
}

impl<P: Pool> Pooled<P> {
    /// Of a pool whose workers have entered themselves in the list of threads, or will.
    pub(crate) fn boxed(
        pool: ThreadPool<P>,
        threads: Threads,
        run: fn(&ThreadPool<P>, &mut Instance) -> Answer,
    ) -> Box<dyn Contender> {
        Box::new(Self { pool, run, threads })
    }
}

impl<P: Pool> Contender for Pooled<P> {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        Ok((self.run)(&self.pool, instance))
    }

    fn forget_last_run(&self) {
        self.pool.forget_peak_depth();
    }

    fn counters(&self) -> Counters {
        let stats = self.pool.stats();
        let worker =
            |(index, worker): (usize, &filch::WorkerStats)| worker.each().chain(self.threads.counts(index)).collect();
        Counters::of_workers(stats.workers.iter().enumerate().map(worker).collect())
    }
}

/// A worklist or, for job programs, a job system on a queue that returns each task once. Its threads are running.
///
/// # Errors
/// If the system refuses a thread, or to pin one: a sentence.
pub(crate) fn exactly_once<Q: Queue>(list: Worklist<Q>, kind: Kind, pin: bool) -> Result<Box<dyn Contender>, String> {
    let list = list.pin(pin);
    if kind == Kind::Jobs {
        let run = |instance: &mut Instance, team: &mut jobs::Team<Q>| Some(instance.run_jobs(team));
        return List::boxed(Jobs::from(list).start(), run, true, pin);
    }
    let run = |instance: &mut Instance, team: &mut worklist::Team<Q>| Some(instance.list_exactly_once(team));
    List::boxed(list.start(), run, true, pin)
}

/// A worklist on a queue that may return a task twice. Its threads are running.
///
/// # Errors
/// As [`exactly_once`].
pub(crate) fn at_least_once<Q: Queue>(list: Worklist<Q>, pin: bool) -> Result<Box<dyn Contender>, String> {
    let run = |instance: &mut Instance, team: &mut worklist::Team<Q>| instance.list_at_least_once(team);
    List::boxed(list.pin(pin).start(), run, false, pin)
}

/// A team of a worklist or of a job system.
trait Team: 'static {
    fn workers(&self) -> usize;
    fn on_each(&mut self, f: impl Fn(usize) + Sync);
}

impl<Q: Queue> Team for worklist::Team<Q> {
    fn workers(&self) -> usize {
        self.workers()
    }

    fn on_each(&mut self, f: impl Fn(usize) + Sync) {
        self.on_each(f);
    }
}

impl<Q: Queue> Team for jobs::Team<Q> {
    fn workers(&self) -> usize {
        self.workers()
    }

    fn on_each(&mut self, f: impl Fn(usize) + Sync) {
        self.on_each(f);
    }
}

/// A team, and how it runs a program, if the program permits that.
struct List<T> {
    team: RefCell<T>,
    run: fn(&mut Instance, &mut T) -> Option<Listed>,
    /// Whether each task is run once.
    is_exact: bool,
    threads: Threads,
    counted: RefCell<Counted>,
}

/// What a team has counted in all its runs.
#[derive(Clone, Debug, Default)]
struct Counted {
    workers: Vec<Tally>,
    duplicates: Option<u64>,
    /// Of the last run.
    pushed: u64,
    run: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    pushed: u64,
    run: u64,
    steals: u64,
    attempts: u64,
}

impl Tally {
    fn add(&mut self, more: &worklist::Tally) {
        self.pushed += more.pushed;
        self.run += more.run;
        self.steals += more.stolen;
        self.attempts += more.attempts;
    }

    fn each(self) -> [(&'static str, u64); 4] {
        [("steals", self.steals), ("attempts", self.attempts), ("pushed", self.pushed), ("run", self.run)]
    }
}

impl<T: Team> List<T> {
    fn boxed(
        team: Result<T, StartError>,
        run: fn(&mut Instance, &mut T) -> Option<Listed>,
        is_exact: bool,
        pin: bool,
    ) -> Result<Box<dyn Contender>, String> {
        let mut team = team.map_err(|error| error.to_string())?;
        if pin {
            // The first worker of each run. It need not be bound in each, if it is bound from here on.
            pin_this_thread()?;
        }
        let threads = Threads::default();
        team.on_each(|worker| threads.enter(worker));
        let counted = Counted { workers: vec![Tally::default(); team.workers()], ..Counted::default() };
        let counted = RefCell::new(counted);
        Ok(Box::new(Self { team: RefCell::new(team), run, is_exact, threads, counted }))
    }
}

impl<T: Team> Contender for List<T> {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        let name = instance.name();
        let run = (self.run)(instance, &mut self.team.borrow_mut());
        let run = run.ok_or_else(|| format!("{name} must not run a task twice"))?;
        let mut counted = self.counted.borrow_mut();
        counted.workers.iter_mut().zip(&run.tallies).for_each(|(sum, tally)| sum.add(tally));
        counted.duplicates = run.duplicates.map(|more| counted.duplicates.unwrap_or(0) + more);
        (counted.pushed, counted.run) = (run.tasks(), run.runs());
        Ok(run.answer)
    }

    fn counters(&self) -> Counters {
        let counted = self.counted.borrow();
        let worker =
            |(index, tally): (usize, &Tally)| tally.each().into_iter().chain(self.threads.counts(index)).collect();
        let mut counters = Counters::of_workers(counted.workers.iter().enumerate().map(worker).collect());
        counters.total.extend(counted.duplicates.map(|duplicates| ("duplicates", duplicates)));
        counters
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.counted.borrow().pushed)
    }

    fn complaint(&self) -> Option<String> {
        let Counted { pushed, run, .. } = *self.counted.borrow();
        let agrees = if self.is_exact { run == pushed } else { run >= pushed };
        (!agrees).then(|| format!("{pushed} tasks were pushed, but {run} were run"))
    }
}
