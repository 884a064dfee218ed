//! The runner of `direct-pdq-r2`.

use std::process::ExitCode;

use filch::pool::PrivateStack;

fn main() -> ExitCode {
    filch_runner::filch("direct-pdq-r2").pool::<PrivateStack>().serve()
}
