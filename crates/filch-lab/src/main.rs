//! `filch`: compares work-stealing schedulers on real programs.

fn main() -> std::process::ExitCode {
    filch_lab::filch()
}
