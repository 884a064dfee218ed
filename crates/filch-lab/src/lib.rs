//! The program `filch`, which compares work-stealing schedulers on real programs, and the tool that keeps its
//! reproductions in this repository.

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
mod probes;
mod programs;
mod record;
mod records;
mod rounds;
mod runners;
mod scale;
mod scheduler;
mod session;
mod sources;
mod summary;
mod verbs;
mod warnings;

use std::process::ExitCode;

use clap::Parser;
use filch_catalogue::console::{error, interrupt, progress, stats, terminal};

/// Runs the program `filch`.
pub fn filch() -> ExitCode {
    status(verbs::run(flags::Flags::parse().verb))
}

/// Runs the example `records`.
pub fn records() -> ExitCode {
    status(records::run(&records::Flags::parse()))
}

fn status(end: error::Result) -> ExitCode {
    end.map_or_else(|error| error.report(), |()| ExitCode::SUCCESS)
}
