//! The runner of `locked`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::Locked;

fn main() -> ExitCode {
    filch_runner::filch("locked").pool::<Queued<Locked>>().many::<Locked>().serve()
}
