//! The runner of `pdq-r2`.

use std::process::ExitCode;

use filch_queue::PdqR2;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r2").pool_of_many::<PdqR2>().many::<PdqR2>().serve()
}
