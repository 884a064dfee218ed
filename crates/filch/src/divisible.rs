//! The sources of loops, which can be cut in two.
//!
//! Invariant: both parts together have the items of the whole, in order.

use std::ops::Range;

/// A source for a loop: it has a length and can be cut in two. Ranges of integers and slices implement it.
///
/// ```
/// use filch::Divisible;
///
/// assert_eq!((0..10_u32).cut(4), (0..4, 4..10));
/// assert_eq!([1, 2, 3].as_slice().cut(1), ([1].as_slice(), [2, 3].as_slice()));
/// ```
pub trait Divisible: IntoIterator + Send + Sized {
    /// Returns the number of items.
    fn length(&self) -> usize;

    /// Returns the first `at` items, and the others. `at` is at most [`Divisible::length`].
    fn cut(self, at: usize) -> (Self, Self);
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
