//! Sorting of slices: by merging or by dividing at pivots, in parallel above some size, and by the standard library
//! below it.
//!
//! Invariant: whatever the comparison returns and wherever it panics, a slice keeps its items.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ptr;

use super::lend::Whole;
use super::par::Par;
use crate::divide::forker::{Forker, Work};
use crate::unwind::abort_on_panic;

impl<T: Send, K: Forker> Par<Whole<&mut [T]>, K> {
    /// Sorts the slice; keeps the order of equal items.
    ///
    /// Cost: as [`slice::sort`], and memory for a second copy of the items.
    ///
    /// ```
    /// let mut v = vec![3, 1, 2];
    /// filch::par(&mut v).sort();
    /// assert_eq!(v, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If the comparison panics, or, perhaps, if it is not a total order. The slice keeps its items, in any order.
    pub fn sort(self)
    where
        T: Ord,
    {
        self.sort_by(T::cmp);
    }

    /// Sorts the slice by this order; keeps the order of equal items.
    ///
    /// ```
    /// let mut v = [1, 3, 2];
    /// filch::par(&mut v).sort_by(|a, b| b.cmp(a));
    /// assert_eq!(v, [3, 2, 1]);
    /// ```
    ///
    /// # Panics
    /// As [`Par::sort`].
    pub fn sort_by<C: Fn(&T, &T) -> Ordering + Sync>(mut self, compare: C) {
        self.forker.start(Sorting { items: self.parts.take(), compare: &compare, is_stable: true });
    }

    /// Sorts the slice by keys; keeps the order of items with equal keys.
    ///
    /// ```
    /// let mut words = ["cd", "b", "a"];
    /// filch::par(&mut words).sort_by_key(|word| word.len());
    /// assert_eq!(words, ["b", "a", "cd"]);
    /// ```
    ///
    /// # Panics
    /// As [`Par::sort`].
    pub fn sort_by_key<B: Ord, F: Fn(&T) -> B + Sync>(self, key: F) {
        self.sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts the slice, equal items in any order.
    ///
    /// Cost: as [`slice::sort_unstable`]; no memory.
    ///
    /// ```
    /// let mut v = [3, 1, 2];
    /// filch::par(&mut v).sort_unstable();
    /// assert_eq!(v, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// As [`Par::sort`].
    pub fn sort_unstable(self)
    where
        T: Ord,
    {
        self.sort_unstable_by(T::cmp);
    }

    /// Sorts the slice by this order, equal items in any order.
    ///
    /// ```
    /// let mut v = [0.5, 2.5, 1.5];
    /// filch::par(&mut v).sort_unstable_by(f64::total_cmp);
    /// assert_eq!(v, [0.5, 1.5, 2.5]);
    /// ```
    ///
    /// # Panics
    /// As [`Par::sort`].
    pub fn sort_unstable_by<C: Fn(&T, &T) -> Ordering + Sync>(mut self, compare: C) {
        self.forker.start(Sorting { items: self.parts.take(), compare: &compare, is_stable: false });
    }

    /// Sorts the slice by keys, items with equal keys in any order.
    ///
    /// ```
    /// let mut v = [-3, 1, 2];
    /// filch::par(&mut v).sort_unstable_by_key(|x: &i32| x.abs());
    /// assert_eq!(v, [1, 2, -3]);
    /// ```
    ///
    /// # Panics
    /// As [`Par::sort`].
    pub fn sort_unstable_by_key<B: Ord, F: Fn(&T) -> B + Sync>(self, key: F) {
        self.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// A slice to be sorted.
struct Sorting<'s, T, C> {
    items: &'s mut [T],
    compare: &'s C,
    is_stable: bool,
}

impl<T: Send, C: Fn(&T, &T) -> Ordering + Sync> Work for Sorting<'_, T, C> {
    type Out = ();

    fn run<K: Forker>(self, forker: K) {
        /// Leaves for each worker, so that nobody waits long for the last ones.
        const LEAVES: usize = 8;
        /// Some tens of microseconds.
        const LEAST: usize = 1 << 11;
        let Self { items, compare, is_stable } = self;
        let leaf = match forker.place().parts() {
            1 => items.len(),
            workers => (items.len() / (workers * LEAVES)).max(LEAST),
        };
        if !is_stable {
            // Division at pivots would not notice that the items are in order already.
            if items.len() <= leaf || !items.is_sorted_by(|a, b| compare(a, b).is_le()) {
                by_pivots(forker, items, leaf, compare);
            }
        } else if items.len() <= leaf || size_of::<T>() == 0 {
            items.sort_by(|a, b| compare(a, b));
        } else {
            let mut buffer = Vec::with_capacity(items.len());
            by_merging(forker, items, &mut buffer.spare_capacity_mut()[..items.len()], leaf, compare);
        }
    }
}

/// Sorts parts between pivots.
fn by_pivots<T, C, K>(mut forker: K, items: &mut [T], leaf: usize, compare: &C)
where
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
    K: Forker,
{
    if items.len() <= leaf {
        return items.sort_unstable_by(|a, b| compare(a, b));
    }
    let (left, right) = divide(items, compare);
    forker.fork(|forker| by_pivots(forker, left, leaf, compare), |forker| by_pivots(forker, right, leaf, compare));
}

/// Orders items around one of them, and returns the parts before and after it, each at least about an eighth of all.
fn divide<'s, T, C: Fn(&T, &T) -> Ordering>(items: &'s mut [T], compare: &C) -> (&'s mut [T], &'s mut [T]) {
    /// The median of this many items is mostly within 5 % of the median of all.
    const SAMPLE: usize = 101;
    let mut sample: [usize; SAMPLE] = std::array::from_fn(|index| items.len() / SAMPLE * index);
    sample.sort_unstable_by(|&a, &b| compare(&items[a], &items[b]));
    items.swap(0, sample[SAMPLE / 2]);
    let mut pivot = partition(items, compare);
    if pivot.min(items.len() - pivot) < items.len() / 8 {
        // Many items equal the pivot, or the sample was misleading.
        pivot = items.len() / 2;
        items.select_nth_unstable_by(pivot, |a, b| compare(a, b));
    }
    let (left, right) = items.split_at_mut(pivot);
    (left, &mut right[1..])
}

