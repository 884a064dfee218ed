//! Loops, which split themselves.
//!
//! A loop halves its items, and lends the second half while it works on the first: until there is a half for each
//! worker. Then it lends all but its next block, so that thieves can take any items not begun, however long an item
//! takes. Once a block was short, the loop lends half of its rest only where fewer tasks are shared than workers look
//! for some, and otherwise runs block after block, of some microseconds each. So there is no grain to tune. (Tzannes,
//! Caragea, Barua, Vishkin, *Lazy Binary-Splitting*, PPoPP 2010; there an empty deque triggers the split.)
//!
//! A short loop would spend more on its first halves and looks at the clock than on its items. So a loop within a block
//! of several items of another loop, whose last block was short, begins with a block of some of its items, and lends
//! nothing: together these loops take about as long as that block, and then the outer loop lends far more. If they do
//! not, the loop goes on as any other.
//!
//! Where thieves leave some of the newest tasks to their owner, a half could not be stolen until as many other tasks
//! lie above it. So the loop pushes that many empty tasks over the lent half, and works below them on its own half
//! until thieves can take no more.
//!
//! Invariant: each item is mapped once, and results are reduced in the order of the items.

mod drawn;
mod fallible;
mod forker;
mod from;
mod state;
mod with;

pub use self::fallible::{try_for_each, try_map_reduce};
pub use self::forker::{Closures, Forker};
pub use self::from::{fold_blocks_from, map_reduce_from};
pub use self::state::{for_each_init, map_reduce_init};

pub(crate) use self::fallible::Failure;
pub(crate) use self::forker::Job;

use self::drawn::feed;
use self::forker::{Lent, Place};
use crate::divisible::Divisible;
use crate::iter::{Indexed, IntoPar, Par, par};
use crate::levels::Level;
use crate::pace::Pace;
use crate::pool::Pool;
use crate::worker::Worker;

/// The operations of a loop.
struct Loop<'l, Z, F, R> {
    /// Makes the neutral sum.
    zero: &'l Z,
    /// Adds a block's items to a sum, perhaps with forks of its own.
    fold: &'l F,
    reduce: &'l R,
    /// How many empty pieces lie above what the loop lends: as many as thieves leave to the worker.
    pads: usize,
    /// How many times a loop halves its rest before it runs a block.
    halvings: u32,
}

impl<Z, F, R> Loop<'_, Z, F, R> {
    /// Runs the first block of `rest`. Not inlined, so that the compiler has all registers for the items.
    #[inline(never)]
    fn run_block<K, D, T>(&self, forker: &mut K, rest: D, sum: T, pace: &mut Pace) -> (T, D)
    where
        K: Forker,
        D: Divisible,
        F: for<'b> Fn(K::Branch<'b>, T, D) -> T,
    {
        let items = pace.block.min(rest.length());
        let (block, rest) = cut(rest, items);
        let within = pace.within(items);
        if within.is_some() {
            forker.tell(within);
        }
        let sum = forker.within(|forker| (self.fold)(forker, sum, block));
        let outer = pace.adjust(items, rest.length());
        if within.is_some() || outer.is_some() {
            forker.tell(outer);
        }
        (sum, rest)
    }
}

/// Cuts a source in two.
///
/// # Panics
/// If a part says that it has more items than it can have: the loop might never end, nor its recursion.
#[inline]
fn cut<D: Divisible>(source: D, at: usize) -> (D, D) {
    let (length, is_counted) = (source.length(), source.is_counted());
    let (left, right) = source.cut(at);
    let parts = [left.length(), right.length()];
    assert!(
        !is_counted || parts[0] <= at && parts[1] <= length.saturating_sub(at),
        "a source of {length} items, cut at {at}, has parts of {parts:?} items: its `Divisible::length` is wrong"
    );
    (left, right)
}

/// Runs a loop: folds items into `sum`, and lends items not begun.
fn divide<K, D, T, Z, F, R>(mut forker: K, source: D, mut sum: T, plan: &Loop<'_, Z, F, R>, pace: &mut Pace) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let mut rest = source;
    while rest.length() > pace.block {
        if plan.pads > 0 && pace.is_fine {
            (sum, rest) = pad(&mut forker, plan.pads, rest, sum, plan, pace);
            if rest.length() <= pace.block {
                break;
            }
        }
        if pace.lends(|| forker.lends()) {
            let at = pace.keeps(rest.length(), plan.halvings);
            let (left, right) = cut(rest, at);
            let (below, lent) = forker.lend(|forker| divide(forker, left, sum, plan, pace), right, &|forker, right| {
                divide(forker, right, (plan.zero)(), plan, &mut Pace::start())
            });
            match lent {
                Lent::Done(above) => return (plan.reduce)(below, above),
                Lent::Back(right) => (sum, rest) = (below, right),
            }
        } else {
            (sum, rest) = plan.run_block(&mut forker, rest, sum, pace);
        }
    }
    if rest.length() == 0 {
        sum
    } else if plan.pads > 0 && !pace.is_fine {
        // It may take long.
        pad(&mut forker, plan.pads, rest, sum, plan, pace).0
    } else {
        plan.run_block(&mut forker, rest, sum, pace).0
    }
}

