//! The runner of `idem-de`.

use std::process::ExitCode;

use filch_queue::IdempotentDeque;

fn main() -> ExitCode {
    filch_runner::filch("idem-de").twice::<IdempotentDeque>().serve()
}
