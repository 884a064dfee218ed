//! How fast a recorded computation would be on other machines.
//!
//! `filch::scale` records which strands of a computation may run in parallel, and how long they take. Here its
//! [`Graph`] runs in simulated time on any number of workers, under the rules by which a pool of filch spreads tasks,
//! with the costs of a theft and a wake-up on a real machine. Strands take as long as they did when they were recorded:
//! what they lose to each other by sharing caches, memory and power is not in the forecast.

mod graph;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use crate::lace::Waiting;

pub use graph::{Graph, Part};

/// What it costs to move a task, in the units of the graph. What forks cost is part of the strands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// From an attempt that succeeds to the beginning of the task.
    pub theft: u64,
    /// An attempt that fails.
    pub look: u64,
    /// What it takes longer if the thief sleeps.
    pub wake: u64,
    /// How long a worker looks before it sleeps.
    pub patience: u64,
}

/// How tasks come to other workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// A thief takes the oldest task of a random victim; a worker that waits for a stolen task chooses as this says.
    Steal(Waiting),
    /// Deques are private: a thief asks a random worker that has tasks, which answers at its next fork or join
    /// (receiver-initiated).
    Ask,
    /// Deques are private: at a fork or join, but not more often than in this interval, a worker looks at a random
    /// other one, and gives it its oldest task if that one has none (sender-initiated).
    Deal {
        /// The least time between two such looks of a worker.
        interval: u64,
    },
}

/// A pool of filch by name, as far as a forecast tells pools apart: how it spreads tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    name: &'static str,
    spread: Spread,
}

/// In nanoseconds, as in the document on private deques, section 4.
const INTERVAL: u64 = 30_000;

const POOLS: [Pool; 6] = [
    Pool { name: "split", spread: Spread::Steal(Waiting::Random) },
    Pool { name: "split:leapfrog", spread: Spread::Steal(Waiting::Leapfrog) },
    Pool { name: "wool", spread: Spread::Steal(Waiting::Transitive) },
    Pool { name: "chase-lev", spread: Spread::Steal(Waiting::Random) },
    Pool { name: "pdq-r", spread: Spread::Ask },
    Pool { name: "pdq-s", spread: Spread::Deal { interval: INTERVAL } },
];

impl Pool {
    /// How it spreads tasks.
    pub fn spread(self) -> Spread {
        self.spread
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for Pool {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        POOLS.into_iter().find(|pool| pool.name == text).ok_or_else(|| {
            format!("there is no forecast for `{text}`: there are {}", POOLS.map(|pool| pool.name).join(", "))
        })
    }
}

/// A machine for a forecast.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The number of workers, at least 1.
    pub workers: usize,
    /// How tasks spread.
    pub spread: Spread,
    /// What that costs.
    pub costs: Costs,
}

/// What a simulated run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The time, in the units of the graph.
    pub time: u64,
    /// The tasks that moved to another worker.
    pub thefts: u64,
}

/// Runs the graph on the machine; the seed determines the run.
///
/// ```
/// use filch_sim::forecast::{Costs, Graph, Machine, Spread, run};
/// use filch_sim::lace::Waiting;
///
/// let graph: Graph = "10((400|400)|(400|400))10".parse()?;
/// let costs = Costs { theft: 5, look: 2, wake: 50, patience: 100 };
/// let time = |workers| run(&graph, Machine { workers, spread: Spread::Steal(Waiting::Random), costs }, 1).time;
/// assert_eq!(time(1), graph.work());
/// assert!(time(2) < 900 && time(4) < 500);
/// # Ok::<(), String>(())
/// ```
///
/// # Panics
/// If there is no worker.
pub fn run(graph: &Graph, machine: Machine, seed: u64) -> Outcome {
    assert!(machine.workers > 0, "there is a worker");
    run::Run::new(graph, machine, seed).finish()
}
