//! A started scheduler of any type.

use std::cell::RefCell;

use filch::jobs::{self, Jobs, Parts};
use filch::pool::Pool;
use filch::worklist::{self, StartError, Worklist};
use filch::{ThreadPool, Timeline};
use filch_queue::Queue;
use filch_workloads::{Answer, Instance, Kind, Listed};

use crate::counting::Threads;
use crate::serial::pin_this_thread;

/// Counts by name, in a fixed order.
pub type Counts = Vec<(&'static str, u64)>;

/// The counters of a scheduler since its start.
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
    /// Each worker, by number; empty if the scheduler does not count per worker.
    pub workers: Vec<Counts>,
}

/// The only counter that is a maximum: several workers give the largest value, and a period gives the last one.
pub(crate) const PEAK_DEPTH: &str = "peak_depth";

impl Counters {
    /// Sums the counters of workers, all of which count the same.
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

    /// The counts since `earlier`.
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
    /// If this scheduler cannot run programs of this kind: see [`Instance::kind`].
    fn run(&self, instance: &mut Instance) -> Result<Answer, String>;

    /// As [`Contender::run`], and returns what the scheduler's workers did, and when; an error if this scheduler
    /// records no timelines.
    ///
    /// # Panics
    /// As [`Contender::run`].
    fn record(&self, _: &mut Instance) -> Result<(Answer, Timeline), String> {
        Err("this scheduler records no timelines; filch's pools do".to_owned())
    }

    /// Resets the counters that belong to one run and are not differences. Called before each run, untimed.
    fn forget_last_run(&self) {}

    /// Returns the counters since the start. Called before and after each run, untimed.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// The time of the last run in seconds, if not that of the call.
    fn seconds(&self) -> Option<f64> {
        None
    }

    /// The number of tasks pushed in the last run, if the scheduler counts them.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// The error in the last run, a sentence, if the counters reveal one.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// Whether this scheduler runs a program's forks as tasks.
    fn counts_tasks(&self) -> bool {
        true
    }
}

/// A thread pool, and the way to run a program on it.
pub(crate) struct Pooled<P: Pool> {
    pool: ThreadPool<P>,
    run: fn(&ThreadPool<P>, &mut Instance) -> Answer,
    threads: Threads,
}

impl<P: Pool> Pooled<P> {
    /// Wraps a pool whose workers enter themselves in `threads`, now or later.
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
        Ok(instance.in_calls(|instance| (self.run)(&self.pool, instance)))
    }

    fn record(&self, instance: &mut Instance) -> Result<(Answer, Timeline), String> {
        Ok(self.pool.record(|| instance.in_calls(|instance| (self.run)(&self.pool, instance))))
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

/// Starts a worklist, or a job system for job programs, on a queue that returns each task once.
///
/// # Errors
/// A sentence, if the system refuses a thread or a pinning.
pub(crate) fn exactly_once<Q: Queue>(
    list: Worklist<Q>,
    parts: Parts,
    kind: Kind,
    pin: bool,
) -> Result<Box<dyn Contender>, String> {
    let list = list.pin(pin);
    if kind == Kind::Jobs {
        let run = |instance: &mut Instance, team: &mut jobs::Team<Q>| Ok(instance.run_jobs(team));
        return List::boxed(Jobs::from(list).parts(parts).start(), run, true, pin);
    }
    let run = |instance: &mut Instance, team: &mut worklist::Team<Q>| {
        fits::<Q>(instance, team)?;
        Ok(instance.list_exactly_once(team))
    };
    List::boxed(list.start(), run, true, pin)
}

/// Starts a worklist on a queue that may return a task twice.
///
/// # Errors
/// See [`exactly_once`].
pub(crate) fn at_least_once<Q: Queue>(list: Worklist<Q>, pin: bool) -> Result<Box<dyn Contender>, String> {
    let run = |instance: &mut Instance, team: &mut worklist::Team<Q>| {
        fits::<Q>(instance, team)?;
        let listed = instance.list_at_least_once(team);
        listed.ok_or_else(|| format!("{} must not run a task twice", instance.name()))
    };
    List::boxed(list.pin(pin).start(), run, false, pin)
}

fn fits<Q: Queue>(instance: &Instance, team: &worklist::Team<Q>) -> Result<(), String> {
    instance.why_not_listed::<Q>(team.workers()).map_or(Ok(()), |why| Err(format!("{}: {why}", instance.name())))
}

/// A team of a worklist or a job system.
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

/// A team, and the way to run a program on it, if the program permits that.
struct List<T> {
    team: RefCell<T>,
    run: fn(&mut Instance, &mut T) -> Result<Listed, String>,
    /// Whether each task runs once.
    is_exact: bool,
    threads: Threads,
    counted: RefCell<Counted>,
}

/// The counts of a team over all its runs.
#[derive(Clone, Debug, Default)]
struct Counted {
    workers: Vec<Tally>,
    duplicates: Option<u64>,
    /// In the last run.
    pushed: u64,
    run: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    pushed: u64,
    run: u64,
    steals: u64,
    attempts: u64,
    lost: u64,
    aborted: u64,
    given: u64,
    idle_ns: u64,
    queue: filch_queue::Counted,
}

impl Tally {
    fn add(&mut self, more: &worklist::Tally) {
        self.pushed += more.pushed;
        self.run += more.run;
        self.steals += more.stolen;
        self.attempts += more.attempts;
        self.lost += more.lost;
        self.aborted += more.aborted;
        self.given += more.given;
        self.idle_ns += more.idle_ns;
        self.queue = self.queue.plus(&more.queue);
    }

    fn each(self) -> impl Iterator<Item = (&'static str, u64)> {
        let own = [
            ("steals", self.steals),
            ("attempts", self.attempts),
            ("lost", self.lost),
            ("aborted", self.aborted),
            ("migrations", self.steals),
            ("pushed", self.pushed),
            ("run", self.run),
            ("given", self.given),
            ("idle_ns", self.idle_ns),
        ];
        own.into_iter().chain(self.queue.each())
    }
}

impl<T: Team> List<T> {
    fn boxed(
        team: Result<T, StartError>,
        run: fn(&mut Instance, &mut T) -> Result<Listed, String>,
        is_exact: bool,
        pin: bool,
    ) -> Result<Box<dyn Contender>, String> {
        let mut team = team.map_err(|error| error.to_string())?;
        if pin {
            // This thread is the first worker of every run, so one binding suffices.
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
        let run = (self.run)(instance, &mut self.team.borrow_mut())?;
        let mut counted = self.counted.borrow_mut();
        counted.workers.iter_mut().zip(&run.tallies).for_each(|(sum, tally)| sum.add(tally));
        counted.duplicates = run.duplicates.map(|more| counted.duplicates.unwrap_or(0) + more);
        (counted.pushed, counted.run) = (run.tasks(), run.runs());
        Ok(run.answer)
    }

    fn counters(&self) -> Counters {
        let counted = self.counted.borrow();
        let worker = |(index, tally): (usize, &Tally)| tally.each().chain(self.threads.counts(index)).collect();
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
