//! Loops whose body gets the worker's handle, so that it forks on the fast path too. In closure style any body forks.
//!
//! Invariant: a body's handle has the exact head, so thieves see what the body forks like any other fork.

use super::fallible::end_early;
use super::{Divisible, Level, Pool, Worker, run_with};

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// As [`Worker::for_each`], but `f` gets the handle of the worker that runs the item. So the body of a loop can fork,
    /// or loop in turn, as fast as any other code.
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
    #[doc = include_str!("../hazard.md")]
    pub fn for_each_with<D, F>(&mut self, source: D, f: F)
    where
        D: Divisible,
        F: for<'b> Fn(Worker<'b, P>, D::Item) + Sync,
    {
        let fold = |mut w: Worker<'_, P>, (), block: D| block.into_iter().for_each(|item| f(w.again(), item));
        run_with(self.again(), source, &|| (), &fold, &|(), ()| ());
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
    #[doc = include_str!("../hazard.md")]
    pub fn map_reduce_with<D, T, M, R>(&mut self, source: D, zero: T, map: M, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        M: for<'b> Fn(Worker<'b, P>, D::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let fold = |mut w: Worker<'_, P>, sum: T, block: D| {
            block.into_iter().fold(sum, |sum, item| reduce(sum, map(w.again(), item)))
        };
        run_with(self.again(), source, &|| zero.clone(), &fold, &reduce)
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
    #[doc = include_str!("../hazard.md")]
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
    #[doc = include_str!("../hazard.md")]
    pub fn try_for_each_with<D, E, F>(&mut self, source: D, f: F) -> Result<(), E>
    where
        D: Divisible,
        E: Send,
        F: for<'b> Fn(Worker<'b, P>, D::Item) -> Result<(), E> + Sync,
    {
        end_early(self.again(), source, &|| (), &f, &|(), ()| ())
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
    #[doc = include_str!("../hazard.md")]
    pub fn try_map_reduce_with<D, T, E, M, R>(&mut self, source: D, zero: T, map: M, reduce: R) -> Result<T, E>
    where
        D: Divisible,
        T: Clone + Send + Sync,
        E: Send,
        M: for<'b> Fn(Worker<'b, P>, D::Item) -> Result<T, E> + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        end_early(self.again(), source, &|| zero.clone(), &map, &reduce)
    }
}
