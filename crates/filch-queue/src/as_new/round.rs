//! A round of a trial, and its result.
//!
//! Invariant: two endings are equal if every thread got the same tasks, whatever the queue.

use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

/// What happens in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every thief tries the empty queue.
    Settle,
    /// The owner fills the queue for the first time, and empties it.
    Brim,
    /// The owner fills and empties the queue.
    Alone,
    /// The owner fills it, and one thief takes what it can get.
    OneThief,
    /// The same, but the thief asks for several tasks at once.
    Several,
    /// All thieves take in turn.
    InTurn,
    /// Each thief takes one; all ask before the owner answers the first.
    AtOnce,
    /// A thief asks, and the owner takes everything back.
    TakenBack,
    /// A thief asks, the owner answers, and the next thief arrives first.
    HandedOn,
}

/// The identity of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) is_new: bool,
    pub(super) kind: Kind,
    pub(super) thief: usize,
    pub(super) pass: usize,
}

impl Display for Round {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { is_new, kind, thief, pass } = self;
        let queue = if *is_new { "a new queue" } else { "the used queue" };
        write!(f, "{kind:?} {pass} with thief {thief} on {queue}")
    }
}

/// The result of a round: which tasks each thread got, by the numbers of their pushes.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) round: Round,
    pub(super) pushed: usize,
    pub(super) loot: Vec<Vec<usize>>,
    pub(super) popped: Vec<usize>,
    /// The owner's hints of the length, after each push and before each pop.
    pub(super) lengths: Vec<usize>,
}

impl PartialEq for Ending {
    fn eq(&self, other: &Self) -> bool {
        (self.pushed, &self.loot, &self.popped, &self.lengths)
            == (other.pushed, &other.loot, &other.popped, &other.lengths)
    }
}

impl Display for Ending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { round, pushed, loot, popped, lengths } = self;
        write!(f, "{round}: {pushed} tasks fit, thieves got {loot:?}, the owner {popped:?}, with lengths {lengths:?}")
    }
}
