//! The runner of `wsq`.

use std::process::ExitCode;

use filch_queue::Wsq;
use filch_schedulers::{AS_IN_SOURCE, JOBS_AS_IN_SOURCE};

fn main() -> ExitCode {
    let wsq = filch_runner::filch("wsq").pool_of_many::<Wsq>().by_default(AS_IN_SOURCE);
    wsq.many::<Wsq>().lists_by_default(JOBS_AS_IN_SOURCE).serve()
}
