//! The cost of a scenario, which decides where it runs.

use std::sync::Arc;

use crate::Program;
use crate::scenario::{Dependence, Make, Scenario, Setting};

/// The usual sizes of store buffers.
const SIZES: &[usize] = &[0, 1, 2, 4];

/// The cost of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// Quick on both memories.
    Quick,
    /// Quick on TSO.
    QuickTso,
    /// Quick on TSO with the largest buffer size alone, which allows every behaviour of the smaller ones.
    QuickOnce,
    /// Quick on neither.
    Full,
    /// Too much for C11.
    FullTso,
}

impl Cost {
    /// As in [`Scenario::quick`].
    pub(super) fn quick(self) -> (&'static [usize], bool) {
        let sizes: &[usize] = match self {
            Self::Quick | Self::QuickTso => SIZES,
            Self::QuickOnce => &[4],
            Self::Full | Self::FullTso => &[],
        };
        (sizes, self == Self::Quick)
    }

    /// As in [`Scenario::c11`].
    pub(super) fn on_c11(
        self,
        make: impl Fn(Setting) -> Program + Send + Sync + 'static,
    ) -> Result<Make, &'static str> {
        if self == Self::FullTso { Err(TOO_LARGE) } else { Ok(Arc::new(make)) }
    }
}

pub(super) const TOO_LARGE: &str = "too large to explore on C11";

/// A scenario that does not depend on δ.
pub(super) fn scenario(
    subject: &'static str,
    name: impl Into<String>,
    cost: Cost,
    tso: impl Fn() -> Program + Send + Sync + 'static,
    c11: impl Fn() -> Program + Send + Sync + 'static,
) -> Scenario {
    Scenario {
        subject,
        name: name.into(),
        quick: cost.quick(),
        delta: Dependence::None,
        tso: Arc::new(move |_| tso()),
        c11: cost.on_c11(move |_| c11()),
    }
}
