//! The operations of every program.

use std::thread;
use std::time::{Duration, Instant};

use filch::worklist::Queue;
use filch::{jobs, worklist};
use filch_catalogue::ParamError;

use crate::ForkJoin;
use crate::answer::{Answer, Listed};
use crate::queue::{Enter, On, Used};

/// Parameters from which a program and its data can be made.
///
/// ```
/// use filch_workloads::{Prepare, Workload};
///
/// let mut fib = Workload::new("fib", &[("n".into(), "20".into())])?.prepare()?;
/// assert_eq!(fib.serial().to_string(), "6765");
/// # Ok::<(), filch_workloads::ParamError>(())
/// ```
pub trait Prepare {
    /// The program with its data.
    type Instance;

    /// Makes the input.
    ///
    /// # Errors
    /// If the system cannot provide the memory.
    fn prepare(&self) -> Result<Self::Instance, ParamError>;
}

/// A program with its data. Its methods, and those of the traits for each kind of program, are those of
/// [`Instance`](crate::Instance).
pub(crate) trait Runs {
    fn reset(&mut self) {}
    fn serial(&mut self) -> Answer;
    fn check(&self, answer: &Answer) -> Result<(), String>;
    fn tasks(&self, answer: &Answer) -> Option<u64>;
    /// Returns how deep forks nest at most. Each level takes a few stack frames.
    fn nesting(&self) -> u64 {
        200
    }
    fn digest(&self) -> u64 {
        0
    }
    fn damage(&mut self, _at: u64) -> bool {
        false
    }
    /// Its calls, if a run has several.
    fn calls(&mut self) -> Option<&mut Calls> {
        None
    }
}

/// In how many calls a fork–join program runs, and how long it pauses before each.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) times: u64,
    pub(crate) pause: Duration,
    /// All pauses since the last reset, as they really were.
    pub(crate) paused: Duration,
}

impl Calls {
    pub(crate) fn pause(&mut self) {
        if !self.pause.is_zero() {
            let start = Instant::now();
            thread::sleep(self.pause);
            self.paused += start.elapsed();
        }
    }
}

/// A fork–join program.
pub(crate) trait Forks: Runs {
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer;
}

/// A worklist program.
pub(crate) trait Lists: Runs {
    /// Why its run would be wrong on such queues, as a sentence.
    fn refuses<Q: Queue>(&self, _workers: usize) -> Option<String> {
        None
    }

    fn exactly_once<Q: Queue>(&mut self, team: &mut worklist::Team<Q>) -> Listed;

    /// Returns `None` unless the tasks may run twice.
    fn at_least_once<Q: Queue>(&mut self, _team: &mut worklist::Team<Q>) -> Option<Listed> {
        None
    }
}

/// A job program.
pub(crate) trait Makes: Runs {
    fn jobs<Q: Queue>(&mut self, team: &mut jobs::Team<Q>) -> Listed;
}

/// A program of a queue's owner and its thieves.
pub(crate) trait Uses: Runs {
    fn on_queue<Q: Queue>(&mut self, on: &On<'_, Q>, enter: Enter<'_>) -> Result<Used, String>;
}
