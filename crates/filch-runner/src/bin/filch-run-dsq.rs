//! The runner of `dsq`.

use std::process::ExitCode;

use filch_queue::Dsq;

fn main() -> ExitCode {
    filch_runner::filch("dsq").pool_of_many::<Dsq>().many::<Dsq>().serve()
}
