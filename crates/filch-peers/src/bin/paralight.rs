//! The runner of `paralight`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::paralight())
}
