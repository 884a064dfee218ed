//! The runner of `ff-the`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::FfThe;
    use filch_schedulers::Bounded;

    filch_runner::filch("ff-the").pool::<Queued<Bounded<FfThe>>>().once::<Bounded<FfThe>>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("ff-the relies on the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
