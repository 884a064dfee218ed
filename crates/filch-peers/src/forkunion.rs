//! ForkUnion: loops over numbers, of which each thread gets an equal part, or takes one at a time. It has no forks, and
//! a loop cannot be within another. Its idle threads spin.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use filch_workloads::{Answer, Instance, Program};
use forkunion::{ThreadPool, Topology};

use crate::flat::{Flat, Loops};
use crate::peer::{Failure, Rival};

/// `IS_DYNAMIC`: whether threads take one item at a time.
pub(crate) struct ForkUnion<const IS_DYNAMIC: bool>(Mutex<ThreadPool>);

impl<const IS_DYNAMIC: bool> ForkUnion<IS_DYNAMIC> {
    /// The calling thread is one of its threads. Its other threads have the stack that the system gives them.
    pub(crate) fn start(workers: NonZero<usize>, _: usize) -> Result<Self, Failure> {
        let failure = |error| Failure(format!("{error:?}"));
        let topology = Topology::new().map_err(failure)?;
        ThreadPool::try_spawn(&topology, workers.get()).map(|pool| Self(Mutex::new(pool))).map_err(failure)
    }
}

impl<const IS_DYNAMIC: bool> Rival for ForkUnion<IS_DYNAMIC> {
    fn run(&self, instance: &mut Instance) -> Answer {
        instance.in_calls(|instance| instance.run(Flat(self)))
    }
}

impl<const IS_DYNAMIC: bool> Loops for ForkUnion<IS_DYNAMIC> {
    fn each<F: Fn(usize) + Sync>(&self, n: usize, f: F) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if IS_DYNAMIC {
            drop(pool.for_n_dynamic(n, |prong| f(prong.task_index)));
        } else {
            drop(pool.for_n(n, |prong| f(prong.task_index)));
        }
    }
}
