//! The runner of `lace`.

use std::process::ExitCode;

use filch_queue::Lace;

fn main() -> ExitCode {
    filch_runner::filch("lace").pool_of_many::<Lace>().many::<Lace>().serve()
}
