//! The runner of `pdq-r`.

use std::process::ExitCode;

use filch_queue::PdqR;
use filch_runner::schedulers::ONE_VICTIM;

fn main() -> ExitCode {
    filch_runner::filch("pdq-r").pool_of_many::<PdqR>().by_default(ONE_VICTIM).many::<PdqR>().serve()
}
