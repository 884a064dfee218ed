//! The queens problem on boards of a constant size, copied for each task: its parameter.

use super::queens::FORKS;
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The sizes that runners have a function for.
pub const SIZES: &[(&str, usize)] = &[("8", 8), ("10", 10), ("12", 12), ("14", 14)];

/// The size of the board.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "nqueens",
        summary: "queens with boards of a constant length, passed by value",
        source: "runtime-benchmarks (tzcnt); libfork (Williams, Elliott, 2024)",
        params: &[ParamSpec { name: "n", help: "queens, and rows of the board: 8, 10, 12 or 14", default: "12" }],
        quick: &[("n", "10")],
        compare: &[("n", "12")],
        paper: &[("n", "14")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { n: settings.word("n", settings.text("n"), SIZES)? })
    }

    fn values(&self) -> Vec<String> {
        vec![self.n.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        FORKS.get(self.n - 1).copied()
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}
