//! Merge sort with a parallel merge: its parameters.

use super::keys::Choice;
use super::{ParamError, Settings, Spec, spec};

/// The keys, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params(pub Choice);

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "cilksort",
        summary: "merge sort with a parallel merge",
        source: "Cilk; Private deques (Acar, Charguéraud, Rainey, 2013)",
        params: &Choice::params("4000000", "2048"),
        quick: &[("n", "1000000")],
        compare: &[("n", "4000000")],
        paper: &[("n", "240000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Choice::parse(settings, 1).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    fn memory_bytes(&self) -> u64 {
        3 * self.0.bytes()
    }
}
