//! The runner of `pdq-r2`.

use std::process::ExitCode;

use filch_queue::PdqR2;
use filch_runner::schedulers::ONE_VICTIM;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r2").pool_of_many::<PdqR2>().by_default(ONE_VICTIM).many::<PdqR2>().serve()
}
