//! The runner of `hendler-shavit`.

use std::process::ExitCode;

use filch_queue::HendlerShavit;

fn main() -> ExitCode {
    filch_runner::filch("hendler-shavit").pool_of_many::<HendlerShavit>().many::<HendlerShavit>().serve()
}
