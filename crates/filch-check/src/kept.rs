//! Orderings that are stronger than any scenario needs, with the reasons.
//!
//! The reason is in the comment above its operation:
//!
//! ```text
//! // E2: pairs with the load in `make_room`.
//! // kept over Relaxed: the read of the slot comes before the push that fills it again.
//! thieves.tail.store(new, Ordering::Release);
//! ```
//!
//! `over` names the weaker ordering with which every scenario passes, or `nothing` for a fence that could be removed.
//! For the failure of a compare-and-swap it is `Relaxed on failure`; `and` joins several. The reason extends to the end
//! of the comment or to the start of the next reason.
//!
//! Invariant: a reason matches a weakening that passes; any other is reported as stale.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use filch_memory::Ordering;

use crate::sites::{Kind, Weakening};
use crate::sources::{SOURCES, code_of, is_of};

/// A weakening with which every scenario passes, and the reason not to make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The source file, relative to the workspace's `crates` folder.
    pub file: &'static str,
    /// The line on which the reason begins.
    pub line: u32,
    /// The lines of the operation.
    pub operation: RangeInclusive<u32>,
    /// The weaker ordering; `None` for removing a fence.
    pub to: Option<Ordering>,
    /// Whether it is the failure ordering of a compare-and-swap.
    pub on_failure: bool,
    /// The reason for the stronger ordering.
    pub reason: String,
}

impl Kept {
    pub(crate) fn is_in(&self, file: &str) -> bool {
        is_of(self.file, file)
    }

    fn is_for(&self, weakening: &Weakening) -> bool {
        let site = &weakening.site;
        self.is_in(site.file)
            && self.operation.contains(&site.line)
            && self.on_failure == (site.kind == Kind::Failure)
            && self.to == weakening.to
    }
}

impl Display for Kept {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

/// Returns all reasons, by file and line.
///
/// # Panics
/// If the ordering or the operation of a reason cannot be parsed.
pub fn reasons() -> &'static [Kept] {
    static REASONS: LazyLock<Vec<Kept>> =
        LazyLock::new(|| SOURCES.iter().flat_map(|&(file, text)| in_file(file, text)).collect());
    &REASONS
}

/// Returns the reason not to make a weakening, if there is one.
pub(crate) fn reason_for(weakening: &Weakening) -> Option<&'static Kept> {
    reasons().iter().find(|kept| kept.is_for(weakening))
}

const MARK: &str = "// kept over ";

fn in_file(file: &'static str, text: &str) -> Vec<Kept> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_comment = |line: &str| line.starts_with("//");
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix(MARK) else { continue };
        let wrong = |what: &str| -> ! { panic!("{file}:{}: {what}", at + 1) };
        let Some((over, start)) = rest.split_once(": ") else { wrong("a reason follows after `kept over …: `") };
        let below = &lines[at + 1..];
        let more = below.iter().take_while(|line| is_comment(line) && !line.starts_with(MARK));
        let reason = more.fold(start.to_owned(), |reason, line| format!("{reason} {}", line[2..].trim()));
        let Some(first) = below.iter().position(|line| !is_comment(line)) else { wrong("no operation follows") };
        let ends = |line: &&str| code_of(line).ends_with([';', ',', '{', '}']);
        let Some(last) = below[first..].iter().position(ends) else { wrong("the operation has no end") };
        let number = |below: usize| (at + 2 + below) as u32;
        let operation = number(first)..=number(first + last);
        for weaker in over.split(" and ") {
            let (order, on_failure) = weaker.strip_suffix(" on failure").map_or((weaker, false), |order| (order, true));
            let to = match order {
                "nothing" => None,
                "Relaxed" => Some(Ordering::Relaxed),
                "Acquire" => Some(Ordering::Acquire),
                "Release" => Some(Ordering::Release),
                "AcqRel" => Some(Ordering::AcqRel),
                _ => wrong("what an ordering is kept over is an ordering, or nothing"),
            };
            let (operation, reason) = (operation.clone(), reason.clone());
            found.push(Kept { file, line: at as u32 + 1, operation, to, on_failure, reason });
        }
    }
    found
}

