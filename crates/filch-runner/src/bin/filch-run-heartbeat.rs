//! The runner of `heartbeat`.

use std::process::ExitCode;

use filch::pool::Heartbeat;
use filch_queue::ChaseLev;

fn main() -> ExitCode {
    filch_runner::filch("heartbeat").pool::<Heartbeat<ChaseLev>>().serve()
}
