//! Values that belong to workers: scratch buffers, generators, partial results.
//!
//! A worker that waits inside a use of its value may run another task that asks for the same value. So a value is taken
//! out while it is used, and a nested use finds another one, or makes it. A lock around the free values keeps this
//! sound whichever threads ask: workers of other pools, guests, threads outside all pools. No foreign code runs under
//! the lock.
//!
//! Invariant: each value is free, or taken by one user.

use std::fmt;
use std::iter;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, OnceLock, PoisonError};

use filch_queue::Padded;

use crate::protocol::state::MAX_WORKERS;
use crate::worker::home::current_home;

/// The values that nobody uses.
type Free<T> = Padded<Mutex<Vec<T>>>;

/// Room `n` has the places of 2ⁿ workers, so that rooms need not move when more workers come.
const ROOMS: usize = MAX_WORKERS.ilog2() as usize + 1;

/// A value for each worker, made when the worker first asks: a scratch buffer, a generator of random numbers, a partial
/// result.
///
/// [`get`](Self::get) takes the current worker's value out until the guard is dropped. If the worker meanwhile runs
/// another task that asks too, that task gets another value. So a worker may have several values, one for each level of
/// nesting. Threads outside all pools share one place. Workers of several pools may use the same `PerWorker`; those
/// with the same number share a place.
///
/// ```
/// use filch::{PerWorker, ThreadPool};
///
/// // A scratch buffer per worker, in a loop whose body forks.
/// let scratch = PerWorker::new(Vec::new);
/// let rows = vec![[3, 1, 2]; 100];
/// let pool = ThreadPool::new(2)?;
/// let sum = pool.run(|mut w| {
///     let median = |mut w: filch::Worker<'_>, row: &[u32; 3]| {
///         let mut buffer = scratch.get();
///         buffer.clear();
///         buffer.extend_from_slice(row);
///         w.join(|_| buffer.sort_unstable(), |_| ());
///         buffer[1]
///     };
///     w.map_reduce_with(&rows[..], 0, median, |a, b| a + b)
/// });
/// assert_eq!(sum, 200);
///
/// // A count per worker.
/// let counts = PerWorker::new(|| 0);
/// filch::for_each(0..1000, |_| *counts.get() += 1);
/// assert_eq!(counts.into_iter().sum::<u32>(), 1000);
/// # Ok::<(), filch::BuildError>(())
/// ```
///
/// It may be a static:
///
/// ```
/// use filch::PerWorker;
///
/// static WORDS: PerWorker<Vec<String>> = PerWorker::new(Vec::new);
/// filch::join(|| WORDS.get().push("work".to_owned()), || WORDS.get().push("stealing".to_owned()));
/// ```
pub struct PerWorker<T, F = fn() -> T> {
    rooms: [OnceLock<Box<[Free<T>]>>; ROOMS],
    outside: Free<T>,
    init: F,
}

impl<T, F> PerWorker<T, F> {
    /// Creates a `PerWorker` without values. `init` makes each value, on the worker that asks for it, and may ask for
    /// the worker's [number](crate::current_index).
    ///
    /// Nothing is allocated until somebody asks.
    pub const fn new(init: F) -> Self {
        Self { rooms: [const { OnceLock::new() }; ROOMS], outside: Padded(Mutex::new(Vec::new())), init }
    }

    /// Returns the place of a worker, or for `None` the place of all threads outside all pools.
    fn free(&self, worker: Option<usize>) -> &Mutex<Vec<T>> {
        let Some(index) = worker else { return &self.outside.0 };
        let room = (index + 1).ilog2() as usize;
        let places = || (0..1_usize << room).map(|_| Padded(Mutex::new(Vec::new()))).collect();
        &self.rooms[room].get_or_init(places)[index + 1 - (1 << room)].0
    }

    /// Returns all values, except those whose guards were leaked, in the order of the workers' numbers.
    ///
    /// ```
    /// let mut buffers = filch::PerWorker::new(|| vec![0; 8]);
    /// filch::for_each(0..100, |n| buffers.get()[n % 8] = n);
    /// buffers.iter_mut().for_each(Vec::clear);
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let rooms = self.rooms.iter_mut().filter_map(OnceLock::get_mut).flatten();
        let places = rooms.chain(iter::once(&mut self.outside));
        places.flat_map(|free| free.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T, F: Fn() -> T> PerWorker<T, F> {
    /// Takes the current worker's value until the guard is dropped, and makes one if there is none.
    ///
    /// A panic meanwhile leaves the value as it is.
    ///
    /// Cost: some tens of nanoseconds, for two uncontended locks and two moves of the value. In a loop, take it once
    /// per block ([`fold_blocks`](crate::fold_blocks)), or let [`for_each_init`](crate::for_each_init) do so. A
    /// large value belongs in a box.
    ///
    /// ```
    /// let counts = filch::PerWorker::new(|| 0);
    /// *counts.get() += 1;
    /// let (outer, inner) = (counts.get(), counts.get());
    /// assert_eq!((*outer, *inner), (1, 0), "a nested use has another value");
    /// ```
    ///
    /// # Panics
    /// If `init` panics.
    pub fn get(&self) -> PerWorkerGuard<'_, T> {
        let free = self.free(current_home().map(|home| home.index));
        let value = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        PerWorkerGuard { value: Some(value.unwrap_or_else(|| (self.init)())), free }
    }
}

impl<T, F> fmt::Debug for PerWorker<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker").finish_non_exhaustive()
    }
}

/// The values, except those whose guards were leaked, in the order of the workers' numbers.
impl<T, F> IntoIterator for PerWorker<T, F> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        let places = self.rooms.into_iter().filter_map(OnceLock::into_inner).flatten().chain(iter::once(self.outside));
        let values: Vec<T> =
            places.flat_map(|free| free.0.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        values.into_iter()
    }
}

/// A worker's value during a use: see [`PerWorker::get`].
#[must_use = "the value is in use only while the guard exists"]
pub struct PerWorkerGuard<'p, T> {
    /// Present until the guard is dropped.
    value: Option<T>,
    free: &'p Mutex<Vec<T>>,
}

const PRESENT: &str = "the value leaves with its guard";

impl<T> Deref for PerWorkerGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect(PRESENT)
    }
}

impl<T> DerefMut for PerWorkerGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(PRESENT)
    }
}

impl<T> Drop for PerWorkerGuard<'_, T> {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).extend(self.value.take());
    }
}

impl<T: fmt::Debug> fmt::Debug for PerWorkerGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