/// The result of `filch check --weaken` for a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The queue or protocol.
    pub subject: &'static str,
    /// The number of weakenings that make a scenario fail.
    pub necessary: usize,
    /// The number of weakenings that pass and are not made, for a [reason](Kept).
    pub kept: usize,
}

const fn settled(subject: &'static str, necessary: usize, kept: usize) -> Settled {
    Settled { subject, necessary, kept }
}

/// The results for all subjects. Every subject that shares a protocol counts its call sites.
pub const SETTLED: &[Settled] = &[
    settled("locked", 0, 0),
    settled("the", 9, 3),
    settled("chase-lev", 9, 2),
    settled("chase-lev-fixed", 7, 2),
    settled("bwos-l", 6, 12),
    settled("bwos-f", 2, 2),
    settled("padws", 6, 12),
    settled("adws", 4, 6),
    settled("lace", 6, 1),
    settled("wsq", 3, 0),
    settled("wsq-packed", 3, 0),
    settled("dsq", 4, 4),
    settled("hendler-shavit", 3, 0),
    settled("abp", 8, 2),
    settled("chase-lev-asym", 11, 3),
    settled("idem-lifo", 4, 3),
    settled("idem-fifo", 4, 2),
    settled("idem-de", 4, 3),
    settled("one-exposed", 5, 0),
    settled("pdq-r", 5, 0),
    settled("pdq-r2", 5, 0),
    settled("pdq-r-async", 4, 0),
    settled("pdq-r2-async", 4, 0),
    settled("pdq-s", 4, 0),
    settled("pdq-s-at-once", 3, 0),
    settled("pdq-s-told", 4, 0),
    settled("pdq-s-one-step", 3, 0),
    #[cfg(target_arch = "x86_64")]
    settled("ff-the", 11, 3),
    #[cfg(target_arch = "x86_64")]
    settled("ff-cl", 6, 3),
    #[cfg(target_arch = "x86_64")]
    settled("thep", 15, 3),
    #[cfg(target_arch = "x86_64")]
    settled("thep-apart", 15, 3),
    #[cfg(target_arch = "x86_64")]
    settled("thep-impatient", 15, 3),
    settled("runtime", 40, 20),
    settled("guest", 40, 20),
    settled("seize", 40, 20),
    settled("order", 49, 22),
    settled("wool", 40, 20),
    settled("direct-pdq-r2", 40, 20),
    settled("beat", 40, 20),
    settled("ticks", 40, 20),
    settled("termination", 5, 2),
    settled("log", 2, 2),
    settled("rounds", 4, 0),
    settled("jobs", 9, 2),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_from_comments() {
        let text = "\
// E2: pairs with the load.
// kept over Relaxed: one
// reason.
// kept over Acquire and Relaxed on failure: another
if !self.word
    .compare_exchange(a, b, Ordering::AcqRel, Ordering::Acquire) {
    // kept over nothing: a third
    M::fence(Ordering::SeqCst);
";
        let read = in_file("a.rs", text);
        let told: Vec<_> = read
            .iter()
            .map(|kept| (kept.line, kept.operation.clone(), kept.to, kept.on_failure, kept.reason.as_str()))
            .collect();
        let expected = [
            (2, 5..=6, Some(Ordering::Relaxed), false, "one reason."),
            (4, 5..=6, Some(Ordering::Acquire), false, "another"),
            (4, 5..=6, Some(Ordering::Relaxed), true, "another"),
            (7, 8..=8, None, false, "a third"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn every_reason_can_be_read() {
        assert!(reasons().len() > 50);
    }

    #[test]
    #[should_panic(expected = "a.rs:1: what an ordering is kept over is an ordering, or nothing")]
    fn a_reason_names_an_ordering() {
        in_file("a.rs", "// kept over SeqCst: no\nf();\n");
    }
}
