//! The runner of `pdq-r-async`.

use std::process::ExitCode;

use filch_queue::PdqRAsync;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r-async").pool_of_many::<PdqRAsync>().many::<PdqRAsync>().serve()
}
