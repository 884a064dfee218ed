//! The runner of `thep-impatient`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::ImpatientThep;

    filch_runner::filch("thep-impatient").pool::<Queued<ImpatientThep>>().once::<ImpatientThep>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("thep-impatient relies on the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
