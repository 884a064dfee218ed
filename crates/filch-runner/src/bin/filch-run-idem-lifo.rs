//! The runner of `idem-lifo`.

use std::process::ExitCode;

use filch_queue::IdempotentLifo;

fn main() -> ExitCode {
    filch_runner::filch("idem-lifo").twice::<IdempotentLifo>().serve()
}
