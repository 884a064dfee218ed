//! The runner of `rayon`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::rayon())
}
