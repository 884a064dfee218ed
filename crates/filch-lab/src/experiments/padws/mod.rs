//! Partial asynchronous delegation.

mod fig1;
mod fig2a;
mod fig2b;
mod fig2c;
mod fig2d;

use crate::experiment::{Contender, Effort, Experiment, Sweep};

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![fig1::experiment(), fig2a::experiment(), fig2b::experiment(), fig2c::experiment(), fig2d::experiment()]
}

/// The queues of figure 2: private deques as printed, whose thieves wait for an answer. Their owner deals whenever a
/// thief is idle: every 30 µs, as in their own paper, thieves would never get a tenth of tasks this short.
const PAPERS: [&str; 5] = ["abp", "bwos-l", "pdq-r", "pdq-s:delta=0us", "padws"];
/// Ours beside them: a growing array, a split deque, and private deques whose thieves come back for the answer.
const OURS: [&str; 3] = ["chase-lev", "lace", "pdq-r-async"];

fn queues() -> Vec<Contender> {
    PAPERS.into_iter().chain(OURS).map(Contender::pool).collect()
}

fn shares(values: &[u32]) -> Option<Sweep> {
    let values = values.iter().map(u32::to_string).collect();
    Some(Sweep { parameter: "share", values, meaning: "per cent of the tasks that a thief shall take" })
}

/// Short visits: there are many queues and shares.
const EFFORT: Effort = Effort { at_least: 5, at_most: 30, budget: 50, visit: 0.06 };
