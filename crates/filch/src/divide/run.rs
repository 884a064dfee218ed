//! Runs a loop: divides its items, and lends those not begun.
//!
//! Invariants: each item is mapped once, and results are reduced in the order of the items. After an error no block
//! maps another item, so a loop ends about as soon as the items that run then. One worker at a time holds, and draws
//! from, a source that draws its items bit by bit, such as a [bridge](crate::iter::bridge).

use std::sync::{Mutex, PoisonError};

use filch_memory::{Atomic, Memory, Native, Ordering};

use super::block_size::Pace;
use super::divisible::{Divisible, cut};
use super::forker::{Forker, Lent, Place, Work};
#[cfg(feature = "scale")]
use super::pieces::Pieces;
use crate::protocol::sharer::Time;

/// The operations of a loop.
struct Loop<'l, Z, F, R> {
    /// Makes the neutral sum.
    zero: &'l Z,
    /// Adds a block's items to a sum, perhaps with forks of its own.
    fold: &'l F,
    reduce: &'l R,
    /// The number of empty tasks to push above a lent half; 0 if thieves leave none or too many to the worker.
    pads: usize,
    /// The number of times a loop halves its rest before it runs a block.
    halvings: u32,
    /// The [rate](Pace::rate) of the same loop when it ran last, if it is known.
    rate: Option<Time>,
}

impl<Z, F, R> Loop<'_, Z, F, R> {
    /// Starts on `length` items.
    fn start(&self, length: usize) -> Pace {
        self.rate.map_or_else(Pace::start, |rate| Pace::start_again(rate, length))
    }

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
        if pace.is_long_now() {
            forker.call_for_help();
        }
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
        if pace.lends(|| forker.lends()) {
            let at = pace.keeps(rest.length(), plan.halvings);
            let (left, right) = cut(rest, at);
            let (below, lent) = forker.lend(|forker| divide(forker, left, sum, plan, pace), right, &|forker, right| {
                let mut pace = plan.start(right.length());
                divide(forker, right, (plan.zero)(), plan, &mut pace)
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
        // The next block may take long.
        pad(&mut forker, plan.pads, rest, sum, plan, pace).0
    } else {
        plan.run_block(&mut forker, rest, sum, pace).0
    }
}

/// Lends up to `pads` empty pieces, until there are more tasks than thieves leave to the worker. Then runs blocks of
/// `rest`, at least one, as long as thieves can take the items lent before. Returns the sum and the remaining items.
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
pub(crate) fn run_with<K, D, T, Z, F, R>(mut forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
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
    // Enough to make a half for each worker. With pads the loop only halves its rest.
    let halvings = if pads > 0 { u32::MAX } else { workers.ilog2() + 1 };
    let plan = Loop { zero, fold, reduce, pads, halvings, rate: None };
    if D::IS_DRAWN {
        feed(forker, source, zero(), &plan)
    } else if workers == 1 {
        #[cfg(feature = "scale")]
        if let Some(pieces) = Pieces::here() {
            return divide_recorded(forker, source, &plan, &pieces);
        }
        // Nobody ever wants work.
        forker.within(|forker| fold(forker, zero(), source))
    } else {
        let code = Loop::<'_, Z, F, R>::run_block::<K, D, T> as *const () as usize;
        // Within a block of another loop, that block tells more than a rate.
        let is_outermost = outer.looked == 0;
        let plan = Loop { rate: if is_outermost { forker.rate(code) } else { None }, ..plan };
        let length = source.length();
        let mut pace = if is_outermost { plan.start(length) } else { Pace::start_within(outer, length) };
        let sum = forker.within(|forker| divide(forker, source, zero(), &plan, &mut pace));
        if is_outermost && let Some(rate) = pace.rate() {
            forker.set_rate(code, rate);
        }
        sum
    }
}

/// A whole loop, perhaps on a tree that depends only on the length.
struct Whole<'l, const IS_FIXED: bool, D, Z, F, R> {
    source: D,
    zero: &'l Z,
    fold: &'l F,
    reduce: &'l R,
}

impl<const IS_FIXED: bool, D, T, Z, F, R> Work for Whole<'_, IS_FIXED, D, Z, F, R>
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

/// As [`run`]; if `IS_FIXED`, on a tree that depends only on the length.
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

/// The largest number of items in a leaf of [`Worker::map_reduce_fixed`](crate::Worker::map_reduce_fixed).
const FIXED_LEAF: usize = 512;

