//! The call sites of a program's atomic operations, and what is changed at one of them.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use filch_memory::Ordering;

use std::panic::Location;

pub(crate) type Site = &'static Location<'static>;

/// What an operation is, as far as its ordering goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// A read–modify–write, or the success of a compare-and-swap.
    Update,
    /// The failure of a compare-and-swap.
    Failure,
    /// A fence.
    Fence,
    /// A barrier on all threads.
    Barrier,
}

/// A call site, and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The source file, as the compiler names it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What the operation is.
    pub kind: Kind,
    /// The ordering that the source asks for.
    pub order: Ordering,
}

/// A call site at which an operation is made weaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakening {
    /// Where.
    pub site: CallSite,
    /// The ordering to use instead; `None` leaves a fence out.
    pub to: Option<Ordering>,
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Update => "update",
            Self::Failure => "failure",
            Self::Fence => "fence",
            Self::Barrier => "barrier",
        })
    }
}

impl Display for CallSite {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, kind, order } = self;
        write!(f, "{file}:{line}:{column}: {kind} {order:?}")
    }
}

impl Display for Weakening {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(order) => write!(f, "{} → {order:?}", self.site),
            None => write!(f, "{} → nothing", self.site),
        }
    }
}

type Key = (&'static str, u32, u32, Kind);

/// Survey of the sites seen, or a change at one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    survey: Option<BTreeMap<Key, Ordering>>,
    change: Option<Weakening>,
}

impl Sites {
    /// Collects all sites that are passed.
    pub(crate) fn survey() -> Self {
        Self { survey: Some(BTreeMap::new()), change: None }
    }

    /// Changes one site.
    pub(crate) fn weaken(change: Weakening) -> Self {
        Self { survey: None, change: Some(change) }
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.survey.is_none() && self.change.is_none()
    }

    /// The ordering to use at a site; `None` leaves a fence out.
    pub(crate) fn visit(&mut self, site: Site, kind: Kind, order: Ordering) -> Option<Ordering> {
        if let Some(survey) = &mut self.survey {
            survey.insert((site.file(), site.line(), site.column(), kind), order);
        }
        match &self.change {
            Some(Weakening { site: at, to })
                if at.line == site.line()
                    && at.column == site.column()
                    && at.kind == kind
                    && at.file == site.file() =>
            {
                *to
            }
            _ => Some(order),
        }
    }

    /// What the survey has found.
    pub(crate) fn found(&self) -> Vec<CallSite> {
        let sites = self.survey.iter().flatten();
        sites.map(|(&(file, line, column, kind), &order)| CallSite { file, line, column, kind, order }).collect()
    }
}
