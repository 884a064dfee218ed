//! Multiplication of square matrices by quadrants, in two forms: their parameters.

use super::matrix::Size;
use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// The size of the matrices, the cut-off, and whether leaves poll.
#[derive(Clone, Copy, Debug)]
pub struct InPlace {
    pub size: Size,
    pub polls: bool,
}

const POLLS: &[(&str, bool)] = &[("off", false), ("on", true)];

impl spec::Params for InPlace {
    const SPEC: Spec = Spec {
        name: "matmul-inplace",
        summary: "product of matrices by quadrants, four products at a time",
        source: "Private deques (Acar, Charguéraud, Rainey, 2013)",
        params: &[
            Size::PARAMS[0],
            Size::PARAMS[1],
            ParamSpec {
                name: "poll",
                help: "whether leaves of 128 rows or more look for thieves: on or off",
                default: "off",
            },
        ],
        quick: &[("n", "384")],
        compare: &[("n", "768")],
        paper: &[("n", "3500")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Ok(Self { size: Size::parse(settings)?, polls: settings.word("poll", settings.text("poll"), POLLS)? })
    }

    fn values(&self) -> Vec<String> {
        let poll = if self.polls { "on" } else { "off" };
        self.size.values().into_iter().chain([poll.to_owned()]).collect()
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.size.forks())
    }

    fn memory_bytes(&self) -> u64 {
        3 * self.size.matrix_bytes()
    }
}

/// The size of the matrices, and the cut-off, for the form with temporaries.
#[derive(Clone, Copy, Debug)]
pub struct Temporaries(pub Size);

impl spec::Params for Temporaries {
    const SPEC: Spec = Spec {
        name: "matmul-temp",
        summary: "product of matrices by quadrants, eight products at a time",
        source: "Fence-free work stealing (Morrison, Afek, 2014); Cilk",
        params: &Size::PARAMS,
        quick: &[("n", "384")],
        compare: &[("n", "768")],
        paper: &[("n", "1024")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        Size::parse(settings).map(Self)
    }

    fn values(&self) -> Vec<String> {
        self.0.values()
    }

    /// With a temporary matrix per level and processor.
    fn memory_bytes(&self) -> u64 {
        self.0.bytes_with(4)
    }
}
