//! Quicksort: its parameters.

use super::keys::Choice;
use super::{ParamError, Settings, Spec, spec};

/// The keys, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params(pub Choice);

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "quicksort",
        summary: "quicksort with a sequential partition",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &Choice::params("2000000", "1000"),
        quick: &[("n", "500000")],
        compare: &[("n", "2000000")],
        paper: &[("n", "100000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Choice::parse(settings, 2).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    fn memory_bytes(&self) -> u64 {
        2 * self.0.bytes()
    }
}
