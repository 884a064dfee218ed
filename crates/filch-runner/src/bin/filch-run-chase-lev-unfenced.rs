//! The runner of `chase-lev-unfenced`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::{ChaseLev, Unfenced};

fn main() -> ExitCode {
    filch_runner::filch("chase-lev-unfenced").pool::<Queued<Unfenced<ChaseLev>>>().serve()
}
