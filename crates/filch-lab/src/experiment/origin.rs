//! Whose claim it is, how it stands, and totals of both.
//!
//! Invariant: only a current verdict counts as one; what is stale counts as that alone.

use std::collections::BTreeMap;
use std::fmt;

use super::claim::{Decided, Verdict};

/// Whose claim it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The ledger of a document names it.
    Document,
    Ours,
    /// It must hold by construction, so it tests the laboratory.
    Check,
}

impl Origin {
    pub(crate) const ALL: [Self; 3] = [Self::Document, Self::Ours, Self::Check];

    /// Its name in JSON lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Ours => "ours",
            Self::Check => "check",
        }
    }

    /// Its name beside a claim.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Document => "the document's",
            Self::Ours => "ours",
            Self::Check => "a check",
        }
    }
}

/// What is known of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    Holds,
    Fails,
    Undecided,
    Untestable,
    /// The verdict is on a claim that was other then.
    Stale,
}

impl Standing {
    pub(crate) const ALL: [Self; 5] = [Self::Holds, Self::Fails, Self::Undecided, Self::Untestable, Self::Stale];

    /// Its class in the style of pages.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::Untestable => "untestable",
            Self::Stale => "stale",
        }
    }

    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Holds => "✓",
            Self::Fails => "✗",
            Self::Undecided => "?",
            Self::Untestable => "–",
            Self::Stale => "≠",
        }
    }

    /// The verdict in words.
    pub(crate) fn word(self, origin: Origin) -> &'static str {
        match (self, origin) {
            (Self::Holds, Origin::Document) => "reproduced",
            (Self::Holds, _) => "holds",
            (Self::Fails, Origin::Document) => "not reproduced",
            (Self::Fails, _) => "does not hold",
            (Self::Undecided, _) => "undecided",
            (Self::Untestable, _) => "not testable here",
            (Self::Stale, _) => "stale",
        }
    }

    /// The verdict in words, of so many claims.
    fn words(self, origin: Origin, count: usize) -> &'static str {
        match self.word(origin) {
            "holds" if count > 1 => "hold",
            "does not hold" if count > 1 => "do not hold",
            word => word,
        }
    }

    /// Understands a verdict in words, whoever's claim it was on.
    pub(crate) fn of_word(word: &str) -> Self {
        let is_it = |standing: &Self| Origin::ALL.iter().any(|&origin| standing.word(origin) == word);
        Self::ALL.into_iter().find(is_it).unwrap_or(Self::Untestable)
    }
}

impl From<&Verdict> for Standing {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Holds => Self::Holds,
            Verdict::DoesNotHold => Self::Fails,
            Verdict::Undecided { .. } => Self::Undecided,
            Verdict::NotTestable(_) => Self::Untestable,
        }
    }
}

/// The number of claims of each origin and standing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals(BTreeMap<(Origin, Standing), usize>);

impl FromIterator<(Origin, Standing)> for Totals {
    fn from_iter<I: IntoIterator<Item = (Origin, Standing)>>(claims: I) -> Self {
        let mut counts = BTreeMap::new();
        claims.into_iter().for_each(|claim| *counts.entry(claim).or_default() += 1);
        Self(counts)
    }
}

impl<'d> FromIterator<&'d Decided> for Totals {
    fn from_iter<I: IntoIterator<Item = &'d Decided>>(decided: I) -> Self {
        decided.into_iter().map(|claim| (claim.origin, claim.standing())).collect()
    }
}

impl Totals {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn of(&self, origin: Origin, standing: Standing) -> usize {
        self.0.get(&(origin, standing)).copied().unwrap_or(0)
    }

    pub(crate) fn standing(&self, standing: Standing) -> usize {
        Origin::ALL.iter().map(|&origin| self.of(origin, standing)).sum()
    }

    /// Says how the claims of this origin stand; `None` if there are none.
    pub(crate) fn told(&self, origin: Origin) -> Option<String> {
        let counted = Standing::ALL.into_iter().map(|standing| (standing, self.of(origin, standing)));
        let each = counted.filter(|(_, count)| *count > 0);
        let each: Vec<String> = each.map(|(is, count)| format!("{count} {}", is.words(origin, count))).collect();
        (!each.is_empty()).then(|| each.join(", "))
    }
}

/// `Of documents' claims 3 reproduced, 1 undecided; of ours 1 holds; of checks 2 hold`: empty if there are none.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |origin| match origin {
            Origin::Document => "documents' claims",
            Origin::Ours => "ours",
            Origin::Check => "checks",
        };
        let each = Origin::ALL.into_iter().filter_map(|origin| Some((of(origin), self.told(origin)?)));
        for (index, (of, told)) in each.enumerate() {
            write!(f, "{} {of} {told}", if index == 0 { "Of" } else { "; of" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_tell_whose_claims_they_count() {
        let totals: Totals = [
            (Origin::Check, Standing::Holds),
            (Origin::Document, Standing::Stale),
            (Origin::Document, Standing::Fails),
            (Origin::Ours, Standing::Fails),
            (Origin::Ours, Standing::Fails),
            (Origin::Document, Standing::Holds),
            (Origin::Document, Standing::Holds),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            totals.to_string(),
            "Of documents' claims 2 reproduced, 1 not reproduced, 1 stale; of ours 2 do not hold; of checks 1 holds"
        );
        assert_eq!((totals.standing(Standing::Fails), totals.of(Origin::Check, Standing::Fails)), (3, 0));
        assert_eq!(Totals::default().to_string(), "");
    }

    #[test]
    fn kept_words_are_understood_whoever_claimed() {
        for origin in Origin::ALL {
            for standing in Standing::ALL {
                assert_eq!(Standing::of_word(standing.word(origin)), standing);
            }
        }
    }
}
