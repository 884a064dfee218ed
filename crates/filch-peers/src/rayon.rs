//! rayon: `rayon::join` on its own pool.

use std::num::NonZero;

use filch_workloads::{Answer, ForkJoin, Grain, Instance, Program, forks_by_halves};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::peer::{Failure, Rival};

pub(crate) struct Rayon(rayon::ThreadPool);

impl Rayon {
    pub(crate) fn start(workers: NonZero<usize>, stack_bytes: usize) -> Result<Self, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers.get()).stack_size(stack_bytes).build();
        pool.map(Self).map_err(|error| Failure(error.to_string()))
    }
}

impl Rival for Rayon {
    fn run(&self, instance: &mut Instance) -> Answer {
        instance.in_calls(|instance| self.0.install(|| instance.run(Handle)))
    }
}

/// rayon by its free functions, on the thread's current pool.
///
/// ```
/// use filch_peers::RayonHandle;
/// use filch_workloads::ForkJoin;
///
/// assert_eq!(RayonHandle.join(|_| 1, |_| 2), (1, 2));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Handle;

impl ForkJoin for Handle {
    type Branch<'b> = Self;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(move || a(Self), move || b(Self))
    }

    forks_by_halves!();

    fn for_indices<F: Fn(usize) + Sync>(&mut self, n: usize, grain: Grain, f: F) {
        match grain {
            Grain::Advice(_) => (0..n).into_par_iter().for_each(&f),
            Grain::Fixed(_) => self.for_blocks(0..n, grain, |block| block.for_each(&f)),
        }
    }
}
