//! The sources of loops, which can be cut in two.
//!
//! Invariant: both parts together have the items of the whole, in order.

use std::ops::{Range, RangeInclusive};
use std::slice;

/// A source for a loop: it has a length and can be cut in two. Ranges of integers and characters, slices, and the
/// iterators over a slice, its chunks and its windows implement it. For other sources, see
/// [`IntoPar`](crate::iter::IntoPar).
///
/// ```
/// use filch::Divisible;
///
/// assert_eq!((0..10_u32).cut(4), (0..4, 4..10));
/// assert_eq!([1, 2, 3].as_slice().cut(1), ([1].as_slice(), [2, 3].as_slice()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be cut in two for a parallel loop",
    label = "not a range, a slice, or another `Divisible` source",
    note = "borrow a collection, as in `&v` or `&mut v`; wrap any other iterator, as in `filch::iter::bridge(lines)`"
)]
pub trait Divisible: IntoIterator + Send + Sized {
    /// Returns the number of items. A loop panics if the parts of a source claim more items than the whole.
    fn length(&self) -> usize;

    /// Returns the first `at` items, and the others. `at` is at most [`Divisible::length`].
    fn cut(self, at: usize) -> (Self, Self);

    /// Whether a `usize` can count the items. Otherwise there are more than the length says.
    #[doc(hidden)]
    fn is_counted(&self) -> bool {
        true
    }

    /// Whether a source draws its items bit by bit.
    #[doc(hidden)]
    const IS_DRAWN: bool = false;

    /// Draws at least one item, and stops when it has many, or when it has taken long enough and `is_awaited`. Returns
    /// `None` if there are no items.
    #[doc(hidden)]
    fn draw(&mut self, is_awaited: &dyn Fn() -> bool) -> Option<Self> {
        let _ = is_awaited;
        None
    }
}

macro_rules! divisible_range {
    ($($integer:ty),+) => {$(
        impl Divisible for Range<$integer> {
            #[inline]
            fn length(&self) -> usize {
                let length = if self.start < self.end { self.end.abs_diff(self.start) } else { 0 };
                usize::try_from(length).unwrap_or(usize::MAX)
            }

            #[inline]
            fn cut(self, at: usize) -> (Self, Self) {
                // Wrapping: the distance may exceed the largest signed integer, but the sum is within the range.
                #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
                let middle = self.start.wrapping_add(at as $integer);
                (self.start..middle, middle..self.end)
            }
        }
    )+};
}

divisible_range!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl<T: Sync> Divisible for &[T] {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T: Send> Divisible for &mut [T] {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// Cuts an iterator that skips items at no cost.
#[inline]
pub(super) fn cut_by_skipping<I: DoubleEndedIterator + Clone>(items: I, length: usize, at: usize) -> (I, I) {
    let (mut left, mut right) = (items.clone(), items);
    if at > 0 {
        right.nth(at - 1);
    }
    if at < length {
        left.nth_back(length - at - 1);
    }
    (left, right)
}

macro_rules! divisible_by_skipping {
    ($([$($generics:tt)*] $source:ty),+ $(,)?) => {$(
        impl<$($generics)*> Divisible for $source {
            #[inline]
            fn length(&self) -> usize {
                self.size_hint().0
            }

            #[inline]
            fn cut(self, at: usize) -> (Self, Self) {
                let length = self.length();
                cut_by_skipping(self, length, at)
            }
        }
    )+};
}

divisible_by_skipping!(
    [] Range<char>,
    ['a, T: Sync] slice::Iter<'a, T>,
    ['a, T: Sync] slice::Chunks<'a, T>,
    ['a, T: Sync] slice::ChunksExact<'a, T>,
    ['a, T: Sync] slice::RChunks<'a, T>,
    ['a, T: Sync] slice::RChunksExact<'a, T>,
    ['a, T: Sync] slice::Windows<'a, T>,
);

macro_rules! divisible_inclusive_range {
    ($($item:ty),+) => {$(
        impl Divisible for RangeInclusive<$item> {
            #[inline]
            fn length(&self) -> usize {
                self.size_hint().0
            }

            #[inline]
            fn is_counted(&self) -> bool {
                self.size_hint().1.is_some()
            }

            #[inline]
            fn cut(self, at: usize) -> (Self, Self) {
                let mut right = self.clone();
                match at.checked_sub(1).and_then(|before| right.nth(before)) {
                    Some(last) => (*self.start()..=last, right),
                    None => {
                        let mut nothing = self.clone();
                        nothing.nth_back(usize::MAX);
                        (nothing, self)
                    }
                }
            }
        }
    )+};
}

divisible_inclusive_range!(char, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl<T: Send> Divisible for slice::IterMut<'_, T> {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.into_slice().split_at_mut(at);
        (left.iter_mut(), right.iter_mut())
    }
}

/// The mutable chunks of a slice; the last may be shorter.
///
/// ```
/// let mut v = [1, 2, 3, 4, 5];
/// filch::for_each(filch::iter::ChunksMut::new(&mut v, 2), |chunk| chunk.reverse());
/// assert_eq!(v, [2, 1, 4, 3, 5]);
/// ```
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    items: &'a mut [T],
    size: usize,
}

impl<'a, T> ChunksMut<'a, T> {
    /// Returns the chunks of `size` items.
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn new(items: &'a mut [T], size: usize) -> Self {
        assert!(size > 0, "chunks of no items cannot be counted");
        Self { items, size }
    }

    /// Returns the chunks of exactly `size` items; leaves out the last items if they are fewer.
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn exact(items: &'a mut [T], size: usize) -> Self {
        assert!(size > 0, "chunks of no items cannot be counted");
        let whole = items.len() - items.len() % size;
        Self { items: &mut items[..whole], size }
    }
}

impl<'a, T> IntoIterator for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type IntoIter = slice::ChunksMut<'a, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.items.chunks_mut(self.size)
    }
}

impl<T: Send> Divisible for ChunksMut<'_, T> {
    #[inline]
    fn length(&self) -> usize {
        self.items.len().div_ceil(self.size)
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.items.split_at_mut(at.saturating_mul(self.size).min(self.items.len()));
        (Self { items: left, ..self }, Self { items: right, ..self })
    }
}

/// Cuts a source in two.
///
/// # Panics
/// If a part claims more items than it can have, since the loop or its recursion might then never end.
#[inline]
pub(super) fn cut<D: Divisible>(source: D, at: usize) -> (D, D) {
    let (length, is_counted) = (source.length(), source.is_counted());
    let (left, right) = source.cut(at);
    let parts = [left.length(), right.length()];
    assert!(
        !is_counted || parts[0] <= at && parts[1] <= length.saturating_sub(at),
        "a source of {length} items, cut at {at}, has parts of {parts:?} items: its `Divisible::length` is wrong"
    );
    (left, right)
}
