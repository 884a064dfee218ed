//! Sample sort: its parameters.

use super::grain::{Grain, grain_help};
use super::keys::{DISTRIBUTIONS, Distribution};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The keys, and how they come from blocks to buckets.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub input: Distribution,
    pub transpose: Transpose,
    pub grain: Grain,
    pub seed: u64,
}

/// How the pieces of the blocks come to their buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transpose {
    /// By a recursion that halves blocks and buckets.
    Halves,
    /// Each bucket gathers its pieces from all blocks.
    Gather,
}

const TRANSPOSES: &[(&str, Transpose)] = &[("halves", Transpose::Halves), ("gather", Transpose::Gather)];

const TRANSPOSE: ParamSpec = ParamSpec {
    name: "transpose",
    help: "how keys come from blocks to buckets: halves (of both, cache-efficient, as in PBBS), or gather (each bucket from all blocks)",
    default: "halves",
};

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "samplesort",
        summary: "sample sort of floating-point numbers",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013); PBBS",
        params: &[
            ParamSpec { name: "n", help: "keys", default: "2000000" },
            ParamSpec { name: "input", help: "random or exponential", default: "random" },
            TRANSPOSE,
            ParamSpec { name: "grain", help: grain_help!("blocks"), default: "0" },
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
            transpose: settings.word(TRANSPOSE.name, settings.text(TRANSPOSE.name), TRANSPOSES)?,
            grain: Grain::parse(settings)?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        let transpose = if self.transpose == Transpose::Halves { "halves" } else { "gather" };
        vec![
            self.n.to_string(),
            self.input.to_string(),
            transpose.to_owned(),
            self.grain.to_string(),
            self.seed.to_string(),
        ]
    }

    fn memory_bytes(&self) -> u64 {
        3 * 8 * self.n as u64 + (4 + 8) * (self.blocks() * self.buckets()) as u64
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
