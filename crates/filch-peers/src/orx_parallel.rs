//! orx-parallel: parallel iterators whose threads draw chunks of adaptive length. It has no forks. Its idle threads
//! sleep.

use std::num::NonZero;

use filch_workloads::{Answer, Instance, Program};
use orx_parallel::*;

use crate::flat::{Flat, Loops};
use crate::peer::{Failure, Rival};

pub(crate) struct OrxParallel {
    workers: usize,
}

impl OrxParallel {
    /// Its pool is the process's.
    pub(crate) fn start(workers: NonZero<usize>, _: usize) -> Result<Self, Failure> {
        Ok(Self { workers: workers.get() })
    }
}

impl Rival for OrxParallel {
    fn run(&self, instance: &mut Instance) -> Answer {
        instance.in_calls(|instance| instance.run(Flat(self)))
    }
}

impl Loops for OrxParallel {
    fn each<F: Fn(usize) + Sync>(&self, n: usize, f: F) {
        (0..n).par().num_threads(self.workers).for_each(&f);
    }
}
