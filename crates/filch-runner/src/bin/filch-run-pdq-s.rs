//! The runner of `pdq-s`.

use std::process::ExitCode;

use filch_queue::PdqS;

fn main() -> ExitCode {
    filch_runner::filch("pdq-s").pool_of_many::<PdqS>().many::<PdqS>().serve()
}
