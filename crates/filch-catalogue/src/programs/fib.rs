//! Fibonacci numbers by naive recursion: their parameters, values and forks.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// A run with a larger n takes years, and the number of forks soon exceeds 64 bits.
const LARGEST: u64 = 90;

/// The index of the number, and the argument below which to stop forking.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: u64,
    pub cutoff: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "fib",
        summary: "Fibonacci numbers by naive recursion, a fork per call",
        source: "Lace (van Dijk, van de Pol, 2014); Cilk",
        params: &[N, ParamSpec { name: "cutoff", help: "no forks for arguments up to this", default: "0" }],
        quick: &[("n", "32")],
        compare: &[("n", "35")],
        paper: &[("n", "50")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { n: parse_n(settings)?, cutoff: settings.whole("cutoff", 0, LARGEST, "")? })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string(), self.cutoff.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        Some(forks(self.n, self.cutoff))
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// The index of the number; three levels of the recursion are one function.
#[derive(Clone, Copy, Debug)]
pub struct Unrolled {
    pub n: u64,
}

impl spec::Params for Unrolled {
    const SPEC: Spec = Spec {
        name: "fib-unrolled",
        summary: "fib with three levels of recursion in one function, by `#[filch::inline_recursion(3)]`",
        source: "as fib",
        params: &[N],
        ..Params::SPEC
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        parse_n(settings).map(|n| Self { n })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        Some(forks(self.n, 0))
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

const N: ParamSpec = ParamSpec { name: "n", help: "index of the Fibonacci number", default: "36" };

fn parse_n(settings: &Settings<'_>) -> Result<u64, ParamError> {
    settings.whole("n", 0, LARGEST, ", beyond which a run takes years")
}

/// The forks of a run, by the recurrence of the numbers.
pub fn forks(n: u64, cutoff: u64) -> u64 {
    let (mut previous, mut this) = (0, 0);
    for _ in cutoff.max(1)..n {
        (previous, this) = (this, previous + this + 1);
    }
    this
}

/// The known answer.
pub fn number(n: u64) -> u64 {
    (0..n).fold((0, 1), |(this, next), _| (next, this + next)).0
}
