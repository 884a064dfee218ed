//! Loops with a state for each worker, such as a scratch buffer.
//!
//! Invariant: an item has its state for itself.

use super::{Closures, Divisible, Level, Pool, Worker, run};
use crate::per_worker::PerWorker;

/// A block's work for a loop with states.
fn with_state<D, S, I>(states: &PerWorker<S, I>, f: impl Fn(&mut S, D::Item) + Sync) -> impl Fn((), D) + Sync
where
    D: Divisible,
    S: Send,
    I: Fn() -> S + Sync,
{
    move |(), block: D| {
        let mut state = states.get();
        block.into_iter().for_each(|item| f(&mut state, item));
    }
}

/// As [`with_state`], for a loop with results.
fn fold_with_state<D, S, I, T>(
    states: &PerWorker<S, I>,
    map: impl Fn(&mut S, D::Item) -> T + Sync,
    reduce: impl Fn(T, T) -> T + Sync,
) -> impl Fn(T, D) -> T + Sync
where
    D: Divisible,
    S: Send,
    I: Fn() -> S + Sync,
{
    move |sum, block: D| {
        let mut state = states.get();
        block.into_iter().fold(sum, |sum, item| reduce(sum, map(&mut state, item)))
    }
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::for_each`], with a state that `init` makes once for each worker that takes part: a scratch buffer, a
    /// generator of random numbers. If an item waits, and its worker runs other items of the loop meanwhile, these have
    /// another state.
    ///
    /// Cost: that of [`Worker::for_each`], and two locks for each block of some microseconds.
    ///
    /// For a state in a loop whose body needs the handle, or may fail, see [`PerWorker`].
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
    #[doc = include_str!("../hazard.md")]
    pub fn for_each_init<D, S, I, F>(&mut self, source: D, init: I, f: F)
    where
        D: Divisible,
        S: Send,
        I: Fn() -> S + Sync,
        F: Fn(&mut S, D::Item) + Sync,
    {
        let states = PerWorker::new(init);
        let fold = with_state(&states, f);
        run(self.again(), source, &|| (), &fold, &|(), ()| ());
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
    #[doc = include_str!("../hazard.md")]
    pub fn map_reduce_init<D, S, T, I, M, R>(&mut self, source: D, init: I, zero: T, map: M, reduce: R) -> T
    where
        D: Divisible,
        S: Send,
        T: Clone + Send + Sync,
        I: Fn() -> S + Sync,
        M: Fn(&mut S, D::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let states = PerWorker::new(init);
        let fold = fold_with_state(&states, map, &reduce);
        run(self.again(), source, &|| zero.clone(), &fold, &reduce)
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
#[doc = include_str!("../hazard.md")]
pub fn for_each_init<D, S, I, F>(source: D, init: I, f: F)
where
    D: Divisible,
    S: Send,
    I: Fn() -> S + Sync,
    F: Fn(&mut S, D::Item) + Sync,
{
    let states = PerWorker::new(init);
    let fold = with_state(&states, f);
    run(Closures::new(), source, &|| (), &fold, &|(), ()| ());
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
#[doc = include_str!("../hazard.md")]
pub fn map_reduce_init<D, S, T, I, M, R>(source: D, init: I, zero: T, map: M, reduce: R) -> T
where
    D: Divisible,
    S: Send,
    T: Clone + Send + Sync,
    I: Fn() -> S + Sync,
    M: Fn(&mut S, D::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let states = PerWorker::new(init);
    let fold = fold_with_state(&states, map, &reduce);
    run(Closures::new(), source, &|| zero.clone(), &fold, &reduce)
}
