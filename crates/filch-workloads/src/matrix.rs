//! Square matrices in recursive blocks, and the common parts of the programs on them.
//!
//! A matrix is stored as its four quadrants one after the other. Each quadrant is stored in the same way, down to
//! tiles, which are stored row by row. So a quadrant is a slice, and recursive programs hand out disjoint parts of a
//! matrix by splitting slices. Orders that do not fit are padded.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use filch_catalogue::ParamError;
use filch_catalogue::programs::hash;
use filch_catalogue::programs::matrix::{GROUP, Layout, Size};

use crate::ForkJoin;
use crate::answer::Answer;
use crate::checks::sequence;
use crate::fork_join::join4;
use crate::inputs::{filled, made};

/// The places of elements, and matrices laid out by them.
pub(crate) trait Elements {
    /// Returns the row and the column of an element.
    fn position(&self, index: usize) -> (usize, usize);

    /// Creates a matrix of these values, with `padding` outside.
    fn matrix(
        &self,
        workload: &'static str,
        padding: impl Fn(usize, usize) -> f64 + Sync,
        value: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Result<Vec<f64>, ParamError>;

    /// Visits every element of a matrix: row, column, value.
    fn visit(&self, matrix: &[f64], see: impl FnMut(usize, usize, f64));
}

impl Elements for Layout {
    fn position(&self, index: usize) -> (usize, usize) {
        let area = self.tile * self.tile;
        let (which, within) = (index / area, index % area);
        let (mut row, mut column) = (0, 0);
        for level in (0..self.levels).rev() {
            let quadrant = which >> (2 * level) & 3;
            (row, column) = (2 * row + (quadrant >> 1), 2 * column + (quadrant & 1));
        }
        (row * self.tile + within / self.tile, column * self.tile + within % self.tile)
    }

