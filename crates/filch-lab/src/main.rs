//! `filch`: compares work-stealing schedulers on real programs.

mod child;
mod error;
mod export;
mod flags;
mod interrupt;
mod machine;
mod measure;
mod plan;
mod progress;
mod record;
mod scheduler;
mod stats;
mod summary;
mod terminal;
mod verbs;
mod warnings;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let flags = flags::Flags::parse();
    match verbs::run(flags.verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
