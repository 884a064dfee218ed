//! The runner of `ff-the`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::FfThe;

    filch_runner::filch("ff-the").pool::<Queued<FfThe>>().once::<FfThe>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("ff-the needs the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
