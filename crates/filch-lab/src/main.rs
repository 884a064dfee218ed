//! `filch`: compares work-stealing schedulers on real programs.

mod columns;
mod earlier;
mod export;
mod flags;
mod plan;
mod record;
mod runners;
mod scheduler;
mod session;
mod summary;
mod verbs;
mod warnings;

use std::process::ExitCode;

use clap::Parser;
use filch_console::{error, interrupt, progress, stats, terminal};

fn main() -> ExitCode {
    let flags = flags::Flags::parse();
    match verbs::run(flags.verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
