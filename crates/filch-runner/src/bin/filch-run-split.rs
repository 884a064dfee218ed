//! The runner of `split`.

use std::process::ExitCode;

fn main() -> ExitCode {
    filch_runner::filch("split").default_pool().serve()
}
