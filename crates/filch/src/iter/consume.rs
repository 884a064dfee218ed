//! Consumers: each is one loop.
//!
//! Invariant: results are reduced in the order of the items, except in methods named `any`.

use std::cmp::{self, Ordering};
use std::iter::{self, Product, Sum};

use super::collect::{FromPar, gather};
use super::early::find_first;
use super::lend::{Indexed, Lend};
use super::par::Par;
use crate::divide::forker::Forker;
use crate::divide::run::{run, run_on};

impl<S: Lend, K: Forker> Par<S, K> {
    /// Calls `f` on each item.
    ///
    /// ```
    /// let mut v = vec![1; 1000];
    /// filch::par(&mut v).for_each(|x| *x += 1);
    /// assert_eq!(v, [2; 1000]);
    /// ```
    pub fn for_each<F: Fn(S::Item) + Sync>(self, f: F) {
        let Self { mut parts, forker } = self;
        run(forker, parts.source(), &|| (), &|(), block| block.into_iter().for_each(|item| f(item)), &|(), ()| ());
    }

    /// As [`Par::for_each`], but `f` may fail, and the loop ends at the first error: items not begun are left out. So
    /// it can also be [stopped](crate::Stop::check).
    ///
    /// ```
    /// let is_small = |i: u32| if i < 100 { Ok(()) } else { Err(i) };
    /// assert_eq!(filch::par(0..101).try_for_each(is_small), Err(100));
    /// ```
    ///
    /// # Errors
    /// One of the errors of `f`, the first in time.
    pub fn try_for_each<E: Send, F: Fn(S::Item) -> Result<(), E> + Sync>(self, f: F) -> Result<(), E> {
        self.map(f).until_error(|oks| oks.for_each(|()| ()))
    }

    /// Folds items into sums that start as `zero`, and reduces the sums. While nobody wants work, there is one sum. The
    /// bracketing varies between runs: `fold` and `reduce` should be associative together, with `zero` as their neutral
    /// element.
    ///
    /// ```
    /// let longest = filch::par(["a", "bcd", "ef"]).fold(|| 0, |most, word| most.max(word.len()), usize::max);
    /// assert_eq!(longest, 3);
    /// ```
    pub fn fold<T, Z, F, R>(self, zero: Z, fold: F, reduce: R) -> T
    where
        T: Send,
        Z: Fn() -> T + Sync,
        F: Fn(T, S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.fold_on::<false, _, _, _, _>(zero, fold, reduce)
    }

    #[inline]
    fn fold_on<const IS_FIXED: bool, T, Z, F, R>(self, zero: Z, fold: F, reduce: R) -> T
    where
        T: Send,
        Z: Fn() -> T + Sync,
        F: Fn(T, S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let Self { mut parts, forker } = self;
        let fold = |sum, block: S::Source<'_>| block.into_iter().fold(sum, |sum, item| fold(sum, item));
        run_on::<IS_FIXED, _, _, _, _, _, _>(forker, parts.source(), &zero, &fold, &reduce)
    }

    /// Reduces the items together with any number of `identity` values. `reduce` should be associative, with `identity`
    /// as its neutral element.
    ///
    /// ```
    /// assert_eq!(filch::par(1..=5).reduce(|| 1, |a, b| a * b), 120);
    /// ```
    pub fn reduce<I, R>(self, identity: I, reduce: R) -> S::Item
    where
        S::Item: Send,
        I: Fn() -> S::Item + Sync,
        R: Fn(S::Item, S::Item) -> S::Item + Sync,
    {
        self.fold(identity, |a, b| reduce(a, b), &reduce)
    }

