//! Loops over ranges and slices, which split themselves.
//!
//! A loop halves its items, and lends the second half while it works on the first, so that thieves can take any items
//! not begun, however long an item takes. It halves a returned half again, unless that is small enough to run as one
//! block of some microseconds. So there is no grain to tune. Where tasks are [fine](crate::protocol::grain), nobody
//! asks, and the last block was short, the loop lends nothing and runs block after block. (Tzannes, Caragea, Barua,
//! Vishkin, *Lazy Binary-Splitting*, PPoPP 2010; there an empty deque triggers the split.)
//!
//! Where thieves leave some of the newest tasks to their owner, a half could not be stolen until as many other tasks lie
//! above it. So the loop lays that many empty pieces there, and works below them on its own half until thieves can take
//! no more.
//!
//! Invariant: each item is mapped once, and results are reduced in the order of the items.

mod fallible;
mod forker;
mod from;
mod state;
mod with;

pub use self::fallible::{try_for_each, try_map_reduce};
pub use self::from::{fold_blocks_from, map_reduce_from};
pub use self::state::{for_each_init, map_reduce_init};

use self::forker::{Closures, Forker, Lent};
use crate::divisible::Divisible;
use crate::home::current_home;
use crate::levels::Level;
use crate::pace::Pace;
use crate::pool::Pool;
use crate::thread_pool::ThreadPool;
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
}

impl<Z, F, R> Loop<'_, Z, F, R> {
    /// Runs the first block of `rest`.
    fn run_block<K, D, T>(&self, forker: &mut K, rest: D, sum: T, pace: &mut Pace) -> (T, D)
    where
        K: Forker,
        D: Divisible,
        F: for<'b> Fn(K::Branch<'b>, T, D) -> T,
    {
        let items = pace.block.min(rest.length());
        let (block, rest) = rest.cut(items);
        let sum = forker.again(|forker| (self.fold)(forker, sum, block));
        pace.adjust(items);
        (sum, rest)
    }
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
        if !pace.is_fine || forker.lends() {
            let at = rest.length() / 2;
            let (left, right) = rest.cut(at);
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
        let (rest, nothing) = rest.cut(at);
        return forker.lend(|mut forker| pad(&mut forker, pads - 1, rest, sum, plan, pace), nothing, &|_, _| ()).0;
    }
    let (mut sum, mut rest) = plan.run_block(forker, rest, sum, pace);
    while rest.length() > 0 && !forker.wants() {
        (sum, rest) = plan.run_block(forker, rest, sum, pace);
    }
    (sum, rest)
}

/// Runs a whole loop, whose blocks may fork.
fn run_with<K, D, T, Z, F, R>(forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let kept_back = forker.kept_back();
    // More levels would take too much of the thread's stack.
    const MOST: usize = 1 << 9;
    let pads = if kept_back <= MOST { kept_back } else { 0 };
    divide(forker, source, zero(), &Loop { zero, fold, reduce, pads }, &mut Pace::start())
}

