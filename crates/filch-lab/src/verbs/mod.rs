//! The verbs, one file each; some start another program.

mod build;
mod compare;
mod experiment;
mod list;
mod peers;
mod report;
mod reproduce;
mod run;
mod scale;
mod trace;

use std::ffi::OsString;
use std::process::Command;

use crate::error::{Result, usage};
use crate::flags::Verb;
use crate::runners::{self, Executable};

/// Runs a verb.
pub(crate) fn run(verb: Verb) -> Result {
    match verb {
        Verb::Compare(flags) => compare::compare(&flags),
        Verb::Experiment(flags) => experiment::experiment(&flags),
        Verb::Reproduce(flags) => reproduce::reproduce(&flags),
        Verb::Run(flags) => run::run(&flags),
        Verb::Trace(flags) => trace::trace(&flags),
        Verb::List(flags) => list::list(&flags),
        Verb::Peers(flags) => peers::peers(&flags),
        Verb::Report(flags) => report::report(&flags),
        Verb::Build(flags) => build::build(&flags),
        Verb::Check(passed) => hand_over(&Executable::Check, &with("check", passed.arguments)),
        Verb::Scale(flags) => scale::scale(&flags),
        Verb::Stress(passed) => hand_over(&Executable::Probe, &with("stress", passed.arguments)),
        Verb::Probe(passed) => hand_over(&Executable::Probe, &with("probe", passed.arguments)),
        Verb::Simulate(passed) => hand_over(&Executable::Simulate, &with("simulate", passed.arguments)),
    }
}

fn with(verb: &str, mut arguments: Vec<OsString>) -> Vec<OsString> {
    arguments.insert(0, verb.into());
    arguments
}

/// Replaces this process with another program, with these arguments.
fn hand_over(program: &Executable, arguments: &[OsString]) -> Result {
    runners::ready(&[program.clone()].into(), true)?;
    let path = program.path()?;
    let mut command = Command::new(&path);
    command.args(arguments);
    #[cfg(unix)]
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let error = match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    };
    Err(usage(format!("{} cannot be started: {error}", path.display())))
}
