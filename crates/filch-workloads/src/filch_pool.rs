//! The programs on filch: handle style on any pool, closure style on the default pool.

use filch::levels::{Level, Levels};
use filch::pool::Pool;
use filch::{Divisible, ThreadPool, Worker};

use crate::fork_join::halve_blocks;
use crate::{Executor, ForkJoin, Grain, Program};

impl<P: Pool, L: Level> ForkJoin for Worker<'_, P, L> {
    type Branch<'b> = Worker<'b, P, L::Next>;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self::Branch<'b>) -> RA + Send,
        B: for<'b> FnOnce(Self::Branch<'b>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Worker::join(self, a, b)
    }

    #[inline(always)]
    fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, fold: G) -> S
    where
        I: IntoIterator<Item = T>,
        T: Send,
        R: Send,
        F: for<'b> Fn(Self::Branch<'b>, T) -> R + Sync,
        G: FnMut(S, R) -> S,
    {
        Worker::fork_all(self, items, each, init, fold)
    }

    #[inline]
    fn poll(&mut self) {
        Worker::poll(self);
    }

    #[inline(always)]
    fn fold_blocks<D, T, F, R>(&mut self, source: D, grain: Grain, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        match grain {
            Grain::Advice(_) => Worker::fold_blocks(self, source, zero, fold, reduce),
            Grain::Fixed(grain) => halve_blocks(self, source, grain, &zero, &fold, &reduce),
        }
    }
}

impl<P: Pool> Executor for ThreadPool<P> {
    fn execute<Q: Program>(&self, program: &mut Q) -> Q::Output {
        self.run(|w| program.run(w))
    }
}

/// Runs programs by handle [in two levels](filch::Worker::in_levels), so that the compiler inlines their recursion.
///
/// ```
/// use filch_workloads::{Executor, InLevels, Prepare, Workload};
///
/// let pool = filch::ThreadPool::new(2)?;
/// let mut fib = Workload::new("fib", &[("n".into(), "15".into())])?.prepare()?;
/// assert_eq!(InLevels(&pool).execute(&mut fib).to_string(), "610");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InLevels<'p>(pub &'p ThreadPool);

impl Executor for InLevels<'_> {
    fn execute<Q: Program>(&self, program: &mut Q) -> Q::Output {
        self.0.run(|w| program.run(w.in_levels::<Levels<2>>()))
    }
}

/// Closure style: programs fork with the free function [`filch::join`] and pass no handle.
///
/// It runs on the pool of the current thread if there is one, otherwise on the global pool.
///
/// ```
/// use filch_workloads::{Executor, FilchClosures, Prepare, Workload};
///
/// let pool = filch::ThreadPool::new(2)?;
/// let mut fib = Workload::new("fib", &[("n".into(), "15".into())])?.prepare()?;
/// assert_eq!(pool.install(|| FilchClosures.execute(&mut fib)).to_string(), "610");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FilchClosures;

impl ForkJoin for FilchClosures {
    type Branch<'b> = Self;

    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: for<'b> FnOnce(Self) -> RA + Send,
        B: for<'b> FnOnce(Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        filch::join(
            #[inline(always)]
            move || a(Self),
            #[inline(always)]
            move || b(Self),
        )
    }

    #[inline(always)]
    fn fork_all<I, T, R, S, F, G>(&mut self, items: I, each: F, init: S, fold: G) -> S
    where
        I: IntoIterator<Item = T> + Send,
        T: Send,
        R: Send,
        S: Send,
        F: Fn(Self, T) -> R + Sync,
        G: FnMut(S, R) -> S + Send,
    {
        filch::fork_all(
            items,
            #[inline(always)]
            |item| each(Self, item),
            init,
            fold,
        )
    }

    #[inline]
    fn poll(&mut self) {
        filch::poll();
    }

    #[inline(always)]
    fn fold_blocks<D, T, F, R>(&mut self, source: D, grain: Grain, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        match grain {
            Grain::Advice(_) => filch::fold_blocks(source, zero, fold, reduce),
            Grain::Fixed(grain) => halve_blocks(self, source, grain, &zero, &fold, &reduce),
        }
    }
}

impl Executor for FilchClosures {
    fn execute<P: Program>(&self, program: &mut P) -> P::Output {
        program.run(Self)
    }
}
