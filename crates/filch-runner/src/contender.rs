//! A started scheduler, whatever its type.

use std::cell::Cell;

use filch::ThreadPool;
use filch::jobs::Jobs;
use filch::pool::Pool;
use filch::worklist::Worklist;
use filch_queue::Queue;
use filch_workloads::{Answer, Instance, Kind, Listed};

/// A started scheduler.
///
/// ```
/// use filch_runner::{Contender, Sequential};
/// use filch_workloads::Workload;
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

    /// Its counters since it was started, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Tasks of the last run, if it has counted them.
    fn tasks(&self) -> Option<u64> {
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
}

impl<P: Pool> Pooled<P> {
    pub(crate) fn boxed(pool: ThreadPool<P>, run: fn(&ThreadPool<P>, &mut Instance) -> Answer) -> Box<dyn Contender> {
        Box::new(Self { pool, run })
    }
}

impl<P: Pool> Contender for Pooled<P> {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        Ok((self.run)(&self.pool, instance))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.pool.stats().total().each().collect()
    }
}

/// A worklist or, for job programs, a job system on a queue that returns each task once.
pub(crate) fn exactly_once<Q: Queue>(list: Worklist<Q>, kind: Kind) -> Box<dyn Contender> {
    if kind == Kind::Jobs {
        return List::boxed(Jobs::from(list), |instance, jobs| Some(instance.run_jobs(jobs)));
    }
    List::boxed(list, |instance, list| Some(instance.list_exactly_once(list)))
}

/// A worklist on a queue that may return a task twice.
pub(crate) fn at_least_once<Q: Queue>(list: Worklist<Q>) -> Box<dyn Contender> {
    List::boxed(list, Instance::list_at_least_once)
}

/// A worklist or a job system, and how it runs a program, if the program permits that.
struct List<L> {
    list: L,
    run: fn(&mut Instance, &L) -> Option<Listed>,
    counts: Cell<Counts>,
}

impl<L: 'static> List<L> {
    fn boxed(list: L, run: fn(&mut Instance, &L) -> Option<Listed>) -> Box<dyn Contender> {
        Box::new(Self { list, run, counts: Cell::default() })
    }
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
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
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
