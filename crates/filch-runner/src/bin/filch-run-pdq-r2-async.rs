//! The runner of `pdq-r2-async`.

use std::process::ExitCode;

use filch_queue::PdqR2Async;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r2-async").pool_of_many::<PdqR2Async>().many::<PdqR2Async>().serve()
}
