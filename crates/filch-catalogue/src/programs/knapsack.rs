//! The 0/1 knapsack problem: its parameters.

use std::fmt;

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Correlated with the weights.
    Correlated,
    /// Independent of the weights.
    Independent,
}

const VALUES: &[(&str, Values)] = &[("correlated", Values::Correlated), ("independent", Values::Independent)];

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Correlated => "correlated",
            Self::Independent => "independent",
        })
    }
}

/// The items.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub items: usize,
    pub range: u64,
    pub input: Values,
    pub seed: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "knapsack",
        summary: "0/1 knapsack by branch and bound",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[
            ParamSpec { name: "items", help: "items to choose from", default: "48" },
            ParamSpec { name: "range", help: "largest weight", default: "10000" },
            ParamSpec {
                name: "input",
                help: "values: correlated with the weights, or independent",
                default: "correlated",
            },
            ParamSpec { name: "seed", help: "seed of weights and values", default: "1" },
        ],
        quick: &[("items", "46")],
        compare: &[("items", "48")],
        paper: &[("items", "32")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            items: settings.whole("items", 1, 200, ", beyond which a run may take years")? as usize,
            range: settings.whole("range", 1, 100_000, "")?,
            input: settings.word("input", settings.text("input"), VALUES)?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.items.to_string(), self.range.to_string(), self.input.to_string(), self.seed.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}
