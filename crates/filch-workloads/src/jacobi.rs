//! Jacobi's iteration for Laplace's equation on an n × n mesh: each point becomes the mean of its four neighbours.
//!
//! There are two arrays, and a sweep computes one from the other, its rows in parallel by the library's loop; the edges
//! stay as they are. Sweep follows on sweep, and each ends with a join of all rows.
//!
//! What it stresses: how fast a loop of some tens of microseconds is spread over the workers and gathered again, a
//! hundred times, and beyond the caches the memory. A sweep of 1024² reads and writes 16 MB, so with several workers
//! the memory sets the pace. The span of a sweep is a row, and with loops that halve log n forks before it.
//!
//! Without `grain` the loop splits on demand, where the executor can do that; others halve down to rows of 10 µs
//! together. With it, all halve down to so many rows. A point is computed in the same way whoever does it, so the mesh
//! must be that of the sequential program, bit for bit.

use filch_catalogue::ParamError;
use filch_catalogue::programs::jacobi::Params;

use crate::answer::Answer;
use crate::inputs::uniform;
use crate::mesh::{Mesh, Stencil};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

/// Points that take some 10 µs.
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
    /// Out of line, so that everyone runs the same instructions.
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

    /// A plane is its own mean, exactly if all values are small whole numbers.
    #[test]
    fn planes_stay() {
        let plane = |i: usize, k: usize| (3 * i + 2 * k) as f64;
        let mut mesh = Mesh::new("test", (9, 12), 7, Mean, plane).expect("there is memory");
        mesh.reset();
        mesh.serial();
        assert!(mesh.values().iter().enumerate().all(|(at, &value)| value == plane(at / 12, at % 12)));
    }
}
