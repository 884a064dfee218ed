//! Keeps reproductions in this repository's folder `results`, and writes its pages.

fn main() -> std::process::ExitCode {
    filch_lab::records()
}
