//! The cost of a scenario, which decides where it runs.

use std::sync::Arc;

use crate::Program;
use crate::scenario::{Dependence, Make, Scenario, Setting};

/// The cost of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// Quick on both memories.
    Quick,
    /// Quick on TSO.
    QuickTso,
    /// Quick on neither.
    Full,
    /// Too much for C11.
    FullTso,
}

impl Cost {
    /// As in [`Scenario::is_quick_on_tso`].
    pub(super) fn is_quick_on_tso(self) -> bool {
        matches!(self, Self::Quick | Self::QuickTso)
    }

    /// As in [`Scenario::is_quick_on_c11`].
    pub(super) fn is_quick_on_c11(self) -> bool {
        self == Self::Quick
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
        is_quick_on_tso: cost.is_quick_on_tso(),
        is_quick_on_c11: cost.is_quick_on_c11(),
        delta: Dependence::None,
        tso: Arc::new(move |_| tso()),
        c11: cost.on_c11(move |_| c11()),
    }
}
