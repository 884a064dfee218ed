//! Sample sort: its parameters.

use super::keys::{DISTRIBUTIONS, Distribution};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The keys.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub input: Distribution,
    pub grain: usize,
    pub seed: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "samplesort",
        summary: "sample sort of floating-point numbers",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013); PBBS",
        params: &[
            ParamSpec { name: "n", help: "keys", default: "2000000" },
            ParamSpec { name: "input", help: "random or exponential", default: "random" },
            ParamSpec { name: "grain", help: "blocks per task; 0: split on demand", default: "0" },
            ParamSpec { name: "seed", help: "seed of the keys", default: "1" },
        ],
        quick: &[("n", "500000")],
        compare: &[("n", "2000000")],
        paper: &[("n", "240000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 40, "")? as usize,
            input: settings.word("input", settings.text("input"), DISTRIBUTIONS)?,
            grain: settings.whole("grain", 0, 1 << 40, "")? as usize,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.input.to_string(), self.grain.to_string(), self.seed.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        3 * 8 * self.n as u64 + 4 * (self.blocks() * self.buckets()) as u64
    }
}

impl Params {
    /// The keys of a block other than the last.
    pub fn block(&self) -> usize {
        2 * self.n.isqrt()
    }

    pub fn blocks(&self) -> usize {
        self.n.div_ceil(self.block())
    }

    pub fn buckets(&self) -> usize {
        self.n.isqrt().div_ceil(2)
    }
}
