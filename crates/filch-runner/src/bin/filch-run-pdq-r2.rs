//! The runner of `pdq-r2`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PdqR2;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r2").pool::<Queued<PdqR2>>().many::<PdqR2>().serve()
}