/// Runs a loop on a tree that depends only on the length. Its leaves may fork.
pub(crate) fn divide_fixed<K, D, T, Z, F, R>(forker: K, source: D, zero: &Z, fold: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    halve(forker, source, &|length| length <= FIXED_LEAF, &|forker, items| fold(forker, zero(), items), reduce)
}

/// Runs a loop whose strands are recorded. Its pieces may fork.
#[cfg(feature = "scale")]
fn divide_recorded<K, D, T, Z, F, R>(forker: K, source: D, plan: &Loop<'_, Z, F, R>, pieces: &Pieces) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let run =
        |forker: K::Branch<'_>, items: D| pieces.run(items.length(), || (plan.fold)(forker, (plan.zero)(), items));
    halve(forker, source, &|length| pieces.is_one(length), &run, plan.reduce)
}

/// Runs a loop in halves of halves, down to leaves.
fn halve<K, D, T, L, F, R>(mut forker: K, source: D, is_leaf: &L, run: &F, reduce: &R) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    L: Fn(usize) -> bool + Sync,
    F: for<'b> Fn(K::Branch<'b>, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let length = source.length();
    if is_leaf(length) {
        return forker.within(|forker| run(forker, source));
    }
    let (left, right) = cut(source, length / 2);
    let (left, right) = forker
        .fork(|forker| halve(forker, left, is_leaf, run, reduce), |forker| halve(forker, right, is_leaf, run, reduce));
    reduce(left, right)
}

/// Runs a loop over a source that draws its items bit by bit. A thief may draw the next batch while this one is
/// divided; so nobody waits for a lock, and a worker's stack holds two batches at most.
fn feed<K, D, T, Z, F, R>(mut forker: K, mut source: D, mut sum: T, plan: &Loop<'_, Z, F, R>) -> T
where
    K: Forker,
    D: Divisible,
    T: Send,
    Z: Fn() -> T + Sync,
    F: for<'b> Fn(K::Branch<'b>, T, D) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    let mut batch = source.draw(&|| true);
    while let Some(items) = batch {
        let idles = Raised::new();
        let (below, lent) = forker.lend(
            |forker| {
                let _raised = idles.at_the_end();
                #[cfg(feature = "scale")]
                if let Some(pieces) = Pieces::here() {
                    return (plan.reduce)(sum, divide_recorded(forker, items, plan, &pieces));
                }
                divide(forker, items, sum, plan, &mut Pace::start())
            },
            source,
            &|_, mut source: D| {
                let batch = source.draw(&|| idles.is_raised());
                (source, batch)
            },
        );
        sum = below;
        (source, batch) = match lent {
            Lent::Done(drawn) => drawn,
            Lent::Back(mut source) => {
                let batch = source.draw(&|| true);
                (source, batch)
            }
        };
    }
    sum
}

/// A flag that is raised once.
struct Raised(<Native as Memory>::AtomicBool);

impl Raised {
    fn new() -> Self {
        Self(Atomic::new(false))
    }

    fn is_raised(&self) -> bool {
        // Relaxed: a hint.
        self.0.load(Ordering::Relaxed)
    }

    /// Raises the flag when the guard is dropped.
    fn at_the_end(&self) -> impl Drop {
        struct AtTheEnd<'r>(&'r Raised);

        impl Drop for AtTheEnd<'_> {
            fn drop(&mut self) {
                // Relaxed: a hint.
                self.0.0.store(true, Ordering::Relaxed);
            }
        }

        AtTheEnd(self)
    }
}

/// The first error of a loop.
#[derive(Debug)]
pub(crate) struct Failure<E> {
    has_happened: <Native as Memory>::AtomicBool,
    error: Mutex<Option<E>>,
}

impl<E> Failure<E> {
    pub(crate) fn new() -> Self {
        Self { has_happened: Atomic::new(false), error: Mutex::new(None) }
    }

    pub(crate) fn has_happened(&self) -> bool {
        // Relaxed: it only tells blocks to end; the join of the loop orders the error.
        self.has_happened.load(Ordering::Relaxed)
    }

    /// Keeps the error, if it is the first.
    pub(crate) fn keep(&self, error: E) {
        let mut kept = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        // A later error is dropped after the lock, since a destructor may do anything.
        let later = if kept.is_none() { kept.replace(error) } else { Some(error) };
        drop(kept);
        // Relaxed: as above.
        self.has_happened.store(true, Ordering::Relaxed);
        drop(later);
    }

    pub(crate) fn end<T>(self, result: T) -> Result<T, E> {
        self.error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(result), Err)
    }
}
