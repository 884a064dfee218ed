//! The runner of `chase-lev-fixed`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::ChaseLevFixed;

fn main() -> ExitCode {
    filch_runner::filch("chase-lev-fixed").pool::<Queued<ChaseLevFixed>>().once::<ChaseLevFixed>().serve()
}
