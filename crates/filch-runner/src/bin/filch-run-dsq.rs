//! The runner of `dsq`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::Dsq;

fn main() -> ExitCode {
    filch_runner::filch("dsq").pool::<Queued<Dsq>>().many::<Dsq>().serve()
}
