//! `filch`: compares work-stealing schedulers on real programs.

mod adapters;
mod base;
mod columns;
mod conclude;
mod earlier;
mod experiment;
mod experiments;
mod export;
mod facts;
mod flags;
mod forecast;
mod identity;
mod kept;
mod ledger;
mod measure;
mod outcome;
mod perform;
mod programs;
mod record;
mod rounds;
mod runners;
mod scheduler;
mod session;
mod sources;
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
