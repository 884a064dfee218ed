//! Loops that come now and then: their parameters.

use super::grain::{Grain, grain_help};
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The loops, their items, and the pauses before them.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
    pub steps: u64,
    pub spread: u64,
    pub pause: u64,
    pub times: u64,
    pub grain: Grain,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "loops",
        summary: "short loops, one after the other, each called from outside after a pause",
        source: "filch",
        params: &[
            ParamSpec { name: "n", help: "items of a loop", default: "200" },
            ParamSpec { name: "steps", help: "steps of an item, some 1.5 ns each", default: "1700" },
            ParamSpec { name: "spread", help: "how much items differ in their steps, in percent", default: "0" },
            ParamSpec {
                name: "pause",
                help: "pause before each loop, in microseconds; it does not count",
                default: "1000",
            },
            ParamSpec {
                name: "times",
                help: "loops: with 1000, milliseconds are microseconds of a loop",
                default: "1000",
            },
            ParamSpec { name: "grain", help: grain_help!("items"), default: "0" },
        ],
        quick: &[("times", "100")],
        compare: &[("times", "200")],
        paper: &[("times", "1000")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        /// A second.
        const LONGEST: u64 = 1_000_000;
        Ok(Self {
            n: settings.whole("n", 1, 1 << 32, "")? as usize,
            steps: settings.whole("steps", 0, 1 << 32, "")?,
            spread: settings.whole("spread", 0, 100, "")?,
            pause: settings.whole("pause", 0, LONGEST, ", a second")?,
            times: settings.whole("times", 1, 1 << 40, "")?,
            grain: Grain::parse(settings)?,
        })
    }

    fn values(&self) -> Vec<String> {
        let Self { n, steps, spread, pause, times, grain } = self;
        [*n as u64, *steps, *spread, *pause, *times]
            .map(|value| value.to_string())
            .into_iter()
            .chain([grain.to_string()])
            .collect()
    }

    fn memory_bytes(&self) -> u64 {
        16 * self.n as u64
    }
}
