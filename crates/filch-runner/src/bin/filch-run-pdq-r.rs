//! The runner of `pdq-r`.

use std::process::ExitCode;

use filch_queue::PdqR;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r").pool_of_many::<PdqR>().many::<PdqR>().serve()
}
