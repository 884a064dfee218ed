//! Convex hull: its parameters.

use std::fmt;

use super::grain::{Grain, grain_help};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The distributions of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Uniform in the unit disc.
    Uniform,
    /// Like the stars of a globular cluster, by Plummer's model.
    Plummer,
}

const CLOUDS: &[(&str, Cloud)] = &[("uniform", Cloud::Uniform), ("plummer", Cloud::Plummer)];

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uniform => "uniform",
            Self::Plummer => "plummer",
        })
    }
}

/// The points, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub input: Cloud,
    pub cutoff: usize,
    pub grain: Grain,
    pub seed: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "hull",
        summary: "convex hull of points in the plane by quickhull",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013); PBBS",
        params: &[
            ParamSpec { name: "n", help: "points", default: "5000000" },
            ParamSpec { name: "input", help: "uniform or plummer", default: "uniform" },
            ParamSpec { name: "cutoff", help: "no forks for this many points or fewer", default: "4096" },
            ParamSpec { name: "grain", help: grain_help!("segments"), default: "0" },
            ParamSpec { name: "seed", help: "seed of the points", default: "1" },
        ],
        quick: &[("n", "1000000")],
        compare: &[("n", "5000000")],
        paper: &[("n", "100000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 2, 1 << 40, "")? as usize,
            input: settings.word("input", settings.text("input"), CLOUDS)?,
            cutoff: settings.whole("cutoff", 1, 1 << 40, "")? as usize,
            grain: Grain::parse(settings)?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        let [n, cutoff] = [self.n, self.cutoff].map(|value| value.to_string());
        vec![n, self.input.to_string(), cutoff, self.grain.to_string(), self.seed.to_string()]
    }

    /// The points, and their copies in sets.
    fn memory_bytes(&self) -> u64 {
        2 * 16 * self.n as u64
    }
}
