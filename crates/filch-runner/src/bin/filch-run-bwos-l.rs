//! The runner of `bwos-l`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::BwosL;
use filch_runner::schedulers::SHORT_BLOCKS;

fn main() -> ExitCode {
    filch_runner::filch("bwos-l").pool::<Queued<BwosL>>().by_default(SHORT_BLOCKS).once::<BwosL>().serve()
}
