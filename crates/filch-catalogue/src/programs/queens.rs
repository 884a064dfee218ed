//! The queens problem: its parameters, solutions and forks.

use super::{ParamError, ParamSpec, Settings, Spec, spec};

/// A run with a larger n takes weeks.
pub const LARGEST: usize = 20;

/// Solutions for n = 1, 2, ….
pub const SOLUTIONS: [u64; LARGEST] = [
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
    4_968_057_848,
    39_029_188_884,
];

/// The forks, which are the safe placements in all rows, as far as they are published.
pub(super) const FORKS: [u64; 15] =
    [1, 2, 5, 16, 53, 152, 551, 2_056, 8_393, 35_538, 166_925, 856_188, 4_674_889, 27_358_552, 171_129_071];

/// The size of the board.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub n: usize,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "queens",
        summary: "all placements of n queens, a fork per safe square",
        source: "Lace (van Dijk, van de Pol, 2014); Cilk",
        params: &[ParamSpec { name: "n", help: "queens, and rows of the board", default: "12" }],
        quick: &[("n", "11")],
        compare: &[("n", "12")],
        paper: &[("n", "15")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let n = settings.whole("n", 1, LARGEST as u64, ", beyond which a run takes weeks")?;
        Ok(Self { n: n as usize })
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
