//! Sweeps over a rectangular mesh, shared by jacobi and heat.
//!
//! There are two arrays. A sweep computes each inner point of one from the other by a five-point stencil, row by row;
//! then the arrays change places. The outermost points keep their values.

use std::cell::OnceCell;

use filch_catalogue::ParamError;

use crate::answer::Answer;
use crate::checks::{same_bits, sequence};
use crate::divided::Rows;
use crate::inputs::{filled, made};
use crate::{ForkJoin, Grain};

/// Computes the inner points of a row from the row above, the row itself and the row below.
pub(crate) trait Stencil: Copy + Sync {
    fn row(self, above: &[f64], row: &[f64], below: &[f64], new: &mut [f64]);
}

/// A mesh, its initial values, and its stencil.
#[derive(Debug)]
pub(crate) struct Mesh<S> {
    width: usize,
    sweeps: usize,
    stencil: S,
    input: Vec<f64>,
    /// The first array has the result.
    arrays: [Vec<f64>; 2],
    right: OnceCell<Vec<f64>>,
}

impl<S: Stencil> Mesh<S> {
    pub(crate) fn new(
        workload: &'static str,
        (rows, width): (usize, usize),
        sweeps: usize,
        stencil: S,
        value: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Result<Self, ParamError> {
        let input = made(workload, rows * width, |index| value(index as usize / width, index as usize % width))?;
        let arrays = [filled(workload, rows * width, 0.0)?, filled(workload, rows * width, 0.0)?];
        Ok(Self { width, sweeps, stencil, input, arrays, right: OnceCell::new() })
    }

    pub(crate) fn reset(&mut self) {
        for array in &mut self.arrays {
            array.copy_from_slice(&self.input);
        }
    }

    /// The plain double loop.
    pub(crate) fn serial(&mut self) -> Answer {
        serial(&mut self.arrays, self.width, self.sweeps, self.stencil);
        Answer::Numbers(self.input.len())
    }

    /// The double loop with parallel rows.
    pub(crate) fn parallel<J: ForkJoin>(&mut self, j: &mut J, grain: Grain) -> Answer {
        let (width, stencil) = (self.width, self.stencil);
        for _ in 0..self.sweeps {
            let [old, new] = &mut self.arrays;
            let old = &old[..];
            j.for_blocks(inner(new, width), grain, |rows| {
                for (row, new) in rows {
                    sweep_row(old, row, new, stencil);
                }
            });
            self.arrays.swap(0, 1);
        }
        Answer::Numbers(self.input.len())
    }

    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        if *answer != Answer::Numbers(self.input.len()) {
            return Err(format!("the answer is {answer}, but it should be {} numbers", self.input.len()));
        }
        let right = self.right.get_or_init(|| {
            let mut arrays = [self.input.clone(), self.input.clone()];
            serial(&mut arrays, self.width, self.sweeps, self.stencil);
            let [right, _] = arrays;
            right
        });
        same_bits(&self.arrays[0], right)
    }

    pub(crate) fn digest(&self) -> u64 {
        sequence(self.arrays[0].iter().map(|value| value.to_bits()))
    }

    pub(crate) fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.input.len();
        self.arrays[0][at] += 1.0;
        true
    }

    /// The result.
    pub(crate) fn values(&self) -> &[f64] {
        &self.arrays[0]
    }
}

/// Returns all rows but the first and the last, numbered from 0.
fn inner(array: &mut [f64], width: usize) -> Rows<'_, f64> {
    let end = array.len() - width;
    Rows::new(&mut array[width..end], width)
}

/// Computes inner row `row`.
#[inline]
fn sweep_row<S: Stencil>(old: &[f64], row: usize, new: &mut [f64], stencil: S) {
    let width = new.len();
    let (above, rest) = old[row * width..(row + 3) * width].split_at(width);
    let (this, below) = rest.split_at(width);
    stencil.row(above, this, below, new);
}

fn serial<S: Stencil>(arrays: &mut [Vec<f64>; 2], width: usize, sweeps: usize, stencil: S) {
    for _ in 0..sweeps {
        let [old, new] = arrays;
        for (row, new) in inner(new, width) {
            sweep_row(old, row, new, stencil);
        }
        arrays.swap(0, 1);
    }
}
