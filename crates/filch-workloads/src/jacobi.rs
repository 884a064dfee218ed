//! Jacobi's iteration for Laplace's equation on an n × n mesh: each point becomes the mean of its four neighbours.
//!
//! There are two arrays. A sweep computes one from the other, row by row in a parallel loop; the edges do not change.
//! Sweeps run one after the other, and each ends with a join of all rows.
//!
//! What it stresses: how fast workers share and finish a loop of some tens of microseconds, a hundred times; beyond the
//! caches, the memory. A sweep of 1024² reads and writes 16 MB, so with several workers memory sets the pace. The span
//! of a sweep is one row, plus log n forks for loops that halve.
//!
//! Without `grain` the loop splits on demand, if the executor can do that; others halve down to groups of rows of 10
//! µs. With `grain` all halve down to that many rows. Every executor computes a point in the same way, so the mesh must
//! equal that of the sequential program bit for bit.

use filch_catalogue::ParamError;
use filch_catalogue::programs::jacobi::Params;

use crate::answer::Answer;
use crate::inputs::uniform;
use crate::mesh::{Mesh, Stencil};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

/// The number of points that take some 10 µs.
const POINTS: usize = 20_000;

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let n = self.n;
        let mesh = Mesh::new("jacobi", (n, n), self.sweeps, Mean, |i, k| uniform(1, (i * n + k) as u64))?;
        Ok(Instance { mesh, grain: Grain::from_param(self.grain, POINTS / n) })
    }
}

/// The mean of four neighbours.
#[derive(Clone, Copy, Debug)]
struct Mean;

impl Stencil for Mean {
    /// Out of line, so that all executors run the same instructions.
    #[inline(never)]
    fn row(self, above: &[f64], row: &[f64], below: &[f64], new: &mut [f64]) {
        let n = new.len();
        let (above, below) = (&above[1..n - 1], &below[1..n - 1]);
        let (left, right) = (&row[..n - 2], &row[2..n]);
        for (k, new) in new[1..n - 1].iter_mut().enumerate() {
            *new = 0.25 * ((above[k] + below[k]) + (left[k] + right[k]));
        }
    }
}

/// The program and its mesh.
#[derive(Debug)]
pub struct Instance {
    mesh: Mesh<Mean>,
    grain: Grain,
}

impl Instance {
    /// The values on the mesh, row by row.
    pub fn values(&self) -> &[f64] {
        self.mesh.values()
    }
}

impl Runs for Instance {
    fn reset(&mut self) {
        self.mesh.reset();
    }

    fn serial(&mut self) -> Answer {
        self.mesh.serial()
    }

    fn check(&self, answer: &Answer) -> Result<(), String> {
        self.mesh.check(answer)
    }

    fn tasks(&self, _: &Answer) -> Option<u64> {
        None
    }

    fn digest(&self) -> u64 {
        self.mesh.digest()
    }

    fn damage(&mut self, at: u64) -> bool {
        self.mesh.damage(at)
    }
}

impl Forks for Instance {
    fn fork_join<J: ForkJoin>(&mut self, mut j: J) -> Answer {
        self.mesh.parallel(&mut j, self.grain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plane is its own mean; the arithmetic is exact if all values are small integers.
    #[test]
    fn planes_do_not_change() {
        let plane = |i: usize, k: usize| (3 * i + 2 * k) as f64;
        let mut mesh = Mesh::new("test", (9, 12), 7, Mean, plane).expect("there is memory");
        mesh.reset();
        mesh.serial();
        assert!(mesh.values().iter().enumerate().all(|(at, &value)| value == plane(at / 12, at % 12)));
    }
}
