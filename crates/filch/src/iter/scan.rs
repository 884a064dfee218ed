//! Prefix sums of slices, in two passes: the first adds up each part, the second writes the sum for each item.
//!
//! Invariant: the parts depend only on the length and the number of workers; with one worker there is one part, and one
//! pass.

use std::mem;

use super::lend::Whole;
use super::par::Par;
use super::source::IntoPar;
use crate::divide::divisible::ChunksMut;
use crate::divide::forker::{Forker, Work};

impl<T: Clone + Send, K: Forker> Par<Whole<&mut [T]>, K> {
    /// Replaces each item by the sum of all items up to and including it. `add` adds, and should be associative.
    ///
    /// Cost: two calls of `add` per item, and a clone for each of several parts; with one worker, one call per item.
    ///
    /// ```
    /// let mut v = vec![1, 2, 3, 4];
    /// filch::par(&mut v).inclusive_scan(|a, b| a + b);
    /// assert_eq!(v, [1, 3, 6, 10]);
    /// ```
    ///
    /// # Panics
    /// If `add` panics. Then some items are sums.
    pub fn inclusive_scan<F: Fn(&T, &T) -> T + Sync>(mut self, add: F) {
        self.forker.start(Scanning { items: self.parts.take(), zero: None, add: &add });
    }

    /// Replaces each item by the sum of `zero` and all items before it, and returns the sum of all. `add` adds, and
    /// should be associative.
    ///
    /// Cost: as [`Par::inclusive_scan`].
    ///
    /// ```
    /// let mut lengths = vec![3, 1, 4];
    /// let total = filch::par(&mut lengths).exclusive_scan(0, |a, b| a + b);
    /// assert_eq!((lengths, total), (vec![0, 3, 4], 8), "the places where they begin");
    /// ```
    ///
    /// # Panics
    /// As [`Par::inclusive_scan`].
    pub fn exclusive_scan<F: Fn(&T, &T) -> T + Sync>(mut self, zero: T, add: F) -> T {
        let scanning = Scanning { items: self.parts.take(), zero: Some(zero), add: &add };
        self.forker.start(scanning).expect("a sum that begins with zero")
    }
}

/// A slice to be scanned: exclusively if there is a zero.
struct Scanning<'s, T, F> {
    items: &'s mut [T],
    zero: Option<T>,
    add: &'s F,
}

impl<T: Clone + Send, F: Fn(&T, &T) -> T + Sync> Work for Scanning<'_, T, F> {
    /// The sum of all, if there is a zero.
    type Out = Option<T>;

    fn run<K: Forker>(self, mut forker: K) -> Option<T> {
        /// Parts for each worker, so that nobody waits long for the last ones.
        const PARTS: usize = 8;
        /// Some microseconds.
        const LEAST: usize = 1 << 12;
        let Self { items, zero, add } = self;
        let is_exclusive = zero.is_some();
        let size = match forker.place().parts() {
            1 => items.len().max(1),
            workers => (items.len() / (workers * PARTS)).max(LEAST),
        };
        let chunks = items.len().div_ceil(size);
        // Nobody needs the last part's total.
        let totals: Vec<T> = forker.within(|forker| {
            Par::new(ChunksMut::new(items, size).into_parts(), forker)
                .take(chunks.saturating_sub(1))
                .map(|chunk| chunk[1..].iter().fold(chunk[0].clone(), |sum, item| add(&sum, item)))
                .collect()
        });
        let mut sums = vec![zero];
        for total in &totals {
            let sum = sums.last().and_then(Option::as_ref).map_or_else(|| total.clone(), |sum| add(sum, total));
            sums.push(Some(sum));
        }
        let scan = |(chunk, sum): (&mut [T], Option<T>)| match sum {
            Some(sum) if is_exclusive => Some(exclusively(chunk, sum, add)),
            sum => {
                inclusively(chunk, sum.as_ref(), add);
                None
            }
        };
        if chunks == 0 {
            return sums.pop().flatten();
        }
        let chunks = Par::new(ChunksMut::new(items, size).into_parts(), forker);
        chunks.zip(sums).map(scan).reduce(|| None, |sum, next| next.or(sum))
    }
}

fn inclusively<T>(items: &mut [T], sum: Option<&T>, add: impl Fn(&T, &T) -> T) {
    if let (Some(sum), Some(first)) = (sum, items.first_mut()) {
        *first = add(sum, first);
    }
    for i in 1..items.len() {
        items[i] = add(&items[i - 1], &items[i]);
    }
}

fn exclusively<T>(items: &mut [T], mut sum: T, add: impl Fn(&T, &T) -> T) -> T {
    for item in items {
        let next = add(&sum, item);
        *item = mem::replace(&mut sum, next);
    }
    sum
}
