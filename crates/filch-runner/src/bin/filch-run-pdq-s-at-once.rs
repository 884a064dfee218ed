//! The runner of `pdq-s-at-once`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PdqSAtOnce;

fn main() -> ExitCode {
    filch_runner::filch("pdq-s-at-once").pool::<Queued<PdqSAtOnce>>().once::<PdqSAtOnce>().serve()
}
