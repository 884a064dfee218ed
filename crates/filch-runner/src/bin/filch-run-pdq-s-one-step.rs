//! The runner of `pdq-s-one-step`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PdqSOneStep;

fn main() -> ExitCode {
    filch_runner::filch("pdq-s-one-step").pool::<Queued<PdqSOneStep>>().once::<PdqSOneStep>().serve()
}
