//! The runner of `the`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::The;

fn main() -> ExitCode {
    filch_runner::filch("the").pool::<Queued<The>>().once::<The>().serve()
}
