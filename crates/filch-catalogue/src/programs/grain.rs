//! How many iterations of a loop make a task: the parameter `grain` of programs with loops.

use std::fmt;

use super::{ParamError, Settings};

/// How loops are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// On demand, where the executor can do that; elsewhere as `Leaves`.
    OnDemand,
    /// By halves, down to leaves of some 10 µs, whoever asks: as in the paper on private deques.
    Leaves,
    /// By halves, down to so many iterations.
    Items(usize),
}

/// The word for leaves of some 10 µs.
const LEAVES: &str = "leaves";

/// The help of the parameter, whose unit is this.
macro_rules! grain_help {
    ($items:literal) => {
        concat!($items, " per task in a loop; 0: split on demand; leaves: halved to some 10 µs, as in Private deques")
    };
}
pub(super) use grain_help;

impl Grain {
    pub(super) fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        if settings.text("grain") == LEAVES {
            return Ok(Self::Leaves);
        }
        settings.whole("grain", 0, 1 << 40, "").map(|items| (items as usize).into())
    }
}

/// 0 is on demand.
impl From<usize> for Grain {
    fn from(items: usize) -> Self {
        if items == 0 { Self::OnDemand } else { Self::Items(items) }
    }
}

impl fmt::Display for Grain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnDemand => f.write_str("0"),
            Self::Leaves => f.write_str(LEAVES),
            Self::Items(items) => items.fmt(f),
        }
    }
}
