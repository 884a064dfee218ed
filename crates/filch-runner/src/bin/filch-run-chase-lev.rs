//! The runner of `chase-lev`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::ChaseLev;

fn main() -> ExitCode {
    filch_runner::filch("chase-lev").pool::<Queued<ChaseLev>>().once::<ChaseLev>().serve()
}
