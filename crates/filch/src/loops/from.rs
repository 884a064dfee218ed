//! Loops whose neutral sum a function makes, for sums that cannot or should not be cloned.

use crate::divide::{divisible::Divisible, forker::Closures, run::run};
use crate::iter::{IntoPar, par};
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::plumbing::Pool;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::map_reduce`], but a function makes the neutral element, so it need be neither `Clone` nor `Sync`.
    ///
    /// Cost: that of [`Worker::map_reduce`]. The loop calls `zero` once, and again for each stolen part.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// let pool = filch::ThreadPool::new(2)?;
    /// let words = ["to", "be", "or", "not", "to", "be"];
    /// let counts = pool.run(|mut w| {
    ///     w.map_reduce_from(&words[..], BTreeMap::new, |word| BTreeMap::from([(*word, 1)]), |mut all, more| {
    ///         more.into_iter().for_each(|(word, count)| *all.entry(word).or_insert(0) += count);
    ///         all
    ///     })
    /// });
    /// assert_eq!((counts["to"], counts["not"]), (2, 1));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn map_reduce_from<S, T, Z, M, R>(&mut self, source: S, zero: Z, map: M, reduce: R) -> T
    where
        S: IntoPar,
        T: Send,
        Z: Fn() -> T + Sync,
        M: Fn(S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.par(source).fold(zero, |sum, item| reduce(sum, map(item)), &reduce)
    }

    /// As [`Worker::fold_blocks`], but a function makes the neutral element, so it need be neither `Clone` nor `Sync`.
    ///
    /// Cost: that of [`Worker::fold_blocks`]. The loop calls `zero` once, and again for each stolen part.
    ///
    /// ```
    /// use std::cell::Cell; // not `Sync`
    ///
    /// let pool = filch::ThreadPool::new(2)?;
    /// let count = |sum: Cell<u64>, block: std::ops::Range<u64>| {
    ///     block.for_each(|n| sum.set(sum.get() + n));
    ///     sum
    /// };
    /// let add = |left: Cell<u64>, right: Cell<u64>| Cell::new(left.get() + right.get());
    /// let sum = pool.run(|mut w| w.fold_blocks_from(0..1000, || Cell::new(0), count, add).get());
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn fold_blocks_from<D, T, Z, F, R>(&mut self, source: D, zero: Z, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Send,
        Z: Fn() -> T + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        run(self.again(), source, &zero, &fold, &reduce)
    }
}

/// [`Worker::map_reduce_from`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let longest = |a: String, b: String| if b.len() > a.len() { b } else { a };
/// let names = ["Lace", "Wool", "Cilk", "rayon"];
/// assert_eq!(filch::map_reduce_from(&names[..], String::new, |name| name.to_string(), longest), "rayon");
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn map_reduce_from<S, T, Z, M, R>(source: S, zero: Z, map: M, reduce: R) -> T
where
    S: IntoPar,
    T: Send,
    Z: Fn() -> T + Sync,
    M: Fn(S::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    par(source).fold(zero, |sum, item| reduce(sum, map(item)), &reduce)
}

/// [`Worker::fold_blocks_from`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let found = filch::fold_blocks_from(
///     0..10,
///     Vec::new,
///     |mut found, block| {
///         found.extend(block.filter(|n| n % 3 == 0));
///         found
///     },
///     |left, right| [left, right].concat(),
/// );
/// assert_eq!(found, [0, 3, 6, 9]);
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn fold_blocks_from<D, T, Z, F, R>(source: D, zero: Z, fold: F, reduce: R) -> T
where
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    run(Closures::new(), source, &zero, &fold, &reduce)
}
