//! Jacobi's iteration: its parameters.

use super::grain::{Grain, grain_help};
use super::{ParamError, ParamSpec, Settings, Spec, mesh_bytes, spec};

/// The size of the mesh.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub sweeps: usize,
    pub grain: Grain,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "jacobi",
        summary: "means of neighbours on an n × n mesh, rows in parallel",
        source: "Fence-free work stealing (Morrison, Afek, 2014)",
        params: &[
            ParamSpec { name: "n", help: "rows and columns", default: "1024" },
            ParamSpec { name: "sweeps", help: "number of sweeps over all points", default: "100" },
            ParamSpec { name: "grain", help: grain_help!("rows"), default: "0" },
        ],
        quick: &[("n", "512")],
        compare: &[("n", "1024")],
        paper: &[("n", "1024")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 3, 1 << 20, "")? as usize,
            sweeps: settings.whole("sweeps", 1, 1 << 40, "")? as usize,
            grain: Grain::parse(settings)?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.sweeps.to_string(), self.grain.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        mesh_bytes(self.n as u64 * self.n as u64)
    }
}
