//! The keys to sort: their parameters.

use std::fmt;

use super::{ParamError, ParamSpec, Settings};

/// The distributions of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Uniform: keys over all 32-bit numbers, real numbers from 0 to 1.
    Random,
    /// Exponential: keys with a mean of an eighth of their number, so that small ones occur many times; real numbers
    /// with a mean of 1.
    Exponential,
}

/// The words for [`Distribution`].
pub const DISTRIBUTIONS: &[(&str, Distribution)] =
    &[("random", Distribution::Random), ("exponential", Distribution::Exponential)];

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "random",
            Self::Exponential => "exponential",
        })
    }
}

/// The keys, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub n: usize,
    pub cutoff: usize,
    pub input: Distribution,
    pub seed: u64,
}

impl Choice {
    /// Returns the parameters; each program chooses the defaults of the first two.
    pub const fn params(n: &'static str, cutoff: &'static str) -> [ParamSpec; 4] {
        [
            ParamSpec { name: "n", help: "keys", default: n },
            ParamSpec { name: "cutoff", help: "no forks for this many keys or fewer", default: cutoff },
            ParamSpec { name: "input", help: "random or exponential", default: "random" },
            ParamSpec { name: "seed", help: "seed of the keys", default: "1" },
        ]
    }

    /// Parses the parameters; the cut-off is at least `least`.
    pub fn parse(settings: &Settings<'_>, least: u64) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 40, "")? as usize,
            cutoff: settings.whole("cutoff", least, 1 << 40, "")? as usize,
            input: settings.word("input", settings.text("input"), DISTRIBUTIONS)?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    pub fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.cutoff.to_string(), self.input.to_string(), self.seed.to_string()]
    }

    /// The bytes of the keys.
    pub fn bytes(&self) -> u64 {
        4 * self.n as u64
    }
}
