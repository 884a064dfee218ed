//! The runner of `one-exposed`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::OneExposed;

fn main() -> ExitCode {
    filch_runner::filch("one-exposed").pool::<Queued<OneExposed>>().once::<OneExposed>().serve()
}