/// Moves every item that is less than the first item to a place before it, and returns the first item's new place.
fn partition<T, C: Fn(&T, &T) -> Ordering>(items: &mut [T], compare: &C) -> usize {
    let (pivot, rest) = items.split_first_mut().expect("there are items");
    let mut less = 0;
    for index in 0..rest.len() {
        let is_less = compare(&rest[index], pivot).is_lt();
        // Without a branch, which would be mispredicted half of the time: if this item is not less, the swap exchanges
        // two items that are not less.
        rest.swap(less, index);
        less += usize::from(is_less);
    }
    items.swap(0, less);
    less
}

/// Sorts by merging sorted halves. The buffer is as long as the slice.
fn by_merging<T, C, K>(mut forker: K, items: &mut [T], buffer: &mut [MaybeUninit<T>], leaf: usize, compare: &C)
where
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
    K: Forker,
{
    if items.len() <= leaf {
        return items.sort_by(|a, b| compare(a, b));
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    forker.fork(
        |forker| by_merging(forker, left, left_buffer, leaf, compare),
        |forker| by_merging(forker, right, right_buffer, leaf, compare),
    );
    if compare(&left[middle - 1], &right[0]).is_gt() {
        // The slice owns its items until all are in the buffer, whatever panics. No item is compared after it was
        // copied, so a copy has every change that comparisons made within the item.
        forker.within(|forker| merge(forker, left, right, buffer, leaf, compare));
        let written = "the merged items could not be written back";
        abort_on_panic(written, || forker.within(|forker| write_back(forker, items, buffer, leaf)));
    }
}

/// Copies the items of two sorted slices to the buffer, in order. Of equal items, those from the left slice come first.
/// The buffer is as long as both slices.
fn merge<T, C, K>(
    mut forker: K,
    left: &mut [T],
    right: &mut [T],
    buffer: &mut [MaybeUninit<T>],
    leaf: usize,
    compare: &C,
) where
    T: Send,
    C: Fn(&T, &T) -> Ordering + Sync,
    K: Forker,
{
    if left.len() + right.len() <= leaf {
        return merge_in_sequence(left, right, buffer, compare);
    }
    let (at_left, at_right) = if left.len() >= right.len() {
        let middle = left.len() / 2;
        (middle, right.partition_point(|item| compare(item, &left[middle]).is_lt()))
    } else {
        let middle = right.len() / 2;
        (left.partition_point(|item| compare(item, &right[middle]).is_le()), middle)
    };
    let (left, more_left) = left.split_at_mut(at_left);
    let (right, more_right) = right.split_at_mut(at_right);
    let (buffer, more_buffer) = buffer.split_at_mut(at_left + at_right);
    forker.fork(
        |forker| merge(forker, left, right, buffer, leaf, compare),
        |forker| merge(forker, more_left, more_right, more_buffer, leaf, compare),
    );
}

fn merge_in_sequence<T, C>(left: &[T], right: &[T], buffer: &mut [MaybeUninit<T>], compare: &C)
where
    C: Fn(&T, &T) -> Ordering,
{
    assert_eq!(left.len() + right.len(), buffer.len(), "the buffer is as long as both");
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        let is_right = compare(&right[r], &left[l]).is_lt();
        let item = if is_right { &right[r] } else { &left[l] };
        copy(item, &mut buffer[l + r]);
        r += usize::from(is_right);
        l += usize::from(!is_right);
    }
    let rest = if l < left.len() { &left[l..] } else { &right[r..] };
    rest.iter().zip(&mut buffer[l + r..]).for_each(|(item, place)| copy(item, place));
}

/// Copies an item. Only one of the two copies will be used as an item again.
#[inline]
fn copy<T>(item: &T, place: &mut MaybeUninit<T>) {
    // SAFETY: both are valid for one item, and different, since one is borrowed mutably.
    unsafe { ptr::copy_nonoverlapping(item, place.as_mut_ptr(), 1) };
}

/// Writes the items back from the buffer, which holds all of them.
fn write_back<T: Send, K: Forker>(mut forker: K, items: &mut [T], buffer: &mut [MaybeUninit<T>], leaf: usize) {
    if items.len() <= leaf {
        // SAFETY: a buffer's part is as long as the slice's, and was filled by `merge`. Together, the parts have a copy
        // of each item, and these copies replace all items, so that none is there twice in the end.
        return unsafe { ptr::copy_nonoverlapping(buffer.as_ptr().cast(), items.as_mut_ptr(), items.len()) };
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    forker.fork(
        |forker| write_back(forker, left, left_buffer, leaf),
        |forker| write_back(forker, right, right_buffer, leaf),
    );
}
