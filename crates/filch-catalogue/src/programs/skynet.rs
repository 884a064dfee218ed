//! A tree of tasks by tens that adds up the numbers of its leaves: its levels, sum and forks.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The levels below the root.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub levels: u32,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "skynet",
        summary: "sum of the numbers of 10^levels leaves, ten forks per node",
        source: "runtime-benchmarks (tzcnt); skynet (Temerev)",
        params: &[LEVELS],
        quick: &[("levels", "6")],
        compare: &[("levels", "7")],
        paper: &[("levels", "8")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        parse_levels(settings).map(|levels| Self { levels })
    }

    fn values(&self) -> Vec<String> {
        vec![self.levels.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        Some(forks(self.levels))
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// The levels below the root; two of them are one function.
#[derive(Clone, Copy, Debug)]
pub struct Unrolled {
    pub levels: u32,
}

impl spec::Params for Unrolled {
    const SPEC: Spec = Spec {
        name: "skynet-unrolled",
        summary: "skynet with two levels of recursion in one function, by `#[filch::inline_recursion(2)]`",
        source: "as skynet",
        ..Params::SPEC
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        parse_levels(settings).map(|levels| Self { levels })
    }

    fn values(&self) -> Vec<String> {
        vec![self.levels.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        Some(forks(self.levels))
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

const LEVELS: ParamSpec = ParamSpec { name: "levels", help: "levels below the root", default: "6" };

fn parse_levels(settings: &Settings<'_>) -> Result<u32, ParamError> {
    // The runners in C++ have a function for each of these.
    Ok(settings.whole("levels", 3, 8, "")? as u32)
}

/// The forks, one for each node but the root.
pub fn forks(levels: u32) -> u64 {
    (10u64.pow(levels + 1) - 10) / 9
}

/// The known answer.
pub fn sum(levels: u32) -> u64 {
    let leaves = 10u64.pow(levels);
    leaves * (leaves - 1) / 2
}
