//! Diffusion of heat: its parameters.

use super::{ParamError, ParamSpec, Settings, Spec, mesh_bytes, spec};

/// The plate, the steps, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub nx: usize,
    pub ny: usize,
    pub steps: usize,
    pub leaf: usize,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "heat",
        summary: "diffusion of heat by explicit steps, strips of columns in parallel",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[
            ParamSpec { name: "nx", help: "columns", default: "1024" },
            ParamSpec { name: "ny", help: "points in a column", default: "1024" },
            ParamSpec { name: "steps", help: "time steps", default: "100" },
            ParamSpec { name: "leaf", help: "most columns of an unsplit strip; 0: split on demand", default: "10" },
        ],
        quick: &[("nx", "512"), ("ny", "512")],
        compare: &[("nx", "1024"), ("ny", "1024")],
        paper: &[("nx", "4096"), ("ny", "1024")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            nx: settings.whole("nx", 3, 1 << 20, "")? as usize,
            ny: settings.whole("ny", 3, 1 << 20, "")? as usize,
            steps: settings.whole("steps", 1, 1 << 40, "")? as usize,
            leaf: settings.whole("leaf", 0, 1 << 20, "")? as usize,
        })
    }

    fn values(&self) -> Vec<String> {
        [self.nx, self.ny, self.steps, self.leaf].map(|value| value.to_string()).to_vec()
    }

    fn tasks(&self) -> Option<u64> {
        (self.leaf > 0).then(|| self.steps as u64 * forks(self.nx - 2, self.leaf))
    }

    fn memory_bytes(&self) -> u64 {
        mesh_bytes(self.nx as u64 * self.ny as u64)
    }
}

/// The forks of a loop that halves down to `leaf`.
fn forks(columns: usize, leaf: usize) -> u64 {
    if columns <= leaf { 0 } else { 1 + forks(columns / 2, leaf) + forks(columns - columns / 2, leaf) }
}
