//! The parallel iterator, and its adaptors.
//!
//! Invariant: a parallel iterator runs nothing before a consumer is called.

use std::fmt;
use std::ops::Range;

use super::adapt::{Adapted, FilterMap, FlatMap, Map, MapInit};
use super::lend::{Indexed, Lend, Reversible, Whole};
use super::shape::{Chain, Chunks, Rev, Skip, StepBy, Take, Zip};
use super::source::IntoPar;
use crate::divide::forker::{Closures, Forker};

impl<S: Lend, K: Forker> IntoPar for Par<S, K> {
    type Item = S::Item;
    type Parts = S;

    fn into_parts(self) -> S {
        self.parts
    }
}

/// Makes a parallel iterator over anything that [can be looped over](IntoPar). It runs on the current worker's pool, or
/// on the [global one](crate::ThreadPool::global).
///
/// ```
/// let mut v = vec![3, 1, 2];
/// filch::par(&mut v).for_each(|x| *x += 1);
/// assert_eq!(filch::par(&v).max(), Some(&4));
/// assert_eq!(filch::par(0..1000).filter(|i| i % 2 == 0).count(), 500);
/// let strings: Vec<String> = filch::par(v).rev().map(|x| x.to_string()).collect();
/// assert_eq!(strings, ["3", "2", "4"]);
/// ```
///
/// ```compile_fail,E0277
/// filch::par("a b".split(' ')); // write `filch::iter::bridge("a b".split(' '))`
/// ```
#[inline]
pub fn par<S: IntoPar>(source: S) -> Par<S::Parts, Closures> {
    Par::new(source.into_parts(), Closures::new())
}

/// A parallel iterator: parts `S`, in a style `K` of forking. [`par`] and [`Worker::par`](crate::Worker::par) make it.
///
/// A method without a description of its own does what [`Iterator`]'s does.
#[must_use = "a parallel iterator runs nothing before a consumer, such as `for_each`, is called"]
pub struct Par<S, K> {
    pub(super) parts: S,
    pub(super) forker: K,
}

impl<S: fmt::Debug, K> fmt::Debug for Par<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Par").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl<S, K> Par<S, K> {
    #[inline]
    pub(crate) fn new(parts: S, forker: K) -> Self {
        Self { parts, forker }
    }

    #[inline]
    fn with<T>(self, adaptor: impl FnOnce(S) -> T) -> Par<T, K> {
        Par { parts: adaptor(self.parts), forker: self.forker }
    }

    #[inline]
    pub(super) fn adapted<A>(self, adaptor: A) -> Par<Adapted<S, A>, K> {
        self.with(|parts| Adapted::new(parts, adaptor))
    }
}

impl<S: Lend, K: Forker> Par<S, K> {
    /// Yields `f` of each item.
    ///
    /// ```
    /// let squares: Vec<u32> = filch::par(1..4).map(|i| i * i).collect();
    /// assert_eq!(squares, [1, 4, 9]);
    /// ```
    #[inline]
    pub fn map<B, F: Fn(S::Item) -> B + Sync>(self, f: F) -> Par<Adapted<S, Map<F>>, K> {
        self.adapted(Map(f))
    }

    /// Yields `f` of a state and each item. `init` makes a state for each worker that takes part: scratch memory, a
    /// random generator, a cache. If an item waits, and its worker runs other items of the loop meanwhile, those items
    /// get another state.
    ///
    /// Cost: two locks, for some nanoseconds each, for each block of some microseconds.
    ///
    /// ```
    /// let lengths: Vec<usize> = filch::par(0..3)
    ///     .map_init(String::new, |text, i| {
    ///         text.clear();
    ///         text.extend(std::iter::repeat_n('x', i));
    ///         text.len()
    ///     })
    ///     .collect();
    /// assert_eq!(lengths, [0, 1, 2]);
    /// ```
    #[inline]
    pub fn map_init<T, B, I, F>(self, init: I, f: F) -> Par<Adapted<S, MapInit<T, I, F>>, K>
    where
        T: Send,
        I: Fn() -> T + Sync,
        F: Fn(&mut T, S::Item) -> B + Sync,
    {
        self.adapted(MapInit::new(init, f))
    }

