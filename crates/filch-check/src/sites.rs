//! The call sites of a program's atomic operations, and a change made at one of them.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use std::panic::Location;

use filch_memory::Ordering;

use crate::sources::{is_of, line_in};

pub(crate) type Site = &'static Location<'static>;

/// The kind of an operation.
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

/// A call site and its ordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The source file, as the compiler names it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The kind of the operation.
    pub kind: Kind,
    /// The ordering in the source.
    pub order: Ordering,
}

/// A call site and a weaker ordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakening {
    /// The call site.
    pub site: CallSite,
    /// The ordering to use instead; `None` removes a fence.
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

/// A mistake at a call site of the shipped source: a different operation rather than a different ordering.
///
/// A call site is the only line of a function that contains a text, and the text names the operation: `top.load`.
#[derive(Clone, Copy, Debug)]
pub struct Slip {
    at: At,
    kind: Kind,
    how: How,
    /// The thread that makes the mistake; `None`: all threads.
    thread: Option<usize>,
}

/// A line of a source file. The path starts at the workspace's folder of crates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    file: &'static str,
    line: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    LeftOut,
    ByStore,
    /// Runs after the thread's operation at that site.
    After(At),
    /// Reads or writes a different number.
    Altered(fn(u64) -> u64),
    /// Returns the value that the thread last read at that site.
    Stale(At),
    /// Always reports success.
    Unchecked,
}

/// An operation: its file, its function, and a text in its line.
pub type Place<'a> = (&'static str, &'a str, &'a str);

impl At {
    fn find((file, function, text): Place<'_>) -> Self {
        Self { file, line: line_in(file, function, text) }
    }

    #[inline]
    fn is(&self, site: Site) -> bool {
        self.line == site.line() && is_of(self.file, site.file())
    }
}

/// Returns the kind of the operation that a text names. A handshake with a slot starts with a load.
fn kind_of(text: &str) -> Kind {
    let words = text.split(|letter: char| letter != '_' && !letter.is_alphanumeric());
    let mut kinds = words.filter_map(|word| {
        Some(match word {
            "load" | "read" | "read_published" | "put" | "take" | "answer" => Kind::Load,
            "store" | "write" | "publish" => Kind::Store,
            "fence" => Kind::Fence,
            "heavy_barrier" => Kind::Barrier,
            "swap" | "compare_exchange" | "compare_exchange_weak" | "store_high" => Kind::Update,
            _ if word.starts_with("fetch_") => Kind::Update,
            _ => return None,
        })
    });
    kinds.next_back().unwrap_or_else(|| panic!("`{text}` names no operation"))
}

impl Slip {
    fn new(place: Place<'_>, how: How) -> Self {
        Self { at: At::find(place), kind: kind_of(place.2), how, thread: None }
    }

    /// Removes a fence, a barrier, a store or an update. A removed compare-and-swap reports success.
    ///
    /// # Panics
    /// If there is not exactly one such line, or its text names no operation.
    pub fn left_out(place: Place<'_>) -> Self {
        Self::new(place, How::LeftOut)
    }

    /// Replaces an update by a load and a store. A compare-and-swap becomes a store: its thread has loaded before.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn by_store(place: Place<'_>) -> Self {
        Self::new(place, How::ByStore)
    }

    /// Delays an operation until after a later one of the same thread.
    ///
    /// The thread continues with a guess of the result, and executions with a wrong guess are discarded. The guess is
    /// success for a compare-and-swap, and a small number for a load. The results of other updates must be unused.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn swapped(first: Place<'_>, second: Place<'_>) -> Self {
        Self::new(first, How::After(At::find(second)))
    }

    /// Applies `wrong` to the value that a load reads, or that a store or an update writes: a check that seems to hold,
    /// an index off by one, a tag that does not change.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn altered(place: Place<'_>, wrong: fn(u64) -> u64) -> Self {
        Self::new(place, How::Altered(wrong))
    }

    /// Removes a load: its thread uses the value it read earlier. An update still runs, but returns the earlier value.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn stale(earlier: Place<'_>, later: Place<'_>) -> Self {
        Self::new(later, How::Stale(At::find(earlier)))
    }

    /// Reports the failure of a compare-and-swap as success.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn unchecked(place: Place<'_>) -> Self {
        Self::new(place, How::Unchecked)
    }

    /// Applies `wrong` to the value that a failing compare-and-swap reports.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn misread_on_failure(place: Place<'_>, wrong: fn(u64) -> u64) -> Self {
        Self { kind: Kind::Failure, ..Self::new(place, How::Altered(wrong)) }
    }

    /// Restricts the mistake to one of the program's threads, counted from 0.
    #[must_use]
    pub fn by(self, thread: usize) -> Self {
        Self { thread: Some(thread), ..self }
    }
}

type Key = (&'static str, u32, u32, Kind);

/// A survey of the reached sites, or a change at one site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    survey: Option<BTreeMap<Key, Ordering>>,
    change: Option<Weakening>,
    slip: Option<Slip>,
}

impl Sites {
    /// Collects all reached sites.
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

    /// Returns a thread's mistake at a site.
    #[inline]
    pub(crate) fn wrong_at(&self, site: Site, kind: Kind, thread: usize) -> Option<How> {
        let slip = self.slip.as_ref()?;
        let is_here = slip.kind == kind && slip.at.is(site) && slip.thread.is_none_or(|only| only == thread);
        is_here.then_some(slip.how)
    }

    /// Returns whether a mistake elsewhere waits for the operation at this site, or needs its result.
    #[inline]
    pub(crate) fn is_awaited(&self, site: Site) -> bool {
        self.slip.as_ref().is_some_and(|slip| matches!(slip.how, How::After(at) | How::Stale(at) if at.is(site)))
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.survey.is_none() && self.change.is_none()
    }

    /// Returns the ordering to use at a site; `None` removes a fence.
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

    /// Returns the sites that the survey has found.
    pub(crate) fn found(&self) -> Vec<CallSite> {
        let sites = self.survey.iter().flatten();
        sites.map(|(&(file, line, column, kind), &order)| CallSite { file, line, column, kind, order }).collect()
    }
}
