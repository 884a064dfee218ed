//! The runner of `ff-cl`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::FfCl;

    filch_runner::filch("ff-cl").pool::<Queued<FfCl>>().once::<FfCl>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("ff-cl needs the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
