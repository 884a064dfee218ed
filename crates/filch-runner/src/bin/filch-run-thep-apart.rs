//! The runner of `thep-apart`.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    use filch::pool::Queued;
    use filch_queue::ThepApart;

    filch_runner::filch("thep-apart").pool::<Queued<ThepApart>>().once::<ThepApart>().serve()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    eprintln!("thep-apart needs the store buffers of x86-64");
    std::process::ExitCode::from(2)
}