    /// Yields the items for which `f` holds.
    ///
    /// ```
    /// let even: Vec<u32> = filch::par(0..5).filter(|i| i % 2 == 0).collect();
    /// assert_eq!(even, [0, 2, 4]);
    /// ```
    #[allow(clippy::type_complexity, reason = "a closure has no name")]
    #[inline]
    pub fn filter<F>(self, f: F) -> Par<Adapted<S, FilterMap<impl Fn(S::Item) -> Option<S::Item> + Sync>>, K>
    where
        F: Fn(&S::Item) -> bool + Sync,
    {
        self.filter_map(move |item| if f(&item) { Some(item) } else { None })
    }

    /// Yields the value that `f` makes of each item, if it makes any.
    ///
    /// ```
    /// let numbers: Vec<u32> = filch::par(["1", "two", "3"]).filter_map(|word| word.parse().ok()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// ```
    #[inline]
    pub fn filter_map<B, F: Fn(S::Item) -> Option<B> + Sync>(self, f: F) -> Par<Adapted<S, FilterMap<F>>, K> {
        self.adapted(FilterMap(f))
    }

    /// Calls `f` on each item, and yields the items of the results. One worker iterates over each result, in sequence.
    ///
    /// ```
    /// let pairs: Vec<(u8, u8)> = filch::par(0..3).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    /// assert_eq!(pairs, [(1, 0), (2, 0), (2, 1)]);
    /// ```
    #[inline]
    pub fn flat_map<B: IntoIterator, F: Fn(S::Item) -> B + Sync>(self, f: F) -> Par<Adapted<S, FlatMap<F>>, K> {
        self.adapted(FlatMap(f))
    }

    /// Calls `f` on a reference to each item, and yields the items.
    ///
    /// ```
    /// let sum: u32 = filch::par(0..5).inspect(|i| assert!(*i < 5)).sum();
    /// assert_eq!(sum, 10);
    /// ```
    #[allow(clippy::type_complexity, reason = "a closure has no name")]
    #[inline]
    pub fn inspect<F>(self, f: F) -> Par<Adapted<S, Map<impl Fn(S::Item) -> S::Item + Sync>>, K>
    where
        F: Fn(&S::Item) + Sync,
    {
        self.map(move |item| {
            f(&item);
            item
        })
    }

    /// Yields the items of `other` after its own.
    ///
    /// ```
    /// let odd = filch::par(0..6).filter(|i| i % 2 == 1);
    /// assert_eq!(odd.chain([7, 9]).collect::<Vec<u32>>(), [1, 3, 5, 7, 9]);
    /// ```
    #[inline]
    pub fn chain<T>(self, other: T) -> Par<Chain<S, T::Parts>, K>
    where
        T: IntoPar<Item = S::Item>,
    {
        self.with(|parts| Chain(parts, other.into_parts()))
    }

    /// Yields copies of the items that the references point to.
    ///
    /// ```
    /// assert_eq!(filch::par(&[1, 2, 3]).copied().max(), Some(3));
    /// ```
    #[inline]
    pub fn copied<'t, T>(self) -> Par<Adapted<S, Map<impl Fn(&'t T) -> T + Sync>>, K>
    where
        S: Lend<Item = &'t T>,
        T: Copy + 't,
    {
        self.map(|item: &'t T| *item)
    }

    /// Yields clones of the items that the references point to.
    ///
    /// ```
    /// let names = ["Ann".to_owned(), "Bob".to_owned()];
    /// assert_eq!(filch::par(&names).cloned().collect::<Vec<String>>(), names);
    /// ```
    #[inline]
    pub fn cloned<'t, T>(self) -> Par<Adapted<S, Map<impl Fn(&'t T) -> T + Sync>>, K>
    where
        S: Lend<Item = &'t T>,
        T: Clone + 't,
    {
        self.map(|item: &'t T| item.clone())
    }
}

