//! Diffusion of heat on a plate, by explicit steps in time.
//!
//! The plate is a mesh of `nx` columns of `ny` points. A step computes all columns from those before it, by halving
//! down to strips of `leaf` columns. The edges are kept at 0, and at first the temperature is sin x · sin y for x and y
//! from 0 to π, so after time t it should be e⁻²ᵗ · sin x · sin y but for the error of the mesh.
//!
//! What it stresses: many small trees of forks one after the other, each of some hundred tasks that take the same time.
//! A step is a barrier. With more columns than the caches hold, the memory sets the pace. The span of a step is Θ(log
//! nx) forks and a strip.
//!
//! In contrast to `jacobi` all executors fork the same strips. A point is computed in the same way whoever does it, so
//! the plate must be that of the sequential program, bit for bit.

use std::f64::consts::PI;

use crate::answer::Answer;
use crate::mesh::{Mesh, Stencil};
use crate::params::{ParamError, ParamSpec, Settings};
use crate::spec::{self, Forks, Runs, Spec};
use crate::{ForkJoin, Grain};

/// The plate, the steps, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    nx: usize,
    ny: usize,
    steps: usize,
    leaf: usize,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "heat",
        summary: "diffusion of heat by explicit steps, strips of columns in parallel",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[
            ParamSpec { name: "nx", help: "columns", default: "1024" },
            ParamSpec { name: "ny", help: "points in a column", default: "1024" },
            ParamSpec { name: "steps", help: "steps in time", default: "100" },
            ParamSpec { name: "leaf", help: "columns of a strip that is not split", default: "10" },
        ],
        quick: &[("nx", "512"), ("ny", "512")],
        compare: &[("nx", "1024"), ("ny", "1024")],
        paper: &[("nx", "4096"), ("ny", "1024")],
    };
    type Instance = Instance;

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            nx: settings.whole("nx", 3, 1 << 20, "")? as usize,
            ny: settings.whole("ny", 3, 1 << 20, "")? as usize,
            steps: settings.whole("steps", 1, 1 << 40, "")? as usize,
            leaf: settings.whole("leaf", 1, 1 << 20, "")? as usize,
        })
    }

    fn values(&self) -> Vec<String> {
        [self.nx, self.ny, self.steps, self.leaf].map(|value| value.to_string()).to_vec()
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.steps as u64 * forks(self.nx - 2, self.leaf))
    }

    fn memory_bytes(&self) -> u64 {
        Mesh::<Step>::bytes(self.nx as u64 * self.ny as u64)
    }

    fn prepare(&self) -> Result<Instance, ParamError> {
        let (dx, dy) = (PI / (self.nx - 1) as f64, PI / (self.ny - 1) as f64);
        // Stable as long as both factors together are at most a half.
        let dt = 0.2 * dx.min(dy).powi(2);
        let step = Step { x: dt / dx.powi(2), y: dt / dy.powi(2) };
        let temperature = |i: usize, k: usize| (i as f64 * dx).sin() * (k as f64 * dy).sin();
        let mesh = Mesh::new("heat", (self.nx, self.ny), self.steps, step, temperature)?;
        Ok(Instance { params: *self, mesh, time: dt * self.steps as f64 })
    }
}

/// Forks of a loop that halves down to `leaf`.
fn forks(columns: usize, leaf: usize) -> u64 {
    if columns <= leaf { 0 } else { 1 + forks(columns / 2, leaf) + forks(columns - columns / 2, leaf) }
}

/// A step in time: Δt/Δx² and Δt/Δy².
#[derive(Clone, Copy, Debug)]
struct Step {
    x: f64,
    y: f64,
}

impl Stencil for Step {
    /// Out of line, so that everyone runs the same instructions.
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
    /// Of all steps together.
    time: f64,
}

impl Instance {
    /// The temperatures, column by column.
    pub fn values(&self) -> &[f64] {
        self.mesh.values()
    }

    /// The largest distance of a temperature from the solution of the differential equation.
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
        spec::Params::tasks(&self.params)
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
        self.mesh.parallel(&mut j, Grain::Fixed(self.params.leaf))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_near_the_exact_solution() {
        let params = Params { nx: 40, ny: 30, steps: 300, leaf: 10 };
        let mut plate = spec::Params::prepare(&params).expect("there is memory");
        plate.reset();
        plate.serial();
        assert!(plate.time > 0.3 && plate.error() < 2e-3, "{} after {}", plate.error(), plate.time);
    }
}