/// Runs a whole loop.
fn run<K, D, T, Z, F, R>(forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    run_with(forker, source, zero, &|_: K::Branch<'_>, sum, block| fold(sum, block), reduce)
}

/// The largest number of items in a leaf of [`Worker::map_reduce_fixed`].
const FIXED_LEAF: usize = 512;

/// Runs a loop on a tree that depends only on the length.
fn divide_fixed<K, D, T, F, R>(mut forker: K, source: D, zero: &T, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Clone + Send + Sync,
    F: Fn(T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let length = source.length();
    if length <= FIXED_LEAF {
        return fold(zero.clone(), source);
    }
    let (left, right) = source.cut(length / 2);
    let (left, right) = forker.fork(
        |forker| divide_fixed(forker, left, zero, fold, reduce),
        |forker| divide_fixed(forker, right, zero, fold, reduce),
    );
    reduce(left, right)
}

/// Folds a block item by item.
fn fold_items<D, T>(map: impl Fn(D::Item) -> T + Sync, reduce: impl Fn(T, T) -> T + Sync) -> impl Fn(T, D) -> T + Sync
where
    D: Divisible,
{
    move |sum, block: D| block.into_iter().fold(sum, |sum, item| reduce(sum, map(item)))
}

impl<P: Pool, L: Level> Worker<'_, P, L> {
    /// Calls `f` on every item of a range or slice, perhaps in parallel. The loop splits itself: idle workers can take
    /// any items not begun, unless items are so short that this does not pay.
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
    pub fn for_each<D, F>(&mut self, source: D, f: F)
    where
        D: Divisible,
        F: Fn(D::Item) + Sync,
    {
        let fold = |(), block: D| block.into_iter().for_each(&f);
        self.fork_once(|w| run(w, source, &|| (), &fold, &|(), ()| ()));
    }

    /// Maps every item of a range or slice and reduces the results, in the order of the items. The loop splits when
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
    pub fn map_reduce<D, T, M, R>(&mut self, source: D, zero: T, map: M, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        M: Fn(D::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let fold = fold_items(map, &reduce);
        self.fork_once(|w| run(w, source, &|| zero.clone(), &fold, &reduce))
    }

    /// Folds a range or slice block by block and reduces the results, in the order of the items. The loop splits when
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
        self.fork_once(|w| run(w, source, &|| zero.clone(), &fold, &reduce))
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
    pub fn map_reduce_fixed<D, T, M, R>(&mut self, source: D, zero: T, map: M, reduce: R) -> T
    where
        D: Divisible,
        T: Clone + Send + Sync,
        M: Fn(D::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let fold = fold_items(map, &reduce);
        self.fork_once(|w| divide_fixed(w, source, &zero, &fold, &reduce))
    }

    /// Lends the handle to a function that takes one by value.
    fn fork_once<R>(&mut self, f: impl FnOnce(Worker<'_, P>) -> R) -> R {
        f(self.again())
    }
}

/// Runs `f` on the current worker, or on a worker of the global pool.
fn on_a_worker<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if current_home().is_none() { ThreadPool::global().install(f) } else { f() }
}

/// [`Worker::for_each`] in closure style: on the current worker's pool, or on the [global one](ThreadPool::global).
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
pub fn for_each<D, F>(source: D, f: F)
where
    D: Divisible,
    F: Fn(D::Item) + Sync,
{
    let fold = |(), block: D| block.into_iter().for_each(&f);
    on_a_worker(|| run(Closures, source, &|| (), &fold, &|(), ()| ()));
}

/// [`Worker::map_reduce`] in closure style: on the current worker's pool, or on the [global one](ThreadPool::global).
///
/// ```
/// assert_eq!(filch::map_reduce(0..0, 7, |i: i32| i, |a, b| a + b), 7);
/// assert_eq!(filch::map_reduce(0..101, 0, |i| i, |a, b| a + b), 5050);
/// ```
///
/// # Panics
/// As [`Worker::for_each`].
#[doc = include_str!("../hazard.md")]
pub fn map_reduce<D, T, M, R>(source: D, zero: T, map: M, reduce: R) -> T
where
    D: Divisible,
    T: Clone + Send + Sync,
    M: Fn(D::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let fold = fold_items(map, &reduce);
    on_a_worker(|| run(Closures, source, &|| zero.clone(), &fold, &reduce))
}

/// [`Worker::fold_blocks`] in closure style: on the current worker's pool, or on the [global one](ThreadPool::global).
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
    on_a_worker(|| run(Closures, source, &|| zero.clone(), &fold, &reduce))
}

/// [`Worker::map_reduce_fixed`] in closure style: on the current worker's pool, or on the [global one](ThreadPool::global).
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
pub fn map_reduce_fixed<D, T, M, R>(source: D, zero: T, map: M, reduce: R) -> T
where
    D: Divisible,
    T: Clone + Send + Sync,
    M: Fn(D::Item) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let fold = fold_items(map, &reduce);
    on_a_worker(|| divide_fixed(Closures, source, &zero, &fold, &reduce))
}