/// Lends empty pieces until there are more tasks than thieves leave to the worker, at most `pads`. Runs blocks of
/// `rest`, one at least, as long as thieves can take what was lent before. Returns the sum and what remains.
fn pad<K, D, T, Z, F, R>(
    forker: &mut K,
    pads: usize,
    rest: D,
    sum: T,
    plan: &Loop<'_, Z, F, R>,
    pace: &mut Pace,
) -> (T, D)
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    if pads > 0 && forker.wants() {
        let at = rest.length();
        let (rest, nothing) = cut(rest, at);
        return forker.lend(|mut forker| pad(&mut forker, pads - 1, rest, sum, plan, pace), nothing, &|_, _| ()).0;
    }
    let (mut sum, mut rest) = plan.run_block(forker, rest, sum, pace);
    while rest.length() > 0 && !forker.wants() {
        (sum, rest) = plan.run_block(forker, rest, sum, pace);
    }
    (sum, rest)
}

/// Runs a whole loop on a worker. Its blocks may fork.
fn run_with<K, D, T, Z, F, R>(mut forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    // More levels would take too much of the thread's stack.
    const MOST: usize = 1 << 9;
    let Place { workers, kept_back, outer } = forker.place();
    let pads = if kept_back <= MOST { kept_back } else { 0 };
    // As many as make a half for each worker. Where pads follow, a half lends the rest.
    let halvings = if pads > 0 { u32::MAX } else { workers.ilog2() + 1 };
    let plan = Loop { zero, fold, reduce, pads, halvings };
    if D::IS_DRAWN {
        feed(forker, source, zero(), &plan)
    } else if workers == 1 {
        // Nobody ever wants work.
        forker.within(|forker| fold(forker, zero(), source))
    } else {
        let mut pace = Pace::start_within(outer, source.length());
        divide(forker, source, zero(), &plan, &mut pace)
    }
}

/// A whole loop, perhaps on a tree that depends only on the length.
struct Whole<'l, const IS_FIXED: bool, D, Z, F, R> {
    source: D,
    zero: &'l Z,
    fold: &'l F,
    reduce: &'l R,
}

impl<const IS_FIXED: bool, D, T, Z, F, R> Job for Whole<'_, IS_FIXED, D, Z, F, R>
where
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    type Out = T;

    #[inline]
    fn run<K: Forker>(self, forker: K) -> T {
        let Self { source, zero, fold, reduce } = self;
        let fold = |_: K::Branch<'_>, sum, block| fold(sum, block);
        if IS_FIXED {
            divide_fixed(forker, source, zero, &fold, reduce)
        } else {
            run_with(forker, source, zero, &fold, reduce)
        }
    }
}

/// Runs a whole loop: `fold` adds a block to a sum, at first `zero`, and `reduce` combines sums.
#[inline]
pub(crate) fn run<K, D, T, Z, F, R>(forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    run_on::<false, _, _, _, _, _, _>(forker, source, zero, fold, reduce)
}

/// As [`run`], on a tree that depends only on the length if it `IS_FIXED`.
#[inline]
pub(crate) fn run_on<const IS_FIXED: bool, K, D, T, Z, F, R>(forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    forker.start(Whole::<IS_FIXED, _, _, _, _> { source, zero, fold, reduce })
}

/// The largest number of items in a leaf of [`Worker::map_reduce_fixed`].
const FIXED_LEAF: usize = 512;

/// Runs a loop on a tree that depends only on the length. Its leaves may fork.
fn divide_fixed<K, D, T, Z, F, R>(mut forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let length = source.length();
    if length <= FIXED_LEAF {
        return forker.within(|forker| fold(forker, zero(), source));
    }
    let (left, right) = cut(source, length / 2);
    let (left, right) = forker.fork(
        |forker| divide_fixed(forker, left, zero, fold, reduce),
        |forker| divide_fixed(forker, right, zero, fold, reduce),
    );
    reduce(left, right)
}

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
    #[doc = include_str!("../hazard.md")]
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
    #[doc = include_str!("../hazard.md")]
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
    #[doc = include_str!("../hazard.md")]
    pub fn fold_blocks<D, T, F, R>(&mut self, source: D, zero: T, fold: F, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        F: Fn(T, D) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        run(self.again(), source, &|| zero.clone(), &fold, &reduce)
    }

    /// As [`Worker::map_reduce`], but the bracketing depends only on the number of items: halves down to at most 512
    /// items, and each leaf from the left. So a sum of floating-point numbers is the same in every run, on any number
    /// of workers.
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
    #[doc = include_str!("../hazard.md")]
    pub fn map_reduce_fixed<S, T, M, R>(&mut self, source: S, zero: T, map: M, reduce: R) -> T
    where
        S: IntoPar<Parts: Indexed>,
        T: Clone + Send + Sync,
        M: Fn(S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.par(source).fold_fixed(|| zero.clone(), |sum, item| reduce(sum, map(item)), &reduce)
    }

    /// [`par`](crate::par) in handle style: a parallel iterator over what can be looped over.
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
#[doc = include_str!("../hazard.md")]
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
#[doc = include_str!("../hazard.md")]
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
#[doc = include_str!("../hazard.md")]
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
#[doc = include_str!("../hazard.md")]
pub fn map_reduce_fixed<S, T, M, R>(source: S, zero: T, map: M, reduce: R) -> T
where
    S: IntoPar<Parts: Indexed>,
    T: Clone + Send + Sync,
    M: Fn(S::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    par(source).fold_fixed(|| zero.clone(), |sum, item| reduce(sum, map(item)), &reduce)
}
