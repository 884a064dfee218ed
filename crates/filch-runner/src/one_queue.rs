//! Queue programs: an owner and thieves on one queue.

use std::cell::RefCell;

use crate::schedulers::{Common, ForQueue, Tunable};
use core_affinity::CoreId;
use filch::inside::host::processors;
use filch_catalogue::{STEAL, Tuning};
use filch_queue::Queue;
use filch_workloads::queue::{Did, On, Times};
use filch_workloads::{Answer, Instance};

use crate::counting::Threads;
use crate::serial::pin_to;
use crate::{Contender, Counters, Counts};

/// The capacity of the paper's queues.
const CAPACITY: usize = 8192;

/// A queue that is made anew for each run.
struct OneQueue<Q: Queue> {
    params: Q::Params,
    capacity: usize,
    workers: usize,
    /// The processors to bind threads to. A thread that is bound sees only its own.
    cores: Option<Vec<CoreId>>,
    threads: Threads,
    last: RefCell<Last>,
}

/// The last run.
#[derive(Default)]
struct Last {
    seconds: Option<f64>,
    did: Vec<Did>,
    times: Option<Times>,
}

/// Makes a contender of a queue.
///
/// # Errors
/// A sentence, if a setting is wrong or has no meaning for one queue.
pub(crate) fn one_queue<Q: Queue<Params: Tunable>>(
    tuning: &Tuning,
    workers: usize,
    pin: bool,
) -> Result<Box<dyn Contender>, String> {
    let own = Q::Params::knobs();
    let applies = |name: &str| name == "capacity" || name != STEAL && own.iter().any(|knob| knob.name == name);
    if let Some((name, _)) = tuning.set().iter().find(|(name, _)| !applies(name)) {
        let queue = tuning.queue();
        return Err(format!("{queue}: {name} cannot be set: thieves of one queue take one task at a time from it"));
    }
    let (params, Common { capacity, .. }) = tuning.apply()?;
    let capacity = capacity.unwrap_or(CAPACITY);
    if capacity > Q::MAX_CAPACITY {
        return Err(format!("{}: its largest capacity is {}", tuning.queue(), Q::MAX_CAPACITY));
    }
    let cores = pin.then(|| processors().into_iter().map(|id| CoreId { id }).collect());
    let (threads, last) = (Threads::default(), RefCell::default());
    Ok(Box::new(OneQueue::<Q> { params, capacity, workers, cores, threads, last }))
}

impl<Q: Queue> Contender for OneQueue<Q> {
    fn run(&self, instance: &mut Instance) -> Result<Answer, String> {
        let on = On::<Q> { params: &self.params, capacity: self.capacity, workers: self.workers };
        let (cores, threads) = (self.cores.as_deref(), &self.threads);
        let used = instance.run_on_queue(&on, &|worker| {
            threads.enter(worker);
            cores.map_or(Ok(()), |cores| pin_to(cores, worker))
        })?;
        *self.last.borrow_mut() = Last { seconds: Some(used.seconds), did: used.did, times: used.times };
        Ok(used.answer)
    }

    fn forget_last_run(&self) {
        self.last.take();
    }

    fn seconds(&self) -> Option<f64> {
        self.last.borrow().seconds
    }

    fn counters(&self) -> Counters {
        let last = self.last.borrow();
        let worker = |index: usize| {
            let did = last.did.get(index).copied().unwrap_or_default();
            counts(did).into_iter().chain(self.threads.counts(index)).collect()
        };
        let mut counters = Counters::of_workers((0..self.workers).map(worker).collect());
        counters.total.extend(of_times(last.times));
        counters
    }
}

fn counts(did: Did) -> Counts {
    vec![
        ("pushed", did.pushed),
        ("popped", did.popped),
        ("steals", did.steals),
        ("attempts", did.attempts),
        ("empty", did.empty),
        ("lost", did.lost),
        ("aborted", did.aborted),
        ("pending", did.pending),
        ("grants", did.grants),
    ]
}

/// The names are there before the first run too: a run's counters are differences.
fn of_times(times: Option<Times>) -> Counts {
    let of = |of: fn(Times) -> u64| times.map_or(0, of);
    vec![
        ("steal_ns", of(|times| times.mean)),
        ("steal_p50_ns", of(|times| times.p50)),
        ("steal_p90_ns", of(|times| times.p90)),
        ("steal_p99_ns", of(|times| times.p99)),
        ("steal_elapsed_ns", of(|times| times.elapsed)),
    ]
}
