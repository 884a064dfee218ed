//! The Cholesky decomposition of a sparse matrix: its parameters.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The rows and columns of a leaf.
pub const LEAF: usize = 16;

/// The size of the matrix.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub nonzeros: usize,
    pub seed: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "cholesky",
        summary: "Cholesky decomposition of a sparse matrix in a tree of quadrants",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[
            ParamSpec { name: "n", help: "rows and columns", default: "1000" },
            ParamSpec { name: "nonzeros", help: "elements drawn below the diagonal", default: "6000" },
            ParamSpec { name: "seed", help: "seed of the elements", default: "1" },
        ],
        quick: &[("n", "500"), ("nonzeros", "2000")],
        compare: &[("n", "1000"), ("nonzeros", "6000")],
        paper: &[("n", "4000"), ("nonzeros", "40000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 20, "")? as usize,
            nonzeros: settings.whole("nonzeros", 0, 1 << 40, "")? as usize,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.nonzeros.to_string(), self.seed.to_string()]
    }

    /// The input, and a result with every block.
    fn memory_bytes(&self) -> u64 {
        let blocks = self.n.div_ceil(LEAF) as u64;
        let bytes = (LEAF * LEAF * 8) as u64;
        bytes * (blocks * (blocks + 1) + self.nonzeros as u64)
    }
}
