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
///
/// A call site is the only line of a function that has a text in it, and the text names the operation: `top.load`.
#[derive(Clone, Copy, Debug)]
pub struct Slip {
    at: At,
    kind: Kind,
    how: How,
    /// Who makes it; `None`: everybody.
    thread: Option<usize>,
}

/// A line of a source file, which is named from the workspace's folder of crates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    file: &'static str,
    line: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    LeftOut,
    ByStore,
    /// Once the thread has made the operation there.
    After(At),
    /// The number read, or written, is another.
    Altered(fn(u64) -> u64),
    /// The answer is what the thread last read there.
    Stale(At),
    /// Success is reported, whatever has come of it.
    Unchecked,
}

/// An operation: its file, its function, and what its line has of it.
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

/// What the operation is that a text names. A slot that is filled or emptied with a handshake is looked at first.
fn kind_of(text: &str) -> Kind {
    let words = text.split(|letter: char| letter != '_' && !letter.is_alphanumeric());
    let mut kinds = words.filter_map(|word| {
        Some(match word {
            "load" | "read" | "read_published" | "put" | "take" | "answer" => Kind::Load,
            "store" | "write" | "publish" => Kind::Store,
            "fence" => Kind::Fence,
            "heavy_barrier" => Kind::Barrier,
            "swap" | "compare_exchange" | "compare_exchange_weak" => Kind::Update,
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

    /// A fence, a barrier, a store or an update is left out. A compare-and-swap is taken to have succeeded.
    ///
    /// # Panics
    /// If there is no such line, or another; as for the other mistakes.
    pub fn left_out(place: Place<'_>) -> Self {
        Self::new(place, How::LeftOut)
    }

    /// An update is a load and a store. A compare-and-swap, for which its thread has loaded before, is a store.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn by_store(place: Place<'_>) -> Self {
        Self::new(place, How::ByStore)
    }

    /// An operation is made after another one of its thread, which follows it.
    ///
    /// A thread that needs its answer goes on with a guess in between, and executions with a wrong guess are thrown away. A
    /// compare-and-swap is guessed to succeed, and a load to answer a small number. What another update answers, nobody must need.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn swapped(first: Place<'_>, second: Place<'_>) -> Self {
        Self::new(first, How::After(At::find(second)))
    }

    /// A load answers, or a store or an update writes, what `wrong` makes of its number: a check that is believed to hold,
    /// an index that is off by one, a tag that stays.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn altered(place: Place<'_>, wrong: fn(u64) -> u64) -> Self {
        Self::new(place, How::Altered(wrong))
    }

    /// A load is left out, and its thread goes on with what it read earlier; so it does with what an update answers.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn stale(earlier: Place<'_>, later: Place<'_>) -> Self {
        Self::new(later, How::Stale(At::find(earlier)))
    }

    /// A compare-and-swap that fails is taken for one that succeeds.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn unchecked(place: Place<'_>) -> Self {
        Self::new(place, How::Unchecked)
    }

    /// A compare-and-swap that fails answers what `wrong` makes of what it has found.
    ///
    /// # Panics
    /// As [`Slip::left_out`].
    pub fn misread_on_failure(place: Place<'_>, wrong: fn(u64) -> u64) -> Self {
        Self { kind: Kind::Failure, ..Self::new(place, How::Altered(wrong)) }
    }

    /// The same mistake, made by one of the program's threads alone, counted from 0.
    #[must_use]
    pub fn by(self, thread: usize) -> Self {
        Self { thread: Some(thread), ..self }
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

    /// What a thread does wrong at a site.
    #[inline]
    pub(crate) fn wrong_at(&self, site: Site, kind: Kind, thread: usize) -> Option<How> {
        let slip = self.slip.as_ref()?;
        let is_here = slip.kind == kind && slip.at.is(site) && slip.thread.is_none_or(|only| only == thread);
        is_here.then_some(slip.how)
    }

    /// Whether a mistake elsewhere waits for the operation at this site, or for what it answers.
    #[inline]
    pub(crate) fn is_awaited(&self, site: Site) -> bool {
        self.slip.as_ref().is_some_and(|slip| matches!(slip.how, How::After(at) | How::Stale(at) if at.is(site)))
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
