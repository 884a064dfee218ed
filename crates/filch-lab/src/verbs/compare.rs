//! `filch compare`: an experiment assembled from the flags.

use crate::base::is_runner;
use crate::error::Result;
use crate::experiment::{Contender, Effort, Entry, Experiment, Program};
use crate::experiments::usual;
use crate::flags::{Compare as Flags, Size};
use crate::perform::perform;
use crate::programs::{name_of, parse};

pub(crate) fn compare(flags: &Flags) -> Result {
    let size = flags.session.size_or(if flags.all { Size::Quick } else { Size::Small });
    perform(experiment(flags, size)?, size, &flags.session)?.end()
}

fn experiment(flags: &Flags, size: Size) -> Result<Experiment> {
    if let Some(missing) = flags.runners.iter().find(|runner| !runner.is_file()) {
        return Err(crate::error::usage(format!("--runner {}: there is no such file", missing.display())));
    }
    let wait = filch_catalogue::wait(flags.wait.as_deref()).map_err(crate::error::usage)?;
    let is_of_builds = flags.session.against.baseline.as_deref().is_some_and(|path| is_runner(path).unwrap_or(false));
    let named = |list: Option<&Vec<String>>| named(list).or_else(|| is_of_builds.then(Vec::new));
    let usual = usual::experiment();
    let entry = |text: String| {
        let program = parse(&text, size)?;
        let pool = |name| Contender::Pool { name, wait };
        let pools = named(flags.pools.as_ref())
            .map(|names| names.into_iter().filter(|name| name != "serial").map(pool).collect());
        let peers = named(flags.peers.as_ref()).map(|names| names.into_iter().map(Contender::Peer).collect());
        let mut contenders = pools.unwrap_or_else(|| usual::pools_for(&program, wait));
        contenders.extend(peers.unwrap_or_else(|| usual::peers_for(&program)));
        contenders.extend(flags.runners.iter().cloned().map(Contender::Runner));
        Ok(Entry { program: Program::new(text), contenders })
    };
    let effort = if flags.all {
        Effort { at_least: 1, budget: 180, visit: 0.05, ..usual.effort }
    } else if is_of_builds {
        // Small differences need many rounds.
        Effort { at_most: 1000, ..usual.effort.at(size) }
    } else {
        usual.effort.at(size)
    };
    Ok(Experiment {
        name: None,
        entries: programs(flags, size).into_iter().map(entry).collect::<Result<_>>()?,
        effort,
        ..usual
    })
}

/// Returns the requested programs, such as `fib:n=40,cutoff=3`.
fn programs(flags: &Flags, size: Size) -> Vec<String> {
    let usual = usual::programs(size);
    if flags.all {
        return usual::every_program();
    }
    if flags.workloads.is_empty() {
        return usual;
    }
    let of = |given: &String| {
        // A bare name stands for all its variants.
        let variants: Vec<String> = usual.iter().filter(|program| name_of(program) == given).cloned().collect();
        if variants.is_empty() { vec![given.clone()] } else { variants }
    };
    flags.workloads.iter().flat_map(of).collect()
}

/// Returns the names of a list, which may be empty.
fn named(list: Option<&Vec<String>>) -> Option<Vec<String>> {
    list.map(|names| names.iter().filter(|name| !name.is_empty()).cloned().collect())
}
