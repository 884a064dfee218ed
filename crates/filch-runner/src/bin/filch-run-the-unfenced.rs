//! The runner of `the-unfenced`.

use std::process::ExitCode;

use filch::pool::Queued;
use filch_queue::{The, Unfenced};

fn main() -> ExitCode {
    filch_runner::filch("the-unfenced").pool::<Queued<Unfenced<The>>>().serve()
}
