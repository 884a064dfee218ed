//! The programs, which run on all ranks, or, for comparison, as a `Worklist` of one process.
//!
//! Invariant: all ranks prepare the same program, and run it equally often.

#![allow(clippy::disallowed_types, reason = "one shared number, no protocol for the checker")]

mod dfs;
mod knapsack;
mod queens;
mod uts;

use std::sync::atomic::{AtomicU64, Ordering};

use filch::worklist::Worklist;
use filch_mpi::{Aborted, Cluster, Mpi, Traffic, Transport as _, Wire, Worker};
use filch_workloads::{Answer, Instance, Prepare as _, Workload};

/// What a task sees: a worker of a cluster, or of a lone worklist.
pub(crate) trait Around<T> {
    fn push(&mut self, task: T);
    fn push_to(&mut self, rank: usize, task: T);
    fn bound(&self) -> u64;
    fn raise(&mut self, bound: u64);
}

impl<T> Around<T> for Worker<'_, T> {
    #[inline]
    fn push(&mut self, task: T) {
        Worker::push(self, task);
    }

    #[inline]
    fn push_to(&mut self, rank: usize, task: T) {
        Worker::push_to(self, rank, task);
    }

    #[inline]
    fn bound(&self) -> u64 {
        Worker::bound(self)
    }

    fn raise(&mut self, bound: u64) {
        Worker::raise(self, bound);
    }
}

/// A worker of a lone worklist.
struct Alone<'a, T> {
    tasks: &'a mut Vec<T>,
    bound: &'a AtomicU64,
}

impl<T> Around<T> for Alone<'_, T> {
    #[inline]
    fn push(&mut self, task: T) {
        self.tasks.push(task);
    }

    #[inline]
    fn push_to(&mut self, _: usize, task: T) {
        self.tasks.push(task);
    }

    // Relaxed: the bound publishes nothing.
    #[inline]
    fn bound(&self) -> u64 {
        self.bound.load(Ordering::Relaxed)
    }

    fn raise(&mut self, bound: u64) {
        self.bound.fetch_max(bound, Ordering::Relaxed);
    }
}

/// A program of tasks that can be sent.
trait Program: Sync {
    type Task: Wire;
    type State: Wire + Default;

    /// Whether a task may run twice without a change of the answer.
    const MAY_REPEAT: bool = false;

    /// Prepares a run.
    fn reset(&mut self) {}

    fn root(&self) -> Self::Task;
    fn visit(&self, worker: &mut impl Around<Self::Task>, state: &mut Self::State, task: Self::Task);
    fn merge(a: Self::State, b: Self::State) -> Self::State;
    fn answer(&self, state: Self::State) -> Answer;
}

/// Where a program runs.
#[derive(Debug)]
pub(crate) enum Ground {
    Cluster {
        cluster: Box<Cluster<Mpi>>,
        /// Whether it goes on when ranks die.
        keeps_going: bool,
    },
    Alone(Worklist),
}

trait Run {
    fn may_repeat(&self) -> bool;
    fn reset(&mut self);
    fn run(&self, on: &mut Ground) -> Result<(Option<Answer>, Traffic), Aborted>;
}

impl<P: Program> Run for P {
    fn may_repeat(&self) -> bool {
        P::MAY_REPEAT
    }

    fn reset(&mut self) {
        Program::reset(self);
    }

    fn run(&self, on: &mut Ground) -> Result<(Option<Answer>, Traffic), Aborted> {
        match on {
            Ground::Cluster { cluster, keeps_going } => {
                let seeds = (cluster.world().rank() == 0).then(|| self.root());
                let state = |_| P::State::default();
                let visit =
                    |worker: &mut Worker<'_, P::Task>, state: &mut P::State, task| self.visit(worker, state, task);
                let run = if *keeps_going {
                    cluster.run_idempotent(seeds, state, visit, P::merge)
                } else {
                    cluster.run(seeds, state, visit, P::merge)
                }?;
                Ok((run.state.map(|state| self.answer(state)), run.traffic))
            }
            Ground::Alone(list) => {
                const BAG: usize = 64;
                let bound = &AtomicU64::new(0);
                let run = list.run_bags(
                    [vec![self.root()]],
                    BAG,
                    |_| P::State::default(),
                    |_, state, tasks: &mut Vec<_>| {
                        if let Some(task) = tasks.pop() {
                            self.visit(&mut Alone { tasks, bound }, state, task);
                        }
                    },
                );
                let state = run.states.into_iter().reduce(P::merge).expect("there are workers");
                Ok((Some(self.answer(state)), Traffic::default()))
            }
        }
    }
}

/// A parameter of a program, with its value.
pub(crate) type Param = (String, String);

/// The programs and what they are.
pub(crate) const NAMES: [(&str, &str); 4] = [
    ("uts", "counts the nodes of an unbalanced tree: tree=T1"),
    ("queens", "counts the placements of queens: n=13"),
    ("knapsack", "branch and bound; ranks tell each other the best value: items=36"),
    ("pseudo-dfs", "reachability in an implicit torus whose vertices belong to ranks: side=128"),
];

/// A program with its data.
pub(crate) struct Prepared {
    program: Box<dyn Run>,
    /// What knows the right answer.
    right: Right,
    /// All parameters.
    pub(crate) params: Vec<Param>,
}

enum Right {
    Is(Answer),
    Knows(Box<Instance>),
}

impl Prepared {
    /// Prepares a program for this rank.
    pub(crate) fn new(name: &str, set: &[Param], rank: usize, ranks: usize) -> Result<Self, String> {
        if name == "pseudo-dfs" {
            let dfs = dfs::Dfs::new(set, rank, ranks)?;
            return Ok(Self { right: Right::Is(dfs.reached()), params: dfs.params(), program: Box::new(dfs) });
        }
        if !NAMES.iter().any(|(known, _)| *known == name) {
            let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
            return Err(format!("there is no program `{name}` here, but {}", known.join(", ")));
        }
        let workload = Workload::new(name, set).map_err(|error| error.to_string())?;
        let params = workload.params().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let instance = workload.prepare().map_err(|error| error.to_string())?;
        let program: Box<dyn Run> = match &instance {
            Instance::Uts(instance) => Box::new(uts::Uts(instance.tree().clone())),
            Instance::Queens(instance) => Box::new(queens::Queens(instance.n())),
            Instance::Knapsack(instance) => {
                Box::new(knapsack::Knapsack { items: instance.items().to_vec(), capacity: instance.capacity() })
            }
            _ => unreachable!("the names are these"),
        };
        Ok(Self { program, right: Right::Knows(Box::new(instance)), params })
    }

    /// Whether tasks may run twice without a change of the answer.
    pub(crate) fn may_repeat(&self) -> bool {
        self.program.may_repeat()
    }

    /// Makes it ready for a run.
    pub(crate) fn reset(&mut self) {
        self.program.reset();
    }

    /// Runs it; rank 0 gets the answer.
    ///
    /// # Errors
    /// If another rank has ended the run.
    pub(crate) fn run(&mut self, on: &mut Ground) -> Result<(Option<Answer>, Traffic), Aborted> {
        self.program.run(on)
    }

    /// Returns what is wrong with an answer.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        match &self.right {
            Right::Knows(instance) => instance.check(answer),
            Right::Is(right) if right == answer => Ok(()),
            Right::Is(right) => Err(format!("the answer is {answer}, but it should be {right}")),
        }
    }
}
