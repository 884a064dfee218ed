//! Loops whose body gets the worker's handle, to fork on the fast path too. In closure style any body can fork.
//!
//! Invariant: a body's handle has the exact head, so thieves see the body's forks like any others.

use crate::divide::divisible::Divisible;
use crate::divide::run::{Failure, divide_fixed, run_with};
use crate::iter::{Indexed, IntoPar, Lend};
use crate::tasks::{handle::Worker, levels::Level};
use crate::worker::plumbing::Pool;

/// The blocks of a loop over `S`.
type BlockOf<'a, S> = <<S as IntoPar>::Parts as Lend>::Source<'a>;

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::for_each`], but `f` gets the handle of the worker that runs the item. So the body of a loop can
    /// fork, or loop in turn, as fast as any other code.
    ///
    /// Cost: that of [`Worker::for_each`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let mut rows = vec![vec![1; 100]; 10];
    /// pool.run(|mut w| w.for_each_with(&mut rows[..], |mut w, row| w.for_each(&mut row[..], |x| *x += 1)));
    /// assert!(rows.iter().flatten().all(|&x| x == 2));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// The outer handle is out of reach meanwhile:
    ///
    /// ```compile_fail
    /// filch::ThreadPool::new(1).unwrap().run(|mut w| w.for_each_with(0..9, |_, _| w.poll()));
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn for_each_with<S, F>(&mut self, source: S, f: F)
    where
        S: IntoPar,
        F: for<'b> Fn(Worker<'b, P>, S::Item) + Sync,
    {
        self.map_reduce_with(source, (), f, |(), ()| ());
    }

    /// As [`Worker::map_reduce`], but `map` gets the handle of the worker that runs it.
    ///
    /// Cost: that of [`Worker::map_reduce`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let rows = vec![vec![1_u64; 100]; 10];
    /// let sum = pool.run(|mut w| {
    ///     w.map_reduce_with(&rows[..], 0, |mut w, row| w.map_reduce(&row[..], 0, |&x| x, |a, b| a + b), |a, b| a + b)
    /// });
    /// assert_eq!(sum, 1000);
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn map_reduce_with<S, T, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> T
    where
        S: IntoPar,
        T: Clone + Send + Sync,
        M: for<'b> Fn(Worker<'b, P>, S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let mut parts = source.into_parts();
        let fold = |mut w: Worker<'_, P>, sum, block: BlockOf<'_, S>| {
            block.into_iter().fold(sum, |sum, item| reduce(sum, map(w.again(), item)))
        };
        run_with(self.again(), parts.source(), &|| zero.clone(), &fold, &reduce)
    }

    /// As [`Worker::map_reduce_fixed`], but `map` gets the handle of the worker that runs it.
    ///
    /// Cost: that of [`Worker::map_reduce_fixed`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let rows = vec![vec![0.1; 1000]; 1000];
    /// let row = |mut w: filch::Worker<'_>, row: &Vec<f64>| w.map_reduce_fixed(row, 0.0, |x| *x, |a, b| a + b);
    /// let sum = || pool.run(|mut w| w.map_reduce_fixed_with(&rows, 0.0, row, |a, b| a + b));
    /// assert_eq!(sum().to_bits(), sum().to_bits());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn map_reduce_fixed_with<S, T, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> T
    where
        S: IntoPar<Parts: Indexed>,
        T: Clone + Send + Sync,
        M: for<'b> Fn(Worker<'b, P>, S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let mut parts = source.into_parts();
        let fold = |mut w: Worker<'_, P>, sum, block: BlockOf<'_, S>| {
            block.into_iter().fold(sum, |sum, item| reduce(sum, map(w.again(), item)))
        };
        divide_fixed(self.again(), parts.source(), &|| zero.clone(), &fold, &reduce)
    }

    /// As [`Worker::fold_blocks_from`], but `fold` gets the handle of the worker that runs the block.
    ///
    /// Cost: that of [`Worker::fold_blocks`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let found = pool.run(|mut w| {
    ///     w.fold_blocks_with(
    ///         0..10,
    ///         Vec::new,
    ///         |mut w, mut pairs, block| {
    ///             pairs.extend(block.map(|n: u32| w.join(|_| n, |_| n * n)));
    ///             pairs
    ///         },
    ///         |left, right| [left, right].concat(),
    ///     )
    /// });
    /// assert_eq!(found[9], (9, 81));
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn fold_blocks_with<D, T, Z, F, R>(&mut self, source: D, zero: Z, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Send,
        Z: Fn() -> T + Sync,
        F: for<'b> Fn(Worker<'b, P>, T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        run_with(self.again(), source, &zero, &fold, &reduce)
    }

    /// As [`Worker::try_for_each`], but `f` gets the handle of the worker that runs the item.
    ///
    /// Cost: that of [`Worker::try_for_each`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let rows = [["1", "2"], ["3", "four"]];
    /// let parse = |text: &&str| text.parse::<u32>().map(drop);
    /// let read = pool.run(|mut w| w.try_for_each_with(&rows[..], |mut w, row| w.try_for_each(&row[..], parse)));
    /// assert!(read.is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// One of the errors of `f`, the first in time.
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn try_for_each_with<S, E, F>(&mut self, source: S, f: F) -> Result<(), E>
    where
        S: IntoPar,
        E: Send,
        F: for<'b> Fn(Worker<'b, P>, S::Item) -> Result<(), E> + Sync,
    {
        self.try_map_reduce_with(source, (), f, |(), ()| ())
    }

    /// As [`Worker::try_map_reduce`], but `map` gets the handle of the worker that runs it.
    ///
    /// Cost: that of [`Worker::try_map_reduce`].
    ///
    /// ```
    /// let pool = filch::ThreadPool::new(2)?;
    /// let double = |text: &&str| text.parse::<u32>().map(|n| 2 * n);
    /// let sum = |rows: &[[&str; 2]]| {
    ///     pool.run(|mut w| {
    ///         let row = |mut w: filch::Worker<'_>, row: &[&str; 2]| w.try_map_reduce(&row[..], 0, double, |a, b| a + b);
    ///         w.try_map_reduce_with(rows, 0, row, |a, b| a + b)
    ///     })
    /// };
    /// assert_eq!(sum(&[["1", "2"], ["3", "4"]]), Ok(20));
    /// assert!(sum(&[["1", "2"], ["3", "four"]]).is_err());
    /// # Ok::<(), filch::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// One of the errors of `map`, the first in time.
    ///
    /// # Panics
    /// As [`Worker::for_each`].
    #[doc = include_str!("../tasks/hazard.md")]
    pub fn try_map_reduce_with<S, T, E, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> Result<T, E>
    where
        S: IntoPar,
        T: Clone + Send + Sync,
        E: Send,
        M: for<'b> Fn(Worker<'b, P>, S::Item) -> Result<T, E> + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let (mut parts, failure) = (source.into_parts(), Failure::new());
        let fold = |mut w: Worker<'_, P>, mut sum: T, block: BlockOf<'_, S>| {
            for item in block {
                if failure.has_happened() {
                    break;
                }
                match map(w.again(), item) {
                    Ok(value) => sum = reduce(sum, value),
                    Err(error) => failure.keep(error),
                }
            }
            sum
        };
        let sum = run_with(self.again(), parts.source(), &|| zero.clone(), &fold, &reduce);
        failure.end(sum)
    }
}
