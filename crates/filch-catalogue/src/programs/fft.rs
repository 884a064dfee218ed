//! The fast Fourier transform: its parameters.

use super::grain::{Grain, grain_help};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The number of complex numbers, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub cutoff: usize,
    pub grain: Grain,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "fft",
        summary: "fast Fourier transform by halves",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &[
            ParamSpec { name: "n", help: "complex numbers, a power of two", default: "2097152" },
            ParamSpec { name: "cutoff", help: "no forks for this many numbers or fewer", default: "1024" },
            ParamSpec { name: "grain", help: grain_help!("pairs"), default: "0" },
        ],
        quick: &[("n", "524288")],
        compare: &[("n", "2097152")],
        paper: &[("n", "67108864")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let n = settings.whole("n", 1, 1 << 40, "")? as usize;
        if !n.is_power_of_two() {
            return Err(settings.bad("n", "is not a power of two"));
        }
        Ok(Self { n, cutoff: settings.whole("cutoff", 1, 1 << 40, "")? as usize, grain: Grain::parse(settings)? })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.cutoff.to_string(), self.grain.to_string()]
    }

    /// The input, two arrays, the roots of unity, and two arrays of the check.
    fn memory_bytes(&self) -> u64 {
        6 * 16 * self.n as u64
    }
}
