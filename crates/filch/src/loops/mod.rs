//! Loops as functions and as methods of a handle, over anything that can be [looped over](crate::iter::IntoPar).
//!
//! Invariant: a loop in closure style is its namesake in handle style, on the current worker's pool or the global one.

mod fallible;
mod from;
mod state;
pub(crate) mod stop;
mod with;

pub use self::fallible::{try_for_each, try_map_reduce};
pub use self::from::{fold_blocks_from, map_reduce_from};
pub use self::state::{for_each_init, map_reduce_init};

use crate::divide::{divisible::Divisible, forker::Closures, run::run};
use crate::iter::{Indexed, IntoPar, Par, par};
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::plumbing::Pool;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// Calls `f` on every item of a [source](IntoPar), perhaps in parallel. The loop splits itself: idle workers can
    /// take any items not begun, unless items are so short that this does not pay.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let mut v = vec![1; 1000];
    /// pool.run(|mut w| w.for_each(&mut v[..], |x| *x += 1));
    /// assert!(v.iter().all(|&x| x == 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics, with one of its payloads; the loop may leave out items not yet reached.
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn for_each<S, F>(&mut self, source: S, f: F)
    where
        S: IntoPar,
        F: Fn(S::Item) + Sync,
    {
        self.par(source).for_each(f);
    }

    /// Maps every item of a [source](IntoPar) and reduces the results, in the order of the items. The loop splits when
    /// somebody wants work, so the bracketing varies between runs: `reduce` should be associative, with `zero` as its
    /// neutral element.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let text = ["work", "stealing", "scheduler"];
    /// let letters = pool.run(|mut w| w.map_reduce(&text[..], 0, |word| word.len(), |a, b| a + b));
    /// assert_eq!(letters, 21);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn map_reduce<S, T, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> T
    where
        S: IntoPar,
        T: Clone + Send + Sync,
        M: Fn(S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.par(source).fold(|| zero.clone(), |sum, item| reduce(sum, map(item)), &reduce)
    }

    /// Folds a source block by block and reduces the results, in the order of the items. The loop splits when
    /// somebody wants work. `fold` gets the result so far, at first `zero`, and the next block.
    ///
    /// Use it instead of [`Worker::map_reduce`] for loops with work per block, or with sums that are costly to make:
    /// while nobody wants work, there is one sum.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let odd = |mut found: Vec<u32>, block: std::ops::Range<u32>| {
    ///     found.extend(block.filter(|i| i % 2 == 1));
    ///     found
    /// };
    /// let join = |mut left: Vec<u32>, right: Vec<u32>| {
    ///     left.extend(right);
    ///     left
    /// };
    /// let found = pool.run(|mut w| w.fold_blocks(0..10, Vec::new(), odd, join));
    /// assert_eq!(found, [1, 3, 5, 7, 9]);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn fold_blocks<D, T, F, R>(&mut self, source: D, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        run(self.again(), source, &|| zero.clone(), &fold, &reduce)
    }

    /// As [`Worker::map_reduce`], but the bracketing depends only on the number of items: the loop halves down to
    /// leaves of at most 512 items, and reduces each leaf from the left. So a sum of floating-point numbers is the same
    /// in every run, on any number of workers.
    ///
    /// ```
    /// let v: Vec<f64> = (1..100_000).map(|i| 1.0 / f64::from(i)).collect();
    /// let sum = |workers| {
    ///     let pool = filch::ThreadPool::new(workers).unwrap();
    ///     pool.run(|mut w| w.map_reduce_fixed(&v[..], 0.0, |&x| x, |a, b| a + b))
    /// };
    /// assert_eq!(sum(1).to_bits(), sum(2).to_bits());
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn map_reduce_fixed<S, T, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> T
    where
        S: IntoPar<Parts: Indexed>,
        T: Clone + Send + Sync,
        M: Fn(S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.par(source).fold_fixed(|| zero.clone(), |sum, item| reduce(sum, map(item)), &reduce)
    }

    /// [`par`](crate::par) in handle style: a parallel iterator over anything that can be looped over.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let v = vec![1, 2, 3];
    /// assert_eq!(pool.run(|mut w| w.par(&v).map(|x| x * x).sum::<i32>()), 14);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    #[inline]
    pub fn par<S: IntoPar>(&mut self, source: S) -> Par<S::Parts, Worker<'_, P>> {
        Par::new(source.into_parts(), self.again())
    }
}

/// [`Worker::for_each`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let mut v = vec![1; 1000];
/// filch::for_each(&mut v[..], |x| *x += 1);
/// assert!(v.iter().all(|&x| x == 2));
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn for_each<S, F>(source: S, f: F)
where
    S: IntoPar,
    F: Fn(S::Item) + Sync,
{
    par(source).for_each(f);
}

/// [`Worker::map_reduce`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// assert_eq!(filch::map_reduce(0..0, 7, |i: i32| i, |a, b| a + b), 7);
/// assert_eq!(filch::map_reduce(0..101, 0, |i| i, |a, b| a + b), 5050);
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn map_reduce<S, T, M, R>(source: S, zero: T, map: M, reduce: R) -> T
where
    S: IntoPar,
    T: Clone + Send + Sync,
    M: Fn(S::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    par(source).fold(|| zero.clone(), |sum, item| reduce(sum, map(item)), &reduce)
}

/// [`Worker::fold_blocks`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let sum = filch::fold_blocks(0..1000_u64, 0, |sum, block| sum + block.sum::<u64>(), |a, b| a + b);
/// assert_eq!(sum, 499_500);
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn fold_blocks<D, T, F, R>(source: D, zero: T, fold: F, reduce: R) -> T
where
    D: Divisible,
    T: Clone + Send + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    run(Closures::new(), source, &|| zero.clone(), &fold, &reduce)
}

/// [`Worker::map_reduce_fixed`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let v = vec![0.1; 10_000];
/// let sum = || filch::map_reduce_fixed(&v[..], 0.0, |&x: &f64| x, |a, b| a + b);
/// assert_eq!(sum().to_bits(), sum().to_bits());
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn map_reduce_fixed<S, T, M, R>(source: S, zero: T, map: M, reduce: R) -> T
where
    S: IntoPar<Parts: Indexed>,
    T: Clone + Send + Sync,
    M: Fn(S::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    par(source).fold_fixed(|| zero.clone(), |sum, item| reduce(sum, map(item)), &reduce)
}
