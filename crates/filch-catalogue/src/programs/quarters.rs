//! Multiplication of square matrices by quarters, in integers: its parameter and forks.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The order of a leaf, and the smallest order.
pub const LEAF: usize = 32;

/// The order of the matrices, a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
}

const ORDERS: &[(&str, usize)] = &[
    ("32", 32),
    ("64", 64),
    ("128", 128),
    ("256", 256),
    ("512", 512),
    ("1024", 1024),
    ("2048", 2048),
    ("4096", 4096),
    ("8192", 8192),
    ("16384", 16384),
];

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "matmul-quarters",
        summary: "product of matrices of integers by quarters, twice four at a time; a run makes the matrices",
        source: "runtime-benchmarks (tzcnt); coros (Mucha)",
        params: &[ParamSpec { name: "n", help: "rows and columns, a power of two from 32 to 16384", default: "512" }],
        quick: &[("n", "512")],
        compare: &[("n", "1024")],
        paper: &[("n", "2048")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { n: settings.word("n", settings.text("n"), ORDERS)? })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string()]
    }

    /// Two times three forks per product that is no leaf.
    fn tasks(&self) -> Option<u64> {
        let levels = (self.n / LEAF).ilog2();
        Some(6 * (8u64.pow(levels) - 1) / 7)
    }

    fn memory_bytes(&self) -> u64 {
        3 * 4 * (self.n * self.n) as u64
    }
}