    /// Returns the sum of the items. The bracketing varies between runs; see also
    /// [`map_reduce_fixed`](crate::map_reduce_fixed).
    ///
    /// ```
    /// assert_eq!(filch::par(1..=100).sum::<u32>(), 5050);
    /// ```
    pub fn sum<T: Sum<S::Item> + Sum<T> + Send>(self) -> T {
        let add = |a: T, b: T| [a, b].into_iter().sum();
        let Self { mut parts, forker } = self;
        run(forker, parts.source(), &|| iter::empty::<T>().sum(), &|sum, block| add(sum, block.into_iter().sum()), &add)
    }

    /// Returns the product of the items. The bracketing varies between runs.
    ///
    /// ```
    /// assert_eq!(filch::par(1..=5).product::<u32>(), 120);
    /// ```
    pub fn product<T: Product<S::Item> + Product<T> + Send>(self) -> T {
        let multiply = |a: T, b: T| [a, b].into_iter().product();
        let Self { mut parts, forker } = self;
        run(
            forker,
            parts.source(),
            &|| iter::empty::<T>().product(),
            &|product, block| multiply(product, block.into_iter().product()),
            &multiply,
        )
    }

    /// Returns the number of items.
    ///
    /// ```
    /// assert_eq!(filch::par(0..100).filter(|i| i % 7 == 0).count(), 15);
    /// ```
    pub fn count(self) -> usize {
        let Self { mut parts, forker } = self;
        let add = |a: usize, b: usize| a + b;
        run(forker, parts.source(), &|| 0, &|count, block| add(count, block.into_iter().count()), &add)
    }

    /// Returns the least item, the first one of equals.
    ///
    /// ```
    /// assert_eq!(filch::par([3, 1, 2]).min(), Some(1));
    /// ```
    pub fn min(self) -> Option<S::Item>
    where
        S::Item: Ord + Send,
    {
        self.choose(cmp::min)
    }

    /// Returns the greatest item, the last one of equals.
    ///
    /// ```
    /// assert_eq!(filch::par([3, 1, 2]).max(), Some(3));
    /// ```
    pub fn max(self) -> Option<S::Item>
    where
        S::Item: Ord + Send,
    {
        self.choose(cmp::max)
    }

    /// Returns the least item by this order, the first one of equals.
    ///
    /// ```
    /// assert_eq!(filch::par([1.5, 0.5]).min_by(f64::total_cmp), Some(0.5));
    /// ```
    pub fn min_by<F>(self, compare: F) -> Option<S::Item>
    where
        S::Item: Send,
        F: Fn(&S::Item, &S::Item) -> Ordering + Sync,
    {
        self.choose(|a, b| if compare(&a, &b).is_gt() { b } else { a })
    }

    /// Returns the greatest item by this order, the last one of equals.
    ///
    /// ```
    /// assert_eq!(filch::par([1.5, 0.5]).max_by(f64::total_cmp), Some(1.5));
    /// ```
    pub fn max_by<F>(self, compare: F) -> Option<S::Item>
    where
        S::Item: Send,
        F: Fn(&S::Item, &S::Item) -> Ordering + Sync,
    {
        self.choose(|a, b| if compare(&a, &b).is_gt() { a } else { b })
    }

