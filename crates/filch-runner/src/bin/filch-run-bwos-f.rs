//! The runner of `bwos-f`.

use std::process::ExitCode;

use filch_queue::BwosF;

fn main() -> ExitCode {
    filch_runner::filch("bwos-f").once::<BwosF>().serve()
}
