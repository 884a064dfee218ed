//! rayon: `rayon::join` on a pool of its own.

use filch_workloads::{Answer, ForkJoin, Instance, Program, forks_by_halves};

use crate::peer::Failure;

pub(crate) struct Rayon(rayon::ThreadPool);

impl Rayon {
    pub(crate) fn start(workers: usize, stack_bytes: usize) -> Result<Self, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).stack_size(stack_bytes).build();
        pool.map(Self).map_err(|error| Failure(error.to_string()))
    }

    pub(crate) fn run(&self, instance: &mut Instance) -> Answer {
        self.0.install(|| instance.run(Handle))
    }
}

/// The pool is the one that the thread belongs to.
#[derive(Clone, Copy)]
struct Handle;

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
}
