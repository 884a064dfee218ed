//! The runner of `padws`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::PadWs;
use filch_runner::schedulers::SAME_CAPACITY;

fn main() -> ExitCode {
    filch_runner::filch("padws").pool::<Queued<PadWs>>().by_default(SAME_CAPACITY).once::<PadWs>().serve()
}
