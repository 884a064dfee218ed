//! The runner of `onetbb`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::onetbb())
}
