//! The runner of `openmp`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::openmp())
}
