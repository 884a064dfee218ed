//! The runner of `lace-ws`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::lace_ws())
}
