//! The runner of `wsq`.

use std::process::ExitCode;

use filch_queue::Wsq;

fn main() -> ExitCode {
    filch_runner::filch("wsq").pool_of_many::<Wsq>().many::<Wsq>().serve()
}
