//! The runner of `forkunion`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::forkunion())
}
