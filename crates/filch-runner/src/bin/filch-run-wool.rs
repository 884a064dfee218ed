//! The runner of `wool`.

use std::process::ExitCode;

use filch::pool::Wool;

fn main() -> ExitCode {
    filch_runner::filch("wool").pool::<Wool>().serve()
}
