//! The call sites of a program's atomic operations, and what is changed at one of them.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use std::panic::Location;

use filch_memory::Ordering;

use crate::sources::{is_of, line_in};

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

/// A mistake at a call site, in what is done there and not in how it is ordered: the shipped source runs with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// The source file, from the workspace's folder of crates.
    file: &'static str,
    line: u32,
    kind: Kind,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    LeftOut,
    ByStore,
    /// Once the thread has made the store at this line.
    After(u32),
}

impl Slip {
    fn new(file: &'static str, function: &str, text: &str, kind: Kind, how: How) -> Self {
        Self { file, line: line_in(file, function, text), kind, how }
    }

    /// A fence is left out: the one in the only line of a function that has a text in it.
    ///
    /// # Panics
    /// If there is no such line, or another; as for the other mistakes.
    pub fn left_out(file: &'static str, function: &str, text: &str) -> Self {
        Self::new(file, function, text, Kind::Fence, How::LeftOut)
    }

    /// The same of a barrier on all threads.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn no_barrier(file: &'static str, function: &str, text: &str) -> Self {
        Self::new(file, function, text, Kind::Barrier, How::LeftOut)
    }

    /// An update is a load and a store. A compare-and-swap, for which its thread has loaded before, is a store.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn by_store(file: &'static str, function: &str, text: &str) -> Self {
        Self::new(file, function, text, Kind::Update, How::ByStore)
    }

    /// A store is made after another one, which follows it.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn swapped(file: &'static str, function: &str, first: &str, second: &str) -> Self {
        let second = line_in(file, function, second);
        Self::new(file, function, first, Kind::Store, How::After(second))
    }

    fn is_in(&self, site: Site) -> bool {
        is_of(self.file, site.file())
    }
}

type Key = (&'static str, u32, u32, Kind);

/// Survey of the sites seen, or a change at one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    survey: Option<BTreeMap<Key, Ordering>>,
    change: Option<Weakening>,
    slip: Option<Slip>,
}

impl Sites {
    /// Collects all sites that are passed.
    pub(crate) fn survey() -> Self {
        Self { survey: Some(BTreeMap::new()), ..Self::default() }
    }

    /// Changes one site.
    pub(crate) fn weaken(change: Weakening) -> Self {
        Self { change: Some(change), ..Self::default() }
    }

    /// Makes a mistake at one site.
    pub(crate) fn slip(self, slip: Option<Slip>) -> Self {
        Self { slip, ..self }
    }

    /// What is wrong at a site.
    #[inline]
    pub(crate) fn wrong_at(&self, site: Site, kind: Kind) -> Option<How> {
        let slip = self.slip.as_ref()?;
        (slip.line == site.line() && slip.kind == kind && slip.is_in(site)).then_some(slip.how)
    }

    /// Whether a store that comes too late waits for the one at this site.
    #[inline]
    pub(crate) fn is_awaited(&self, site: Site) -> bool {
        self.slip.as_ref().is_some_and(|slip| slip.how == How::After(site.line()) && slip.is_in(site))
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.survey.is_none() && self.change.is_none() && self.slip.is_none()
    }

    /// The ordering to use at a site; `None` leaves a fence out.
    pub(crate) fn visit(&mut self, site: Site, kind: Kind, order: Ordering) -> Option<Ordering> {
        if let Some(survey) = &mut self.survey {
            survey.insert((site.file(), site.line(), site.column(), kind), order);
        }
        if self.wrong_at(site, kind) == Some(How::LeftOut) {
            return None;
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
