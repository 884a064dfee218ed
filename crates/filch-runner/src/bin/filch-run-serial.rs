//! The runner of the plain sequential programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    filch_runner::serve(&filch_runner::Sequential)
}
