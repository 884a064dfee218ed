//! One file per verb; what other programs do is handed over to them.

mod build;
mod compare;
mod list;
mod report;
mod run;

use std::ffi::OsString;
use std::process::Command;

use filch_workloads::{Spec, Workload, specs};

use crate::error::{Result, usage};
use crate::flags::{Size, Verb};
use crate::runners::{self, Executable};

/// Does what was asked for.
pub(crate) fn run(verb: Verb) -> Result {
    match verb {
        Verb::Compare(flags) => compare::compare(&flags),
        Verb::Run(flags) => run::run(&flags),
        Verb::List(flags) => list::list(&flags),
        Verb::Report(flags) => report::report(&flags),
        Verb::Build(flags) => build::build(&flags),
        Verb::Check(passed) => hand_over(&Executable::Check, &with("check", passed.arguments)),
        Verb::Stress(passed) => hand_over(&Executable::Check, &with("stress", passed.arguments)),
        Verb::Probe(passed) => hand_over(&Executable::Probe, &with("probe", passed.arguments)),
    }
}

fn with(verb: &str, mut arguments: Vec<OsString>) -> Vec<OsString> {
    arguments.insert(0, verb.into());
    arguments
}

/// Another program goes on in the place of this one, with these arguments.
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

/// The parameter values of a command line, as `name=value`.
pub(crate) fn assignment(text: &str) -> Result<(String, String)> {
    filch_schedulers::assignment(text).map_err(usage)
}

/// A workload of a size, with some parameters set after that.
fn workload(name: &str, size: Size, set: &[(String, String)]) -> Result<Workload> {
    let preset = match (specs().iter().find(|spec| spec.name == name), size) {
        (None, _) => &[],
        (Some(Spec { quick, .. }), Size::Quick) => *quick,
        (Some(Spec { compare, .. }), Size::Compare) => *compare,
        (Some(Spec { paper, .. }), Size::Paper) => *paper,
    };
    let mut all: Vec<(String, String)> = preset.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    all.extend_from_slice(set);
    let workload = Workload::new(name, &all).map_err(usage)?;
    fits(&workload, 1)?;
    Ok(workload)
}

/// An error unless so many copies of the workload fit into memory together.
fn fits(workload: &Workload, copies: usize) -> Result {
    let needed = workload.memory_bytes().saturating_mul(copies as u64);
    match filch_protocol::memory_available() {
        Some(available) if needed > available => Err(usage(format!(
            "{} of this size needs {} of memory{}, but {} are available",
            workload.name(),
            crate::terminal::bytes(needed),
            if copies > 1 { format!(" for {copies} copies side by side") } else { String::new() },
            crate::terminal::bytes(available),
        ))),
        _ => Ok(()),
    }
}
