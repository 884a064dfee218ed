//! Strassen's algorithm: its parameters.

use super::matrix::Size;
use super::{ParamError, Settings, Spec, spec};

/// The size of the matrices, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params(pub Size);

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "strassen",
        summary: "product of matrices by Strassen's algorithm",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &Size::PARAMS,
        quick: &[("n", "512")],
        compare: &[("n", "1024")],
        paper: &[("n", "4096")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Size::parse(settings).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    /// With three products and two sums per level and processor.
    fn memory_bytes(&self) -> u64 {
        self.0.bytes_with(3 + 2)
    }
}
