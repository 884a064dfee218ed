//! The runner of `pdq-r`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PdqR;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r").pool::<Queued<PdqR>>().many::<PdqR>().serve()
}
