//! The runner of `pdq-s-told`.

use std::process::ExitCode;

use filch_queue::PdqSTold;

fn main() -> ExitCode {
    filch_runner::filch("pdq-s-told").pool_of_many::<PdqSTold>().many::<PdqSTold>().serve()
}
