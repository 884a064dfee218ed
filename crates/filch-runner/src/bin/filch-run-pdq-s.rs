//! The runner of `pdq-s`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PdqS;

fn main() -> ExitCode {
    filch_runner::filch("pdq-s").pool::<Queued<PdqS>>().many::<PdqS>().serve()
}
