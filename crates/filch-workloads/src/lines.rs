//! Arrays that begin at a cache line, wherever the allocator places others: otherwise each row of a leaf may share its
//! lines with others, and wide loads cross them, in one runner and not in the next.
//!
//! Those that a run makes also begin at a fixed distance from a page: otherwise rows of two matrices may take each
//! other's places in the first cache, which costs a product up to an eighth of its time, again not in all runners.
//! (Those made before the scheduler starts lie alike in all.)

use std::ops::{Deref, DerefMut};
use std::slice;

use filch_catalogue::ParamError;

use crate::inputs::filled;

const WIDTH: usize = 16;

/// Lines in a page.
const PAGE: usize = 64;

/// Each array of a run begins so many lines further from a page than the one before.
const APART: usize = 21;

/// Values of four bytes in a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line<T>([T; WIDTH]);

/// An array of values of four bytes.
///
/// Invariant: there are lines for `len` values after the first `lead` ones.
#[derive(Debug)]
pub(crate) struct Lines<T> {
    lines: Vec<Line<T>>,
    lead: usize,
    len: usize,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), lead: 0, len: 0 }
    }
}

impl<T: Copy> Lines<T> {
    /// Without padding, an array of lines is one of values.
    const HAS_NO_PADDING: () = assert!(size_of::<Line<T>>() == WIDTH * size_of::<T>());

    /// Makes the array of this `number` in a run.
    pub(crate) fn new(number: usize, value: T, len: usize) -> Self {
        let lines = vec![Line([value; WIDTH]); PAGE + len.div_ceil(WIDTH)];
        let first = lines.as_ptr().addr() / size_of::<Line<T>>();
        // Below a page's lines, which there are in addition.
        let lead = (number * APART).wrapping_sub(first) % PAGE;
        Self { lines, lead, len }
    }

    /// Makes an array of a program's input.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn filled(program: &'static str, len: usize, value: T) -> Result<Self, ParamError> {
        Ok(Self { lines: filled(program, len.div_ceil(WIDTH), Line([value; WIDTH]))?, lead: 0, len })
    }
}

impl<T: Copy> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        const { Self::HAS_NO_PADDING };
        // SAFETY: the lines are one array of values, initialized, of at least `len` by the invariant, and borrowed with
        // this.
        unsafe { slice::from_raw_parts(self.lines[self.lead..].as_ptr().cast(), self.len) }
    }
}

impl<T: Copy> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        const { Self::HAS_NO_PADDING };
        // SAFETY: as above, and this borrow is exclusive.
        unsafe { slice::from_raw_parts_mut(self.lines[self.lead..].as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::{APART, Lines};

    #[test]
    fn values_begin_at_a_line() {
        for (number, len) in [(0, 0), (1, 1), (2, 15), (3, 16), (0, 17), (1, 100), (2, 5000)] {
            let mut lines = Lines::new(number, 7_u32, len);
            assert_eq!((lines.as_ptr().addr() % 4096, lines.len()), (number * APART * 64 % 4096, len));
            assert!(lines.iter().all(|&value| value == 7));
            lines.iter_mut().zip(0..).for_each(|(value, at)| *value = at);
            assert!((0..).zip(lines.iter()).all(|(at, &value)| value == at));
        }
        assert!(Lines::<f32>::default().is_empty());
        assert_eq!(&Lines::filled("matmul", 3, 0.5_f32).unwrap()[..], [0.5; 3]);
    }
}
