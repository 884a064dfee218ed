//! A flat loop: its parameters.

use super::grain::{Grain, grain_help};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The number of items, and how often each is visited.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub times: u64,
    pub grain: Grain,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "each",
        summary: "a flat loop over n numbers, some nanoseconds each",
        source: "none: what users write first",
        params: &[
            ParamSpec { name: "n", help: "numbers", default: "10000000" },
            ParamSpec { name: "times", help: "loops, one after the other", default: "5" },
            ParamSpec { name: "grain", help: grain_help!("numbers"), default: "0" },
        ],
        quick: &[("n", "2000000")],
        compare: &[("n", "10000000")],
        paper: &[("n", "10000000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 32, "")? as usize,
            times: settings.whole("times", 1, 1 << 40, "")?,
            grain: Grain::parse(settings)?,
        })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.times.to_string(), self.grain.to_string()]
    }

    fn memory_bytes(&self) -> u64 {
        8 * self.n as u64
    }
}
