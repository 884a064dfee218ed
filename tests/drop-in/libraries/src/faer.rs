//! faer: solves linear equations by an LU decomposition with pivots. Products and triangular solves run on a team of
//! threads (crate spindle): tasks spawned in one rayon scope, a task for each thread, that live as long as the team and
//! wait at barriers.

use crate::numbers::numbers;
use faer::{Mat, linalg::solvers::Solve as _};

const SIDE: usize = 1500;

/// Returns a run: the solution of the equations, and a checksum of it.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let numbers = numbers(SIDE * SIDE);
    let matrix = Mat::from_fn(SIDE, SIDE, |i, j| (numbers[i * SIDE + j] >> 40) as f64 / (1 << 24) as f64 - 0.5);
    let solution = Mat::from_fn(SIDE, 1, |i, _| (numbers[i] % 1000) as f64);
    let right = &matrix * &solution;
    Box::new(move || {
        let found = matrix.partial_piv_lu().solve(&right);
        // The last bits depend on how the products are split.
        assert!((&found - &solution).norm_max() < 1e-6);
        (0..SIDE).map(|i| (i as u64 + 1) * found[(i, 0)].round() as u64).sum()
    })
}