impl<S: Indexed, K: Forker> Par<S, K> {
    /// Yields each item with its index.
    ///
    /// ```
    /// let mut v = vec![10; 3];
    /// filch::par(&mut v).enumerate().for_each(|(i, x)| *x += i);
    /// assert_eq!(v, [10, 11, 12]);
    /// ```
    #[inline]
    pub fn enumerate(self) -> Par<Zip<Whole<Range<usize>>, S>, K> {
        self.with(|parts| Zip(Whole::new(0..usize::MAX), parts))
    }

    /// Yields pairs of items, and leaves out the rest of the longer source.
    ///
    /// ```
    /// let (x, y) = ([1, 2, 3], [4, 5, 6]);
    /// assert_eq!(filch::par(&x).zip(&y).map(|(x, y)| x * y).sum::<i32>(), 32);
    /// ```
    #[inline]
    pub fn zip<T: IntoPar<Parts: Indexed>>(self, other: T) -> Par<Zip<S, T::Parts>, K> {
        self.with(|parts| Zip(parts, other.into_parts()))
    }

    /// Yields the items in reverse.
    ///
    /// ```
    /// assert_eq!(filch::par(0..3).rev().collect::<Vec<u32>>(), [2, 1, 0]);
    /// ```
    ///
    /// # Panics
    /// When it runs, if a `usize` cannot count the items.
    #[inline]
    pub fn rev(self) -> Par<Rev<S>, K>
    where
        S: Reversible,
    {
        self.with(Rev)
    }

    /// Yields the first `items` items, or all if there are fewer.
    ///
    /// ```
    /// assert_eq!(filch::par(0..9).take(2).collect::<Vec<u32>>(), [0, 1]);
    /// ```
    #[inline]
    pub fn take(self, items: usize) -> Par<Take<S>, K> {
        self.with(|parts| Take::new(parts, items))
    }

    /// Leaves out the first `items` items, or all if there are fewer.
    ///
    /// ```
    /// assert_eq!(filch::par(0..9).skip(7).collect::<Vec<u32>>(), [7, 8]);
    /// ```
    #[inline]
    pub fn skip(self, items: usize) -> Par<Skip<S>, K> {
        self.with(|parts| Skip::new(parts, items))
    }

    /// Yields the first item, and from there every `step`-th item.
    ///
    /// ```
    /// assert_eq!(filch::par(0..9).step_by(4).collect::<Vec<u32>>(), [0, 4, 8]);
    /// ```
    ///
    /// # Panics
    /// If `step` is 0; and when it runs, if a `usize` cannot count the items.
    #[inline]
    pub fn step_by(self, step: usize) -> Par<StepBy<S>, K> {
        self.with(|parts| StepBy::new(parts, step))
    }

    /// Yields vectors of `size` items; the last may be shorter. For chunks of a slice, which are slices, loop over
    /// [`slice::chunks`] or [`ChunksMut`](super::ChunksMut).
    ///
    /// ```
    /// let chunks: Vec<Vec<u32>> = filch::par(0..5).chunks(2).collect();
    /// assert_eq!(chunks, [vec![0, 1], vec![2, 3], vec![4]]);
    /// assert_eq!(filch::par([1, 2, 3, 4].chunks(2)).map(|chunk| chunk[0]).sum::<u32>(), 4);
    /// ```
    ///
    /// # Panics
    /// If `size` is 0; and when it runs, if a `usize` cannot count the items.
    #[inline]
    pub fn chunks(self, size: usize) -> Par<Chunks<S>, K> {
        self.with(|parts| Chunks::new(parts, size))
    }
}
