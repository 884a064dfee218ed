//! The runner of `wsq`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::Wsq;

fn main() -> ExitCode {
    filch_runner::filch("wsq").pool::<Queued<Wsq>>().many::<Wsq>().serve()
}
