//! A started scheduler, whatever its type.

use std::cell::Cell;

use filch::ThreadPool;
use filch::jobs::Jobs;
use filch::pool::Pool;
use filch::worklist::Worklist;
use filch_queue::Queue;
use filch_workloads::{Answer, Instance, Kind, Listed};

use crate::queues::{ListUser, with_list};
use crate::tuning::Tuning;

/// A started scheduler.
///
/// ```
/// use filch_schedulers::{Contender, Sequential, Settings, Style, start_pool};
/// use filch_workloads::Workload;
///
/// let pool = start_pool("split", Style::Closures, &Settings::of(2))?;
/// let contenders: [&dyn Contender; 2] = [&Sequential, &*pool];
/// let mut queens = Workload::new("queens", &[("n".into(), "8".into())]).and_then(|made| made.prepare()).unwrap();
/// for contender in contenders {
///     assert_eq!(contender.run(&mut queens)?.to_string(), "92");
/// }
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
}

/// The plain sequential program, on the calling thread: see [`Contender`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Contender for Sequential {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        Ok(instance.serial())
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

/// A worklist with so many workers, or a job system, on the queue that `tuning` says.
///
/// ```
/// use filch_schedulers::{Tuning, start_list};
/// use filch_workloads::Workload;
///
/// let mut closure = Workload::new("closure", &[("n".into(), "1000".into())]).and_then(|made| made.prepare()).unwrap();
/// let list = start_list(&Tuning::parse("bwos-l", "block=64")?, 2, closure.kind())?;
/// closure.reset();
/// let answer = list.run(&mut closure)?;
/// assert!(closure.check(&answer).is_ok());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// If the queue cannot be used so.
pub fn start_list(tuning: &Tuning, workers: usize, kind: Kind) -> Result<Box<dyn Contender>, String> {
    with_list(tuning, workers, Start { kind })
}

struct Start {
    kind: Kind,
}

impl ListUser for Start {
    type Output = Box<dyn Contender>;

    fn exactly_once<Q: Queue>(self, list: Worklist<Q>) -> Box<dyn Contender> {
        if self.kind == Kind::Jobs {
            return List::boxed(Jobs::from(list), |instance, jobs| Some(instance.run_jobs(jobs)));
        }
        List::boxed(list, |instance, list| Some(instance.list_exactly_once(list)))
    }

    fn at_least_once<Q: Queue>(self, list: Worklist<Q>) -> Box<dyn Contender> {
        List::boxed(list, Instance::list_at_least_once)
    }
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
