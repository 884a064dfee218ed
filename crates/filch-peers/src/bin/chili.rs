//! The runner of `chili`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::chili())
}
