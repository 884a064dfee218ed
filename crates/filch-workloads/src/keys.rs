//! Keys to be sorted: what the sorts of whole numbers have in common.

use crate::answer::{Answer, expect};
use crate::checks::{multiset, sequence, sorted};
use crate::inputs::{DISTRIBUTIONS, Distribution, made};
use crate::params::{ParamError, ParamSpec, Settings, filled};

/// How many keys of which kind, and the cut-off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) n: usize,
    pub(crate) cutoff: usize,
    input: Distribution,
    seed: u64,
}

impl Choice {
    /// The parameters; the defaults of the first two are for each program to say.
    pub(crate) const fn params(n: &'static str, cutoff: &'static str) -> [ParamSpec; 4] {
        [
            ParamSpec { name: "n", help: "keys", default: n },
            ParamSpec { name: "cutoff", help: "no forks for so many keys or fewer", default: cutoff },
            ParamSpec { name: "input", help: "random or exponential", default: "random" },
            ParamSpec { name: "seed", help: "seed of the keys", default: "1" },
        ]
    }

    /// With a cut-off of at least `least`.
    pub(crate) fn parse(settings: &Settings<'_>, least: u64) -> Result<Self, ParamError> {
        Ok(Self {
            n: settings.whole("n", 1, 1 << 40, "")? as usize,
            cutoff: settings.whole("cutoff", least, 1 << 40, "")? as usize,
            input: settings.word("input", settings.text("input"), DISTRIBUTIONS)?,
            seed: settings.whole("seed", 0, u64::MAX, "")?,
        })
    }

    pub(crate) fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.cutoff.to_string(), self.input.to_string(), self.seed.to_string()]
    }

    /// Bytes of as many keys.
    pub(crate) fn bytes(&self) -> u64 {
        4 * self.n as u64
    }
}

/// The keys as they are, and as they were at first.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) now: Vec<u32>,
    input: Vec<u32>,
    fingerprint: u64,
}

impl Keys {
    pub(crate) fn new(workload: &'static str, choice: Choice) -> Result<Self, ParamError> {
        let Choice { n, input, seed, .. } = choice;
        let input = made(workload, n, |index| input.key(seed, index, n))?;
        let fingerprint = multiset(input.iter().map(|&key| key.into()));
        Ok(Self { now: filled(workload, n, 0)?, input, fingerprint })
    }

    pub(crate) fn reset(&mut self) {
        self.now.copy_from_slice(&self.input);
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer::Sorted(self.now.len())
    }

    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        expect(answer, &self.answer())?;
        sorted(&self.now, u64::from, self.fingerprint)
    }

    pub(crate) fn digest(&self) -> u64 {
        sequence(self.now.iter().map(|&key| key.into()))
    }

    pub(crate) fn damage(&mut self, at: u64) -> bool {
        let at = at as usize % self.now.len();
        self.now[at] ^= 1;
        true
    }
}
