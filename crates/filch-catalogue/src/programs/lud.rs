//! LU decomposition: its parameters.

use super::matrix::Size;
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The size of the matrix, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params(pub Size);

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "lud",
        summary: "LU decomposition by quadrants",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[Size::PARAMS[0], ParamSpec { default: "32", ..Size::PARAMS[1] }],
        quick: &[("n", "512")],
        compare: &[("n", "1024")],
        paper: &[("n", "1024")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Size::parse(settings).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    fn memory_bytes(&self) -> u64 {
        2 * self.0.matrix_bytes()
    }
}
