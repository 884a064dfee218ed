//! One file per verb.

mod calls;
mod check;
mod compare;
mod hunger;
mod list;
mod probe;
mod report;
mod run;
mod stress;

use filch_workloads::{Spec, Workload, specs};

use crate::error::{Result, usage};
use crate::flags::{Probe, Stress, Stressed, Verb};

/// Does what was asked for.
pub(crate) fn run(verb: Verb) -> Result {
    match verb {
        Verb::Compare(flags) => compare::compare(&flags),
        Verb::Run(flags) => run::run(&flags),
        Verb::List(flags) => list::list(&flags),
        Verb::Check(flags) => check::check(&flags),
        Verb::Report(flags) => report::report(&flags),
        Verb::Stress(Stress { what: Some(Stressed::Programs(flags)), .. }) => stress::programs(&flags),
        Verb::Stress(Stress { what: None, queues }) => stress::queues(&queues),
        Verb::Probe(Probe::Idle(flags)) => probe::idle(&flags),
        Verb::Probe(Probe::Wakeup(flags)) => probe::wakeup(&flags),
        Verb::Probe(Probe::Calls(flags)) => calls::calls(&flags),
        Verb::Probe(Probe::Hunger(flags)) => hunger::hunger(&flags),
    }
}

/// A preset of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Quick,
    Compare,
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
    match crate::machine::memory_available() {
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
