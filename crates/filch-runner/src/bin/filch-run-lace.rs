//! The runner of `lace`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::Lace;

fn main() -> ExitCode {
    filch_runner::filch("lace").pool::<Queued<Lace>>().many::<Lace>().serve()
}
