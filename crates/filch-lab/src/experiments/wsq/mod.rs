//! The job queue by exchanges.

mod plot;
mod table;

use crate::experiment::Experiment;

/// Returns all experiments of this document.
pub(super) fn all() -> Vec<Experiment> {
    vec![table::experiment(), plot::experiment()]
}

/// The job system as in the version of its source that printed the table: a thief asks for up to 64 jobs, runs the
/// oldest first, and goes on to another victim when it has lost a race. Nobody sleeps.
const SOURCE: &str = "wsq:capacity=65472:loss=give-up:idle=spin:steal=half:first=oldest";
/// The same by its name in a table.
const THEIRS: &str = "filch wsq:capacity=65472:loss=give-up:idle=spin:steal=half:first=oldest";

const LOOP: &str = "The loop, too, runs 10000 times; the source's runs 1000 times.";
const WAITS: &str = "The threads spin between runs, as in the source; but ours yield now and then, and each run makes \
                     two system calls, which would wake threads that sleep.";
const ENDS: &str = "The source's main thread waits until all others are idle. Ours counts a run's unfinished jobs, \
                    many at a time. The end of a job updates two counts in the source, its own and its block's; in \
                    ours one, its block's, if another worker made it.";
const VICTIMS: &str = "In each look, a source's thief asks only the first victim for up to 64 jobs, and the others for \
                       one; ours asks all alike.";
const RECORDS: &str = "Records of commit 2828665 and earlier are of another form: a push exchanged twice, thieves took \
                       up to 16 jobs, each job had a parent that counted it, the queue had room for 8192 jobs, and \
                       the threads slept between runs.";
