//! The runner of `tokio`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::tokio())
}
