//! The runner of `orx-parallel`.

fn main() -> std::process::ExitCode {
    filch_runner::serve(&filch_peers::orx_parallel())
}
