//! `filch-check`, which `filch check` and `filch list scenarios` start.

mod check;
mod flags;
mod scenarios;

use std::process::ExitCode;

use clap::Parser;
use filch_catalogue::console::{error, interrupt, progress, table, terminal};

use crate::flags::{Flags, Verb};

fn main() -> ExitCode {
    let done = match Flags::parse().verb {
        Verb::Check(flags) => check::check(&flags),
        Verb::Scenarios { subjects } => scenarios::list(&subjects),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