    fn matrix(
        &self,
        workload: &'static str,
        padding: impl Fn(usize, usize) -> f64 + Sync,
        value: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Result<Vec<f64>, ParamError> {
        made(workload, self.elements(), |index| {
            let (row, column) = self.position(index as usize);
            if row < self.n && column < self.n { value(row, column) } else { padding(row, column) }
        })
    }

    fn visit(&self, matrix: &[f64], mut see: impl FnMut(usize, usize, f64)) {
        let area = self.tile * self.tile;
        for (which, tile) in matrix.chunks_exact(area).enumerate() {
            let (top, left) = self.position(which * area);
            for (row, values) in tile.chunks_exact(self.tile).enumerate() {
                for (column, &value) in values.iter().enumerate() {
                    see(top + row, left + column, value);
                }
            }
        }
    }
}

/// Returns the quadrants: upper left, upper right, lower left, lower right.
#[inline]
pub(crate) fn quadrants(matrix: &[f64]) -> [&[f64]; 4] {
    let (upper, lower) = matrix.split_at(matrix.len() / 2);
    let (a, b) = upper.split_at(upper.len() / 2);
    let (c, d) = lower.split_at(lower.len() / 2);
    [a, b, c, d]
}

/// Returns the quadrants, mutable.
#[inline]
pub(crate) fn quadrants_mut(matrix: &mut [f64]) -> [&mut [f64]; 4] {
    let (upper, lower) = matrix.split_at_mut(matrix.len() / 2);
    let (a, b) = upper.split_at_mut(upper.len() / 2);
    let (c, d) = lower.split_at_mut(lower.len() / 2);
    [a, b, c, d]
}

/// What happens to a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Into {
    /// It replaces the block.
    Set,
    /// It is added to the block.
    Add,
    /// It is subtracted from the block.
    Subtract,
}

/// Computes a product in place: eight products of quadrants, four at a time. Long leaves look for thieves if it
/// `POLLS`.
pub(crate) fn product<const POLLS: bool, J: ForkJoin>(
    j: &mut J,
    into: Into,
    c: &mut [f64],
    a: &[f64],
    b: &[f64],
    tile: usize,
) {
    if c.len() == tile * tile {
        let is_long = POLLS && tile >= LONG;
        return if is_long { long_product(j, into, c, a, b, tile) } else { tile_product(into, c, a, b, tile) };
    }
    let then = if into == Into::Set { Into::Add } else { into };
    let ([a00, a01, a10, a11], [b00, b01, b10, b11]) = (quadrants(a), quadrants(b));
    let [c00, c01, c10, c11] = quadrants_mut(c);
    {
        let [c00, c01, c10, c11] = [&mut *c00, &mut *c01, &mut *c10, &mut *c11];
        join4!(
            j,
            move |mut j| product::<POLLS, _>(&mut j, into, c00, a00, b00, tile),
            move |mut j| product::<POLLS, _>(&mut j, into, c01, a00, b01, tile),
            move |mut j| product::<POLLS, _>(&mut j, into, c10, a10, b00, tile),
            move |mut j| product::<POLLS, _>(&mut j, into, c11, a10, b01, tile),
        );
    }
    join4!(
        j,
        move |mut j| product::<POLLS, _>(&mut j, then, c00, a01, b10, tile),
        move |mut j| product::<POLLS, _>(&mut j, then, c01, a01, b11, tile),
        move |mut j| product::<POLLS, _>(&mut j, then, c10, a11, b10, tile),
        move |mut j| product::<POLLS, _>(&mut j, then, c11, a11, b11, tile),
    );
}

/// The side from which a product of two tiles takes almost a millisecond: long enough that thieves feel it.
const LONG: usize = 128;

/// Multiplies large tiles, four rows at a time.
fn long_product<J: ForkJoin>(j: &mut J, into: Into, c: &mut [f64], a: &[f64], b: &[f64], tile: usize) {
    let rows = 4 * tile;
    for (c, a) in c.chunks_mut(rows).zip(a.chunks(rows)) {
        tile_product(into, c, a, b, tile);
        j.poll();
    }
}

/// Multiplies two tiles, or some rows of the first with the second.
#[inline]
pub(crate) fn tile_product(into: Into, c: &mut [f64], a: &[f64], b: &[f64], tile: usize) {
    match into {
        Into::Set => {
            c.fill(0.0);
            multiply_tiles::<false>(c, a, b, tile);
        }
        Into::Add => multiply_tiles::<false>(c, a, b, tile),
        Into::Subtract => multiply_tiles::<true>(c, a, b, tile),
    }
}

/// Computes C ± A·B by two rows and a group of columns at a time, which fit registers. Out of line, so that all
/// executors run the same instructions.
#[inline(never)]
fn multiply_tiles<const SUBTRACT: bool>(c: &mut [f64], a: &[f64], b: &[f64], tile: usize) {
    for (c, a) in c.chunks_exact_mut(2 * tile).zip(a.chunks_exact(2 * tile)) {
        let ((c0, c1), (a0, a1)) = (c.split_at_mut(tile), a.split_at(tile));
        let groups = c0.as_chunks_mut::<GROUP>().0.iter_mut().zip(c1.as_chunks_mut::<GROUP>().0);
        for (group, (c0, c1)) in groups.enumerate() {
            let (mut sum0, mut sum1) = (*c0, *c1);
            for ((&a0, &a1), b) in a0.iter().zip(a1).zip(b.chunks_exact(tile)) {
                let b = &b.as_chunks::<GROUP>().0[group];
                for ((sum0, sum1), b) in sum0.iter_mut().zip(&mut sum1).zip(b) {
                    if SUBTRACT {
                        *sum0 -= a0 * b;
                        *sum1 -= a1 * b;
                    } else {
                        *sum0 += a0 * b;
                        *sum1 += a1 * b;
                    }
                }
            }
            (*c0, *c1) = (sum0, sum1);
        }
    }
}

/// Memory for temporary matrices, kept between tasks and between runs. Otherwise runs would measure how the system
/// provides fresh pages, which costs the sequential program as much as everything else.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<f64>>>);

impl Buffers {
    /// Returns `len` arbitrary numbers. Few tasks need a buffer, each for a long time, so a lock is good enough.
    pub(crate) fn take(&self, len: usize) -> Buffer<'_> {
        let mut free = self.free();
        let found = free.iter().rposition(|buffer| buffer.len() == len).map(|at| free.swap_remove(at));
        drop(free);
        Buffer { numbers: found.unwrap_or_else(|| vec![0.0; len]), home: self }
    }

    fn free(&self) -> MutexGuard<'_, Vec<Vec<f64>>> {
        // No holder of the lock panics, and every list of buffers is valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers that return to their [`Buffers`] when dropped.
pub(crate) struct Buffer<'b> {
    numbers: Vec<f64>,
    home: &'b Buffers,
}

impl Deref for Buffer<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.numbers
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.home.free().push(std::mem::take(&mut self.numbers));
    }
}

