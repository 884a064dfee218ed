//! paralight: loops over slices, of which each thread has a part, and steals of those of others. It has no forks, and a
//! loop cannot be within another.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use filch_workloads::{Answer, Divisible, ForkJoin, Grain, Instance, Program, forks_by_halves};
use paralight::prelude::*;

use crate::peer::{Failure, Rival, default_stack_bytes};

pub(crate) struct Paralight(Mutex<ThreadPool>);

impl Paralight {
    /// Its threads have the stack that std gives them.
    pub(crate) fn start(workers: NonZero<usize>, _: usize) -> Result<Self, Failure> {
        let pool = ThreadPoolBuilder {
            num_threads: ThreadCount::Count(workers),
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        };
        Ok(Self(Mutex::new(pool.build())))
    }
}

impl Rival for Paralight {
    fn run(&self, instance: &mut Instance) -> Answer {
        instance.in_calls(|instance| instance.run(Handle(&self.0)))
    }

    fn helper_stacks(&self) -> Option<(usize, &'static str)> {
        Some((default_stack_bytes(), "set RUST_MIN_STACK=BYTES in the environment"))
    }
}

#[derive(Clone, Copy)]
struct Handle<'p>(&'p Mutex<ThreadPool>);

/// A block of a loop, and its result.
struct Block<D, T> {
    source: Option<D>,
    result: Option<T>,
}

impl ForkJoin for Handle<'_> {
    type Branch<'b> = Self;

    /// Not a fork: the programs that it runs have none.
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Self) -> RA,
        B: FnOnce(Self) -> RB,
    {
        (a(*self), b(*self))
    }

    forks_by_halves!();

    fn fold_blocks<D, T, F, R>(&mut self, source: D, grain: Grain, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let (Grain::Advice(items) | Grain::Fixed(items)) = grain;
        let mut blocks = Vec::with_capacity(source.length() / items.max(1) + 1);
        let mut rest = source;
        while rest.length() > items.max(1) {
            let (block, others) = rest.cut(items.max(1));
            blocks.push(Block { source: Some(block), result: None });
            rest = others;
        }
        blocks.push(Block { source: Some(rest), result: None });
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.par_iter_mut().with_thread_pool(&mut *pool).for_each(|Block { source, result }| {
            *result = source.take().map(|source| fold(zero.clone(), source));
        });
        // Its own reduction has no order.
        blocks.into_iter().filter_map(|block| block.result).reduce(reduce).unwrap_or(zero)
    }

    fn for_indices<F: Fn(usize) + Sync>(&mut self, n: usize, _: Grain, f: F) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (0..n).into_par_iter().with_thread_pool(&mut *pool).for_each(f);
    }
}
