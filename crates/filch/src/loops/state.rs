//! Loops with a state for each worker, such as a scratch buffer.
//!
//! Invariant: no two items use a state at the same time.

#![expect(clippy::redundant_closure, reason = "as in `iter`: a closure that is called by reference may stay a call")]

use crate::iter::{IntoPar, par};
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::plumbing::Pool;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::for_each`], with a state that `init` makes once for each worker that takes part: a scratch buffer,
    /// a generator of random numbers. If an item waits, and its worker runs other items of the loop meanwhile, those
    /// items get another state.
    ///
    /// Cost: that of [`Worker::for_each`], and two locks for each block of some microseconds.
    ///
    /// For a state in a loop whose body needs the handle, or may fail, see [`PerWorker`](crate::PerWorker).
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let mut rows = vec![[3, 1, 2]; 100];
    /// pool.run(|mut w| {
    ///     w.for_each_init(&mut rows[..], Vec::new, |scratch, row| {
    ///         scratch.clear();
    ///         scratch.extend_from_slice(row);
    ///         scratch.sort_unstable();
    ///         row.copy_from_slice(scratch);
    ///     });
    /// });
    /// assert!(rows.iter().all(|row| *row == [1, 2, 3]));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`]; also if `init` panics.
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn for_each_init<S, T, I, F>(&mut self, source: S, init: I, f: F)
    where
        S: IntoPar,
        T: Send,
        I: Fn() -> T + Sync,
        F: Fn(&mut T, S::Item) + Sync,
    {
        self.par(source).map_init(init, f).for_each(drop);
    }

    /// As [`Worker::map_reduce`], with a state for each worker, as in [`Worker::for_each_init`].
    ///
    /// Cost: that of [`Worker::map_reduce`], and two locks for each block of some microseconds.
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let digits = |text: &mut String, n: u32| {
    ///     use std::fmt::Write;
    ///     text.clear();
    ///     write!(text, "{n}").unwrap();
    ///     text.len()
    /// };
    /// let total = pool.run(|mut w| w.map_reduce_init(0..1000, String::new, 0, digits, |a, b| a + b));
    /// assert_eq!(total, 10 + 2 * 90 + 3 * 900);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each_init`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn map_reduce_init<S, U, T, I, M, R>(&mut self, source: S, init: I, zero: T, map: M, reduce: R) -> T
    where
        S: IntoPar,
        U: Send,
        T: Clone + Send + Sync,
        I: Fn() -> U + Sync,
        M: Fn(&mut U, S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.par(source).map_init(init, map).fold(|| zero.clone(), |a, b| reduce(a, b), &reduce)
    }
}

/// [`Worker::for_each_init`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
///
/// let made = AtomicUsize::new(0);
/// let mut v = vec![0; 10_000];
/// filch::for_each_init(&mut v[..], || made.fetch_add(1, Relaxed), |worker, x| *x = *worker);
/// assert!(made.into_inner() <= filch::ThreadPool::global().workers());
/// ```
///
/// # Panics
/// As [`Worker::for_each_init`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn for_each_init<S, T, I, F>(source: S, init: I, f: F)
where
    S: IntoPar,
    T: Send,
    I: Fn() -> T + Sync,
    F: Fn(&mut T, S::Item) + Sync,
{
    par(source).map_init(init, f).for_each(drop);
}

/// [`Worker::map_reduce_init`] in closure style: on the current worker's pool, or on the [global
/// one](crate::ThreadPool::global).
///
/// ```
/// let is_palindrome = |reversed: &mut String, word: &&str| {
///     reversed.clear();
///     reversed.extend(word.chars().rev());
///     u32::from(reversed == word)
/// };
/// let words = ["level", "steal", "noon"];
/// assert_eq!(filch::map_reduce_init(&words[..], String::new, 0, is_palindrome, |a, b| a + b), 2);
/// ```
///
/// # Panics
/// As [`Worker::for_each_init`].
#[doc = include_str!("../tasks/hazard.md")]
pub fn map_reduce_init<S, U, T, I, M, R>(source: S, init: I, zero: T, map: M, reduce: R) -> T
where
    S: IntoPar,
    U: Send,
    T: Clone + Send + Sync,
    I: Fn() -> U + Sync,
    M: Fn(&mut U, S::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    par(source).map_init(init, map).fold(|| zero.clone(), |a, b| reduce(a, b), &reduce)
}
