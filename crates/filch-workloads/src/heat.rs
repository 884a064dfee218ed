//! Diffusion of heat on a plate, by explicit time steps.
//!
//! The plate is a mesh of `nx` columns of `ny` points. A step computes all columns from the previous ones, by halving
//! down to strips of `leaf` columns, or on demand if that is 0. The edges stay at 0. The initial temperature is sin x ·
//! sin y for x and y from 0 to π, so at time t it should be e⁻²ᵗ · sin x · sin y up to the discretization error.
//!
//! What it stresses: a sequence of many small fork trees, each with some hundred tasks of equal length. A step is a
//! barrier. If the columns exceed the caches, memory sets the pace. The span of a step is Θ(log nx) forks plus one
//! strip.
//!
//! Unlike in `jacobi`, all executors fork the same strips unless `leaf` is 0. Every executor computes a point in the
//! same way, so the plate must equal that of the sequential program bit for bit.

use std::f64::consts::PI;

use filch_catalogue::ParamError;
use filch_catalogue::programs;
use filch_catalogue::programs::heat::Params;

use crate::answer::Answer;
use crate::mesh::{Mesh, Stencil};
use crate::spec::{Forks, Prepare, Runs};
use crate::{ForkJoin, Grain};

impl Prepare for Params {
    type Instance = Instance;

    fn prepare(&self) -> Result<Instance, ParamError> {
        let (dx, dy) = (PI / (self.nx - 1) as f64, PI / (self.ny - 1) as f64);
        // Stable while the two factors add up to at most a half.
        let dt = 0.2 * dx.min(dy).powi(2);
        let step = Step { x: dt / dx.powi(2), y: dt / dy.powi(2) };
        let temperature = |i: usize, k: usize| (i as f64 * dx).sin() * (k as f64 * dy).sin();
        let mesh = Mesh::new("heat", (self.nx, self.ny), self.steps, step, temperature)?;
        Ok(Instance { params: *self, mesh, time: dt * self.steps as f64 })
    }
}

/// A step in time: Δt/Δx² and Δt/Δy².
#[derive(Clone, Copy, Debug)]
struct Step {
    x: f64,
    y: f64,
}

impl Stencil for Step {
    /// Out of line, so that all executors run the same instructions.
    #[inline(never)]
    fn row(self, before: &[f64], column: &[f64], after: &[f64], new: &mut [f64]) {
        let n = new.len();
        let (before, after) = (&before[1..n - 1], &after[1..n - 1]);
        let (above, here, below) = (&column[..n - 2], &column[1..n - 1], &column[2..n]);
        for (k, new) in new[1..n - 1].iter_mut().enumerate() {
            let twice = 2.0 * here[k];
            *new = here[k] + self.x * (before[k] - twice + after[k]) + self.y * (above[k] - twice + below[k]);
        }
    }
}

/// The program and its plate.
#[derive(Debug)]
pub struct Instance {
    params: Params,
    mesh: Mesh<Step>,
    /// The time covered by all steps.
    time: f64,
}

impl Instance {
    /// The temperatures, column by column.
    pub fn values(&self) -> &[f64] {
        self.mesh.values()
    }

    /// Returns the largest error of a temperature against the solution of the differential equation.
    pub fn error(&self) -> f64 {
        let Params { nx, ny, .. } = self.params;
        let right = |at: usize| {
            let (x, y) = ((at / ny) as f64 / (nx - 1) as f64, (at % ny) as f64 / (ny - 1) as f64);
            (-2.0 * self.time).exp() * (PI * x).sin() * (PI * y).sin()
        };
        self.values().iter().enumerate().map(|(at, value)| (value - right(at)).abs()).fold(0.0, f64::max)
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
        programs::Params::tasks(&self.params)
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
        self.mesh.parallel(&mut j, Grain::from_param(self.params.leaf.into(), 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_near_the_exact_solution() {
        let params = Params { nx: 40, ny: 30, steps: 300, leaf: 10 };
        let mut plate = params.prepare().expect("there is memory");
        plate.reset();
        plate.serial();
        assert!(plate.time > 0.3 && plate.error() < 2e-3, "{} after {}", plate.error(), plate.time);
    }
}
