//! The runner of `abp`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::Abp;

fn main() -> ExitCode {
    filch_runner::filch("abp").pool::<Queued<Abp>>().once::<Abp>().serve()
}
