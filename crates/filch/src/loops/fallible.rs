//! Loops that end at the first error.

#![expect(clippy::redundant_closure, reason = "as in `iter`: a closure that is called by reference may stay a call")]

use crate::iter::{IntoPar, par};
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::plumbing::Pool;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::for_each`], but `f` may fail, and the loop ends at the first error: items not begun are left out.
    /// So it can also be [stopped](crate::Stop::check).
    ///
    /// Cost: that of [`Worker::for_each`], and a load and a branch for each item.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let read = |text: &&str| text.parse::<u32>().map(|_| ());
    /// assert!(pool.run(|mut w| w.try_for_each(&["1", "2"][..], read)).is_ok());
    /// assert!(pool.run(|mut w| w.try_for_each(&["1", "two"][..], read)).is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// One of the errors of `f`, the first in time.
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn try_for_each<S, E, F>(&mut self, source: S, f: F) -> Result<(), E>
    where
        S: IntoPar,
        E: Send,
        F: Fn(S::Item) -> Result<(), E> + Sync,
    {
        self.par(source).try_for_each(f)
    }

    /// As [`Worker::map_reduce`], but `map` may fail, and the loop ends at the first error: items not begun are left
    /// out. So it can also be [stopped](crate::Stop::check).
    ///
    /// Cost: that of [`Worker::map_reduce`], and a load and a branch for each item.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let sum = |texts: &[&str]| {
    ///     pool.run(|mut w| w.try_map_reduce(texts, 0, |text| text.parse::<u32>(), |a, b| a + b))
    /// };
    /// assert_eq!(sum(&["1", "2", "3"]), Ok(6));
    /// assert!(sum(&["1", "two", "3"]).is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// One of the errors of `map`, the first in time.
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn try_map_reduce<S, T, E, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> Result<T, E>
    where
        S: IntoPar,
        T: Clone + Send + Sync,
        E: Send,
        M: Fn(S::Item) -> Result<T, E> + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.par(source).map(map).until_error(|oks| oks.fold(|| zero.clone(), |a, b| reduce(a, b), &reduce))
    }
}

/// [`Worker::try_for_each`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let is_small = |n: u32| if n < 100 { Ok(()) } else { Err(n) };
/// assert_eq!(filch::try_for_each(0..100, is_small), Ok(()));
/// assert_eq!(filch::try_for_each(0..101, is_small), Err(100));
/// ```
///
/// # Errors
/// One of the errors of `f`, the first in time.
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn try_for_each<S, E, F>(source: S, f: F) -> Result<(), E>
where
    S: IntoPar,
    E: Send,
    F: Fn(S::Item) -> Result<(), E> + Sync,
{
    par(source).try_for_each(f)
}

/// [`Worker::try_map_reduce`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let inverse = |n: u64| if n == 0 { Err("division by zero") } else { Ok(1_000 / n) };
/// assert_eq!(filch::try_map_reduce(1..4, 0, inverse, |a, b| a + b), Ok(1_833));
/// assert_eq!(filch::try_map_reduce(0..4, 0, inverse, |a, b| a + b), Err("division by zero"));
/// ```
///
/// # Errors
/// One of the errors of `map`, the first in time.
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn try_map_reduce<S, T, E, M, R>(source: S, zero: T, map: M, reduce: R) -> Result<T, E>
where
    S: IntoPar,
    T: Clone + Send + Sync,
    E: Send,
    M: Fn(S::Item) -> Result<T, E> + Sync,
    R: Fn(T, T) -> T + Sync,
{
    par(source).map(map).until_error(|oks| oks.fold(|| zero.clone(), |a, b| reduce(a, b), &reduce))
}
