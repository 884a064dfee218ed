//! The runner of `threads`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::threads())
}
