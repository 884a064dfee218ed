//! The runner of `idem-fifo`.

use std::process::ExitCode;

use filch_queue::IdempotentFifo;

fn main() -> ExitCode {
    filch_runner::filch("idem-fifo").twice::<IdempotentFifo>().serve()
}
