//! The runner of `hendler-shavit`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::HendlerShavit;

fn main() -> ExitCode {
    filch_runner::filch("hendler-shavit").pool::<Queued<HendlerShavit>>().many::<HendlerShavit>().serve()
}
