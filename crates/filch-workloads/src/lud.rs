//! LU decomposition of a dense matrix by quadrants, without pivoting.
//!
//! The program decomposes the upper left quadrant. It solves for the upper right one with L and for the lower left one
//! with U, both in parallel; it subtracts their product from the lower right quadrant and decomposes that. Solving
//! recurses by columns and rows; subtracting recurses by all four quadrants, four products at a time. The result
//! replaces the input: U on and above the diagonal, L below it.
//!
//! What it stresses: parallelism that comes and goes. The work is Θ(n³). The span is Θ(n), but it is a chain of small
//! steps along the diagonal with little parallelism. Deques stay short, so queues whose thieves must leave the last few
//! tasks do badly on it.
//!
//! The diagonal dominates, so no pivot is small. Any schedule computes every element by the same operations, so the
//! result equals that of the sequential program, which is the same recursion, bit for bit. The check compares L·(U·x)
//! with A·x for a random x.

use filch_catalogue::ParamError;
use filch_catalogue::programs::lud::Params;
use filch_catalogue::programs::matrix::Layout;

use crate::answer::{Answer, expect};
use crate::checks::sequence;
use crate::inputs::{filled, uniform};
use crate::matrix::{Elements, Into, product, quadrants, quadrants_mut};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Serial};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let layout = self.0.layout();
        let n = layout.n;
        // The padding is the unit matrix, which is its own decomposition.
        let unit = |row, column| if row == column { 1.0 } else { 0.0 };
        let input = layout.matrix("lud", unit, |row, column| {
            2.0 * uniform(1, (row * n + column) as u64) - 1.0 + n as f64 * unit(row, column)
        })?;
        Ok(Instance { layout, input, matrix: filled("lud", layout.elements(), 0.0)? })
    }
}

/// The program, its input, and the matrix being decomposed.
#[derive(Debug)]
pub struct Instance {
    layout: Layout,
    input: Vec<f64>,
    matrix: Vec<f64>,
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.matrix.copy_from_slice(&self.input);
    }

    fn serial(&mut self) -> Answer {
        decompose(&mut Serial, &mut self.matrix, self.layout.tile);
        Answer::Numbers(self.layout.n * self.layout.n)
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &Answer::Numbers(self.layout.n * self.layout.n))?;
        let (order, n) = (self.layout.order(), self.layout.n as f64);
        // Far from 0, so that every wrong element shows.
        let x: Vec<f64> = (0..order as u64).map(|index| 1.0 + uniform(2, index)).collect();
        let mut right = vec![0.0; order];
        self.layout.visit(&self.input, |row, column, a| right[row] += a * x[column]);
        let mut ux = vec![0.0; order];
        self.layout.visit(&self.matrix, |row, column, u| ux[row] += if row <= column { u * x[column] } else { 0.0 });
        let mut lux = ux.clone();
        self.layout.visit(&self.matrix, |row, column, l| lux[row] += if row > column { l * ux[column] } else { 0.0 });
        // An element of A is about 1, on the diagonal about n.
        let wrong = |(found, right): (&f64, &f64)| (found - right).abs() > 1e-10 * n || found.is_nan();
        match lux.iter().zip(&right).position(wrong) {
            None => Ok(()),
            Some(row) => Err(format!("row {row} of L·U·x is {}, but it should be {}", lux[row], right[row])),
        }
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        sequence(self.matrix.iter().map(|value| value.to_bits()))
    }

    fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.matrix.len();
        self.matrix[at] += 1e-3;
        true
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        decompose(&mut j, &mut self.matrix, self.layout.tile);
        Answer::Numbers(self.layout.n * self.layout.n)
    }
}

/// Replaces A by L and U, A = L·U.
fn decompose<J: ForkJoin>(j: &mut J, a: &mut [f64], tile: usize) {
    if a.len() == tile * tile {
        return decompose_tile(a, tile);
    }
    let [a00, a01, a10, a11] = quadrants_mut(a);
    decompose(j, a00, tile);
    {
        let (diagonal, a01, a10) = (&*a00, &mut *a01, &mut *a10);
        j.join(
            move |mut j| solve_lower(&mut j, diagonal, a01, tile),
            move |mut j| solve_upper(&mut j, diagonal, a10, tile),
        );
    }
    product::<false, _>(j, Into::Subtract, a11, a10, a01, tile);
    decompose(j, a11, tile);
}

/// Replaces M by X, L·X = M, where L has ones on the diagonal.
fn solve_lower<J: ForkJoin>(j: &mut J, l: &[f64], m: &mut [f64], tile: usize) {
    if m.len() == tile * tile {
        return solve_lower_tile(l, m, tile);
    }
    let [m00, m01, m10, m11] = quadrants_mut(m);
    j.join(
        move |mut j| solve_lower_column(&mut j, l, m00, m10, tile),
        move |mut j| solve_lower_column(&mut j, l, m01, m11, tile),
    );
}

fn solve_lower_column<J: ForkJoin>(j: &mut J, l: &[f64], upper: &mut [f64], lower: &mut [f64], tile: usize) {
    let [l00, _, l10, l11] = quadrants(l);
    solve_lower(j, l00, upper, tile);
    product::<false, _>(j, Into::Subtract, lower, l10, upper, tile);
    solve_lower(j, l11, lower, tile);
}

/// Replaces M by X, X·U = M.
fn solve_upper<J: ForkJoin>(j: &mut J, u: &[f64], m: &mut [f64], tile: usize) {
    if m.len() == tile * tile {
        return solve_upper_tile(u, m, tile);
    }
    let [m00, m01, m10, m11] = quadrants_mut(m);
    j.join(
        move |mut j| solve_upper_row(&mut j, u, m00, m01, tile),
        move |mut j| solve_upper_row(&mut j, u, m10, m11, tile),
    );
}

fn solve_upper_row<J: ForkJoin>(j: &mut J, u: &[f64], left: &mut [f64], right: &mut [f64], tile: usize) {
    let [u00, u01, _, u11] = quadrants(u);
    solve_upper(j, u00, left, tile);
    product::<false, _>(j, Into::Subtract, right, left, u01, tile);
    solve_upper(j, u11, right, tile);
}

#[inline(never)]
fn decompose_tile(a: &mut [f64], tile: usize) {
    for k in 0..tile {
        let (upper, lower) = a.split_at_mut((k + 1) * tile);
        let (pivot, right) = upper[k * tile + k..].split_at(1);
        for row in lower.chunks_exact_mut(tile) {
            let factor = row[k] / pivot[0];
            row[k] = factor;
            subtract(&mut row[k + 1..], factor, right);
        }
    }
}

#[inline(never)]
fn solve_lower_tile(l: &[f64], m: &mut [f64], tile: usize) {
    for k in 0..tile {
        let (upper, lower) = m.split_at_mut((k + 1) * tile);
        for (row, l) in lower.chunks_exact_mut(tile).zip(l.chunks_exact(tile).skip(k + 1)) {
            subtract(row, l[k], &upper[k * tile..]);
        }
    }
}

#[inline(never)]
fn solve_upper_tile(u: &[f64], m: &mut [f64], tile: usize) {
    for row in m.chunks_exact_mut(tile) {
        for (k, u) in u.chunks_exact(tile).enumerate() {
            let x = row[k] / u[k];
            row[k] = x;
            subtract(&mut row[k + 1..], x, &u[k + 1..]);
        }
    }
}

/// Subtracts a multiple of one row from another.
#[inline(always)]
fn subtract(row: &mut [f64], factor: f64, other: &[f64]) {
    for (row, other) in row.iter_mut().zip(other) {
        *row -= factor * other;
    }
}
