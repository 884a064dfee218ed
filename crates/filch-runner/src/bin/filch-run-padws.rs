//! The runner of `padws`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PadWs;

fn main() -> ExitCode {
    filch_runner::filch("padws").pool::<Queued<PadWs>>().once::<PadWs>().serve()
}
