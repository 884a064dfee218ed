//! The runner of `thep`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::Thep;

    filch_runner::filch("thep").pool::<Queued<Thep>>().once::<Thep>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("thep needs the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
