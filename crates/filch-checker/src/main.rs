//! `filch-check`: the checkers that `filch check`, `filch stress` and `filch list scenarios` start.

mod check;
mod flags;
mod scenarios;
mod stress;

use std::process::ExitCode;

use clap::Parser;
use filch_console::{error, interrupt, progress, table, terminal};

use crate::flags::{Flags, Stress, Stressed, Verb};

fn main() -> ExitCode {
    let done = match Flags::parse().verb {
        Verb::Check(flags) => check::check(&flags),
        Verb::Stress(Stress { what: Some(Stressed::Programs(flags)), .. }) => stress::programs(&flags),
        Verb::Stress(Stress { what: None, queues }) => stress::queues(&queues),
        Verb::Scenarios { subjects } => scenarios::list(&subjects),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
