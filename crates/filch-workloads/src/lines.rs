//! Arrays that begin at a cache line, wherever the allocator places others: otherwise each row of a leaf may share its
//! lines with others, and wide loads cross them, in one runner and not in the next.

use std::ops::{Deref, DerefMut};
use std::slice;

use filch_catalogue::ParamError;

use crate::inputs::filled;

const WIDTH: usize = 16;

/// Values of four bytes in a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line<T>([T; WIDTH]);

/// An array of values of four bytes.
///
/// Invariant: there are lines for `len` values.
#[derive(Debug)]
pub(crate) struct Lines<T> {
    lines: Vec<Line<T>>,
    len: usize,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), len: 0 }
    }
}

impl<T: Copy> Lines<T> {
    /// Without padding, an array of lines is one of values.
    const HAS_NO_PADDING: () = assert!(size_of::<Line<T>>() == WIDTH * size_of::<T>());

    pub(crate) fn new(value: T, len: usize) -> Self {
        Self { lines: vec![Line([value; WIDTH]); len.div_ceil(WIDTH)], len }
    }

    /// As [`Lines::new`], for a program's input.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn filled(program: &'static str, len: usize, value: T) -> Result<Self, ParamError> {
        Ok(Self { lines: filled(program, len.div_ceil(WIDTH), Line([value; WIDTH]))?, len })
    }
}

impl<T: Copy> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        const { Self::HAS_NO_PADDING };
        // SAFETY: the lines are one array of values, initialized, of at least `len` by the invariant, and borrowed with this.
        unsafe { slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Copy> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        const { Self::HAS_NO_PADDING };
        // SAFETY: as above, and this borrow is exclusive.
        unsafe { slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn values_begin_at_a_line() {
        for len in [0, 1, 15, 16, 17, 100] {
            let mut lines = Lines::new(7_u32, len);
            assert_eq!((lines.as_ptr().addr() % 64, lines.len()), (0, len));
            assert!(lines.iter().all(|&value| value == 7));
            lines.iter_mut().zip(0..).for_each(|(value, at)| *value = at);
            assert!((0..).zip(lines.iter()).all(|(at, &value)| value == at));
        }
        assert!(Lines::<f32>::default().is_empty());
        assert_eq!(&Lines::filled("matmul", 3, 0.5_f32).unwrap()[..], [0.5; 3]);
    }
}
