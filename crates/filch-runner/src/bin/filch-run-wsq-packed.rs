//! The runner of `wsq-packed`.

use std::process::ExitCode;

use filch_queue::WsqPacked;

fn main() -> ExitCode {
    filch_runner::filch("wsq-packed").pool_of_many::<WsqPacked>().many::<WsqPacked>().serve()
}
