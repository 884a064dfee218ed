//! The runner of `forkunion-dynamic`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::forkunion_dynamic())
}
