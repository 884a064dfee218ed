//! The integral of (x² + 1)·x from 0: its parameters.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// A run with a larger n takes days.
const LARGEST: u64 = 1_000_000;

/// The end of the interval.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: u32,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "integrate",
        summary: "integral of (x² + 1)·x by adaptive halving, a fork per halving",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[ParamSpec { name: "n", help: "end of the interval, which starts at 0", default: "1000" }],
        quick: &[("n", "500")],
        compare: &[("n", "1000")],
        paper: &[("n", "10000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { n: settings.whole("n", 1, LARGEST, ", beyond which a run takes days")? as u32 })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}
