//! The runner of `wsq`.

use std::process::ExitCode;

use filch_queue::Wsq;
use filch_runner::schedulers::AS_IN_SOURCE;

fn main() -> ExitCode {
    filch_runner::filch("wsq").pool_of_many::<Wsq>().by_default(AS_IN_SOURCE).many::<Wsq>().serve()
}
