//! The runner of `bwos-l`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::BwosL;
use filch_schedulers::ShortBlocks;

fn main() -> ExitCode {
    filch_runner::filch("bwos-l").pool::<Queued<ShortBlocks>>().once::<BwosL>().serve()
}
