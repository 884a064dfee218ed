//! The split deque.

mod depth;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod half;
mod policies;
mod simulated;

use filch_protocol::cores;

use crate::experiment::quantity::Pick;
use crate::experiment::{Contender, Experiment};

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![
        fig5::experiment(),
        fig6::experiment(),
        fig7::experiment(),
        fig8::experiment(),
        depth::experiment(),
        half::experiment(),
        policies::experiment(),
        simulated::experiment(),
    ]
}

/// The direct task stack of figure 4, with its stores to split and its policy, and thieves that go elsewhere after a
/// lost race. Its workers without work sleep, since some rows have more workers than processors.
const LACE: &str = "split:moves=half-stores:share=half:loss=give-up";
/// The same in records, with plain leapfrogging, with random stealing after a failed leap, and with transitive
/// leapfrogging.
const OF_LACE: Pick = Pick::any("filch split:moves=half-stores:share=half:loss=give-up leapfrog");
const OF_LACE_RANDOM: Pick = Pick::any("filch split:moves=half-stores:share=half:loss=give-up:leaps=1");
const OF_LACE_TRANSITIVE: Pick = Pick::any("filch split:moves=half-stores:share=half:loss=give-up transitive");
/// filch's own form.
const OURS: Pick = Pick::any("filch split");
/// The private deque on the same task stack, by the alternative acquire function.
const PRIVATE: &str = "direct-pdq-r2";
/// The same in records, with plain leapfrogging.
const OF_PRIVATE: Pick = Pick::any("filch direct-pdq-r2 leapfrog");
/// Where it differs.
const PRIVATE_DIFFERS: &[&str] = &[
    "A thief of a private deque withdraws its request once it has looked for the answer some two thousand times.",
    "In rows named pdq-r2 the private deque holds pointers to tasks on frames, instead of the tasks.",
];
const WOOL: &str = "wool:loss=give-up";

/// A tree that geometric growth makes easy to balance.
const T2: [Option<&str>; 3] = [Some("uts:tree=T2:depth=11"), Some("uts:tree=T2"), Some("uts:tree=T2L")];
/// A binomial tree: most subtrees are tiny, some are large.
const T3: [Option<&str>; 3] = [Some("uts:tree=T3:b=500:seed=4"), Some("uts:tree=T3"), Some("uts:tree=T3L")];
/// The same, smaller, for many rows.
const T3_FOR_MANY: [Option<&str>; 3] = [T3[0], Some("uts:tree=T3S"), T3[2]];
/// How the names of the binomial trees begin.
const T3_NAMES: &[&str] = &["uts:tree=T3", "uts:tree=custom:type=binomial"];

/// A pool whose workers wait so.
fn pool(name: &str, wait: &'static str) -> Contender {
    Contender::Pool { name: name.to_owned(), wait }
}

/// These numbers of workers, and those of the paper as far as there are processors.
fn workers(few: &[usize]) -> Vec<usize> {
    let more = [4, 8, 16, 24, 32, 40, 48].into_iter().filter(|&more| more <= cores() && !few.contains(&more));
    few.iter().copied().chain(more).collect()
}
