//! The runner of `forte`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::forte())
}