    /// Returns the item with the least key, the first one of equals.
    ///
    /// ```
    /// assert_eq!(filch::par(["cd", "a", "b"]).min_by_key(|word| word.len()), Some("a"));
    /// ```
    pub fn min_by_key<B, F>(self, key: F) -> Option<S::Item>
    where
        S::Item: Send,
        B: Ord + Send,
        F: Fn(&S::Item) -> B + Sync,
    {
        self.map(|item| (key(&item), item)).min_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, item)| item)
    }

    /// Returns the item with the greatest key, the last one of equals.
    ///
    /// ```
    /// assert_eq!(filch::par(["ab", "cd", "e"]).max_by_key(|word| word.len()), Some("cd"));
    /// ```
    pub fn max_by_key<B, F>(self, key: F) -> Option<S::Item>
    where
        S::Item: Send,
        B: Ord + Send,
        F: Fn(&S::Item) -> B + Sync,
    {
        self.map(|item| (key(&item), item)).max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, item)| item)
    }

    /// Reduces to one of the items.
    fn choose<C>(self, choose: C) -> Option<S::Item>
    where
        S::Item: Send,
        C: Fn(S::Item, S::Item) -> S::Item + Sync,
    {
        let either = |a: Option<S::Item>, b: Option<S::Item>| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        };
        // Not `Iterator::reduce`: the compiler makes it a chain of conditional moves, twice as slow as branches.
        let next = |chosen, item| match chosen {
            Some(chosen) => Some(choose(chosen, item)),
            None => Some(item),
        };
        self.fold(|| None, next, either)
    }

    /// Whether `f` holds for any item. Ends when the answer is known.
    ///
    /// ```
    /// assert!(filch::par(0..u64::MAX).any(|i| i == 7));
    /// ```
    pub fn any<F: Fn(S::Item) -> bool + Sync>(self, f: F) -> bool {
        self.try_for_each(|item| if f(item) { Err(()) } else { Ok(()) }).is_err()
    }

    /// Whether `f` holds for all items. Ends when the answer is known.
    ///
    /// ```
    /// assert!(!filch::par(0..u64::MAX).all(|i| i < 7));
    /// ```
    pub fn all<F: Fn(S::Item) -> bool + Sync>(self, f: F) -> bool {
        !self.any(|item| !f(item))
    }

    /// Returns an item for which `f` holds, the first one found. Ends when one is found.
    ///
    /// ```
    /// assert_eq!(filch::par(0..u64::MAX).find_any(|i| *i == 7), Some(7));
    /// assert_eq!(filch::par(0..100).find_any(|i| *i > 100), None);
    /// ```
    pub fn find_any<F>(self, f: F) -> Option<S::Item>
    where
        S::Item: Send,
        F: Fn(&S::Item) -> bool + Sync,
    {
        self.try_for_each(|item| if f(&item) { Err(item) } else { Ok(()) }).err()
    }

    /// Returns the first item for which `f` holds. Blocks behind it end early.
    ///
    /// ```
    /// assert_eq!(filch::par(0..1_000_000_u64).find_first(|i| i * i > 1000), Some(32));
    /// ```
    pub fn find_first<F>(self, f: F) -> Option<S::Item>
    where
        S::Item: Send,
        F: Fn(&S::Item) -> bool + Sync,
    {
        find_first(self, |item| if f(&item) { Some(item) } else { None })
    }

    /// Collects the items, in their order.
    ///
    /// Cost: a `Vec` of known length is written in place. Otherwise each piece that a thief took becomes a `Vec`, and
    /// the vectors are joined at the end. Other collections are made from a `Vec`, in sequence.
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// let squares: HashMap<u32, u32> = filch::par(0..10).map(|i| (i, i * i)).collect();
    /// assert_eq!(squares[&3], 9);
    /// let numbers: Result<Vec<u32>, _> = filch::par(["1", "2"]).map(str::parse).collect();
    /// assert_eq!(numbers, Ok(vec![1, 2]));
    /// let text: String = filch::par('a'..='e').rev().collect();
    /// assert_eq!(text, "edcba");
    /// ```
    pub fn collect<C: FromPar<S::Item>>(self) -> C {
        C::from_par(self)
    }

    /// Adds the items to a collection, in their order, and returns it.
    ///
    /// Cost: the items are [collected](Self::collect) into a `Vec`, which then extends the collection in sequence.
    ///
    /// ```
    /// let mut squares = vec![0];
    /// filch::par(1..4).map(|i| i * i).collect_into(&mut squares);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    pub fn collect_into<C: Extend<S::Item>>(self, collection: &mut C) -> &mut C
    where
        S::Item: Send,
    {
        collection.extend(self.collect::<Vec<_>>());
        collection
    }

    /// Collects the first halves of the pairs, and the second halves.
    ///
    /// ```
    /// let (even, odd): (Vec<u32>, Vec<u32>) = filch::par(0..3).map(|i| (2 * i, 2 * i + 1)).unzip();
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3, 5]));
    /// ```
    pub fn unzip<A, B, C, D>(self) -> (C, D)
    where
        S: Lend<Item = (A, B)>,
        C: Default + Extend<A> + IntoIterator<Item = A> + Send,
        D: Default + Extend<B> + IntoIterator<Item = B> + Send,
    {
        append_both(gather(self))
    }

    /// Collects the items for which `f` holds, and the others.
    ///
    /// ```
    /// let (small, large): (Vec<u32>, Vec<u32>) = filch::par(0..5).partition(|i| *i < 2);
    /// assert_eq!((small, large), (vec![0, 1], vec![2, 3, 4]));
    /// ```
    pub fn partition<C, F>(self, f: F) -> (C, C)
    where
        C: Default + Extend<S::Item> + IntoIterator<Item = S::Item> + Send,
        F: Fn(&S::Item) -> bool + Sync,
    {
        let pieces = gather::<_, _, Parted<C>>(self.map(|item| (f(&item), item)));
        append_both(pieces.into_iter().map(|Parted(holds, others)| (holds, others)))
    }
}

