//! The runner of `chase-lev-asym`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::ChaseLevAsym;

fn main() -> ExitCode {
    filch_runner::filch("chase-lev-asym").pool::<Queued<ChaseLevAsym>>().once::<ChaseLevAsym>().serve()
}
