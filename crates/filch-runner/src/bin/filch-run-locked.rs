//! The runner of `locked`.

use std::process::ExitCode;

use filch_queue::Locked;

fn main() -> ExitCode {
    filch_runner::filch("locked").pool_of_many::<Locked>().many::<Locked>().serve()
}