/// Two factors and the place of their product. The factors are small integers, so all sums are exact in any order of
/// additions.
#[derive(Debug)]
pub(crate) struct Factors {
    pub(crate) layout: Layout,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) buffers: Buffers,
}

impl Factors {
    pub(crate) fn new(workload: &'static str, size: Size) -> Result<Self, ParamError> {
        let layout = size.layout();
        let n = layout.n;
        let matrix = |seed| {
            let value = |row, column| (hash(seed, (row * n + column) as u64) % 5) as f64 - 2.0;
            layout.matrix(workload, |_, _| 0.0, value)
        };
        Ok(Self {
            layout,
            a: matrix(1)?,
            b: matrix(2)?,
            c: filled(workload, layout.elements(), f64::NAN)?,
            buffers: Buffers::default(),
        })
    }

    pub(crate) fn reset(&mut self) {
        self.c.fill(f64::NAN);
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer::Product(self.layout.n)
    }

    /// Freivalds' check: C·x must equal A·(B·x) for a random x. The arithmetic is in integers, so a wrong C passes with
    /// a probability of some 2⁻³⁰.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        let n = self.layout.n;
        if *answer != self.answer() {
            return Err(format!("the answer is {answer}, but it should be a product of order {n}"));
        }
        let mut broken = None;
        self.layout.visit(&self.c, |row, column, value| {
            if value.fract() != 0.0 || value.is_nan() {
                broken = broken.or(Some((row, column, value)));
            }
        });
        if let Some((row, column, value)) = broken {
            return Err(format!("element ({row}, {column}) of the product is {value}, not an integer"));
        }
        let x: Vec<i64> = (0..self.layout.order() as u64).map(|index| (hash(3, index) >> 34) as i64).collect();
        let right = self.times(&self.a, &self.times(&self.b, &x));
        match self.times(&self.c, &x).iter().zip(&right).position(|(found, right)| found != right) {
            None => Ok(()),
            Some(row) => Err(format!("row {row} of the product is wrong")),
        }
    }

    fn times(&self, matrix: &[f64], x: &[i64]) -> Vec<i64> {
        let mut y = vec![0_i64; x.len()];
        self.layout.visit(matrix, |row, column, value| {
            y[row] = y[row].wrapping_add((value as i64).wrapping_mul(x[column]));
        });
        y
    }

    pub(crate) fn digest(&self) -> u64 {
        sequence(self.c.iter().map(|value| value.to_bits()))
    }

    pub(crate) fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.c.len();
        self.c[at] += 1.0;
        true
    }
}

/// Defines an instance made of [`Factors`], with everything but the two programs.
macro_rules! instance_of_factors {
    ($(#[$doc:meta])* $name:ident $(, $field:ident: $type:ty)?) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            factors: $crate::matrix::Factors,
            forks: Option<u64>,
            $($field: $type,)?
        }

        impl $crate::spec::Runs for $name {
            fn reset(&mut self) {
                self.factors.reset();
            }

            fn serial(&mut self) -> $crate::Answer {
                serial(&mut self.factors);
                self.factors.answer()
            }

            fn check(&self, answer: &$crate::Answer) -> Result<(), String> {
                self.factors.check(answer)
            }

            fn tasks(&self, _: &$crate::Answer) -> Option<u64> {
                self.forks
            }

            fn digest(&self) -> u64 {
                self.factors.digest()
            }

            fn damage(&mut self, at: u64) -> bool {
                self.factors.damage(at)
            }
        }
    };
}

pub(crate) use instance_of_factors;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_cover_the_matrix() {
        for (n, most) in [(1, 8), (8, 8), (9, 8), (50, 16), (100, 16), (3500, 64)] {
            let layout = Layout::new(n, most);
            assert!(layout.order() >= n && layout.tile <= most.next_multiple_of(GROUP), "{layout:?}");
            if n > 100 {
                continue;
            }
            let order = layout.order();
            let matrix = layout.matrix("test", |_, _| -1.0, |row, column| (row * order + column) as f64);
            let mut seen = vec![false; layout.elements()];
            layout.visit(&matrix.expect("there is memory"), |row, column, value| {
                let inside = row < n && column < n;
                assert_eq!(value, if inside { (row * order + column) as f64 } else { -1.0 });
                assert!(!std::mem::replace(&mut seen[row * order + column], true));
            });
            assert!(seen.iter().all(|&seen| seen));
        }
    }
}
