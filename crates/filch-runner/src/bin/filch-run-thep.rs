//! The runner of `thep`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::Thep;
    use filch_schedulers::Bounded;

    filch_runner::filch("thep").pool::<Queued<Bounded<Thep>>>().once::<Bounded<Thep>>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("thep relies on the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
