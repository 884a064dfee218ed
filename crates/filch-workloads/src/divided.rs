//! Sources for the programs' parallel loops, besides ranges and slices: rows and pieces.

use std::iter::Zip;
use std::ops::RangeFrom;
use std::slice::ChunksMut;

use filch::Divisible;

/// The rows of a slice. Each has `width` items, but the last may be shorter. An item is a row's number and the row.
pub(crate) struct Rows<'a, T> {
    items: &'a mut [T],
    width: usize,
    first: usize,
}

impl<'a, T> Rows<'a, T> {
    pub(crate) fn new(items: &'a mut [T], width: usize) -> Self {
        assert!(width > 0, "rows of width 0 cannot be counted");
        Self { items, width, first: 0 }
    }
}

impl<'a, T> IntoIterator for Rows<'a, T> {
    type Item = (usize, &'a mut [T]);
    type IntoIter = Zip<RangeFrom<usize>, ChunksMut<'a, T>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        (self.first..).zip(self.items.chunks_mut(self.width))
    }
}

impl<T: Send> Divisible for Rows<'_, T> {
    #[inline]
    fn length(&self) -> usize {
        self.items.len().div_ceil(self.width)
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left, right) = self.items.split_at_mut((at * self.width).min(self.items.len()));
        (Self { items: left, ..self }, Self { items: right, first: self.first + at, ..self })
    }
}

/// The pieces of a slice that end at given places. An item is a piece's number and the piece.
pub(crate) struct Pieces<'a, T> {
    items: &'a mut [T],
    ends: &'a [usize],
    /// The place where `items` begins, in the units of `ends`.
    start: usize,
    first: usize,
}

impl<'a, T> Pieces<'a, T> {
    /// `ends` must be in order, and its last element must be the length of `items`.
    pub(crate) fn new(items: &'a mut [T], ends: &'a [usize]) -> Self {
        Self { items, ends, start: 0, first: 0 }
    }
}

impl<'a, T> Iterator for Pieces<'a, T> {
    type Item = (usize, &'a mut [T]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&end, ends) = self.ends.split_first()?;
        let (piece, items) = std::mem::take(&mut self.items).split_at_mut(end - self.start);
        let number = self.first;
        *self = Self { items, ends, start: end, first: number + 1 };
        Some((number, piece))
    }
}

impl<T: Send> Divisible for Pieces<'_, T> {
    #[inline]
    fn length(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn cut(self, at: usize) -> (Self, Self) {
        let (left_ends, right_ends) = self.ends.split_at(at);
        let middle = left_ends.last().copied().unwrap_or(self.start);
        let (left, right) = self.items.split_at_mut(middle - self.start);
        (
            Self { items: left, ends: left_ends, ..self },
            Self { items: right, ends: right_ends, start: middle, first: self.first + at },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects all items, cutting wherever possible.
    fn items<D: Divisible>(source: D) -> Vec<D::Item> {
        match source.length() {
            0 | 1 => source.into_iter().collect(),
            length => {
                let (left, right) = source.cut(length / 2);
                let mut all = items(left);
                all.extend(items(right));
                all
            }
        }
    }

    #[test]
    fn rows_keep_their_numbers() {
        let mut v = [0, 1, 2, 3, 4, 5, 6];
        assert_eq!(items(Rows::new(&mut v, 3)), [(0, &mut [0, 1, 2][..]), (1, &mut [3, 4, 5]), (2, &mut [6])]);
        assert_eq!(items(Rows::new(&mut v[..0], 3)), []);
    }

    #[test]
    fn pieces_may_be_empty() {
        let mut v = [0, 1, 2, 3];
        let right = [(0, &mut [][..]), (1, &mut [0, 1, 2]), (2, &mut []), (3, &mut [3])];
        assert_eq!(items(Pieces::new(&mut v, &[0, 3, 3, 4])), right);
    }
}
