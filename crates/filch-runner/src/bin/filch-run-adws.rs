//! The runner of `adws`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::Adws;

fn main() -> ExitCode {
    filch_runner::filch("adws").pool::<Queued<Adws>>().once::<Adws>().serve()
}
