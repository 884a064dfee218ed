//! The runner of `heartbeat-on-request`.

use std::process::ExitCode;

use filch::pool::{Heartbeat, Request};
use filch_queue::ChaseLev;

fn main() -> ExitCode {
    filch_runner::filch("heartbeat-on-request").pool::<Heartbeat<ChaseLev, Request>>().serve()
}