/// The items for which something holds, and the others.
#[derive(Default)]
struct Parted<C>(C, C);

impl<T, C: Extend<T>> Extend<(bool, T)> for Parted<C> {
    #[inline]
    fn extend<I: IntoIterator<Item = (bool, T)>>(&mut self, items: I) {
        items.into_iter().for_each(|(holds, item)| if holds { &mut self.0 } else { &mut self.1 }.extend(Some(item)));
    }
}

/// Puts pairs of collections together.
fn append_both<C, D>(pieces: impl IntoIterator<Item = (C, D)>) -> (C, D)
where
    C: Default + Extend<C::Item> + IntoIterator,
    D: Default + Extend<D::Item> + IntoIterator,
{
    pieces
        .into_iter()
        .reduce(|(mut c, mut d), (more_c, more_d)| {
            c.extend(more_c);
            d.extend(more_d);
            (c, d)
        })
        .unwrap_or_default()
}

impl<S: Indexed, K: Forker> Par<S, K> {
    /// Returns the index of an item for which `f` holds, the first one found. Ends when one is found.
    ///
    /// ```
    /// assert_eq!(filch::par(["a", "b", "c"]).position_any(|word| word == "b"), Some(1));
    /// ```
    pub fn position_any<F: Fn(S::Item) -> bool + Sync>(self, f: F) -> Option<usize> {
        self.enumerate().try_for_each(|(index, item)| if f(item) { Err(index) } else { Ok(()) }).err()
    }

    /// Returns the index of the first item for which `f` holds. Blocks behind it end early.
    ///
    /// ```
    /// assert_eq!(filch::par(["a", "b", "b"]).position_first(|word| word == "b"), Some(1));
    /// ```
    pub fn position_first<F: Fn(S::Item) -> bool + Sync>(self, f: F) -> Option<usize> {
        find_first(self.enumerate(), |(index, item)| f(item).then_some(index))
    }

    /// As [`Par::fold`], with a bracketing that depends only on the number of items: see
    /// [`map_reduce_fixed`](crate::map_reduce_fixed).
    ///
    /// ```
    /// let v = vec![0.1; 10_000];
    /// let sum = || filch::par(&v).fold_fixed(|| 0.0, |sum: f64, x| sum + x, |a, b| a + b);
    /// assert_eq!(sum().to_bits(), sum().to_bits());
    /// ```
    pub fn fold_fixed<T, Z, F, R>(self, zero: Z, fold: F, reduce: R) -> T
    where
        T: Send,
        Z: Fn() -> T + Sync,
        F: Fn(T, S::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        self.fold_on::<true, _, _, _, _>(zero, fold, reduce)
    }
}
