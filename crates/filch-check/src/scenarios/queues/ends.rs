//! Checks that a queue is as good as new after its client has ended.
//!
//! Invariant: a queue that is not tried again was left in a state that has passed; see [`outcome`](crate::outcome).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use filch_queue::as_new::{Endings, Trial};
use filch_queue::{Owner, Task};

use super::lock;
use super::made::Taker;
use crate::outcome::mix;
use crate::scenario::Checker;

/// What is known of the ends of a client's executions, on all machines; see [`outcome`](crate::outcome).
#[derive(Clone, Debug, Default)]
pub(super) struct Ends(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Per kind of queue, how a new one behaves.
    new: HashMap<u64, Arc<Endings>>,
    /// The outcomes that have left a queue as good as new.
    passed: HashSet<u64>,
}

impl Ends {
    /// Proves that a queue is as good as new, unless a queue in the same state was proved before.
    pub(super) fn prove<M: Checker>(
        &self,
        kind: u64,
        trial: &Trial,
        owner: &mut dyn Owner<Task>,
        thieves: &mut [Box<dyn Taker>],
    ) {
        let outcome = mix(kind, M::outcome());
        let known = || lock(&self.0);
        if known().passed.contains(&outcome) {
            return;
        }
        let new = known().new.get(&kind).cloned();
        let new = new.unwrap_or_else(|| Arc::new(trial.of_new(thieves.len())));
        trial.passes_like(&new, owner, thieves.iter_mut().map(|thief| thief.side()));
        let mut known = known();
        known.new.insert(kind, new);
        known.passed.insert(outcome);
    }
}
