//! `filch compare`: an experiment assembled from the flags.

use filch_catalogue::console::flags::MOST_WORKERS;
use filch_catalogue::{Workload, specs, unknown};

use crate::base::is_runner;
use crate::error::{Result, usage};
use crate::experiment::{Contender, Effort, Entry, Experiment, Plot, Program, Sweep};
use crate::experiments::usual;
use crate::flags::{Compare as Flags, Schedulers, Size};
use crate::perform::perform;
use crate::programs::{name_of, parse};
use crate::scheduler::knobs;

pub(crate) fn compare(flags: &Flags) -> Result {
    let size = flags.session.size_or(if flags.all { Size::Quick } else { Size::Small });
    perform(experiment(flags, size)?, size, &flags.session)?.end()
}

fn experiment(flags: &Flags, size: Size) -> Result<Experiment> {
    let is_of_builds = flags.session.against.baseline.as_deref().is_some_and(|path| is_runner(path).unwrap_or(false));
    let named = Named::of(&flags.schedulers)?;
    let usual = usual::experiment();
    let entry = |text: String| {
        let program = parse(&text, size)?;
        let default = |kind: fn(&Workload, &'static str) -> Vec<Contender>| {
            if is_of_builds { Vec::new() } else { kind(&program, named.wait) }
        };
        let mut contenders = named.pools.clone().unwrap_or_else(|| default(usual::pools_for));
        // The sequential program is always measured.
        contenders.retain(|contender| !matches!(contender, Contender::Pool { name, .. } if name == "serial"));
        contenders.extend(named.peers.clone().unwrap_or_else(|| default(|program, _| usual::peers_for(program))));
        contenders.extend(named.runners.iter().cloned());
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
    let entries = programs(flags, size).into_iter().map(entry).collect::<Result<_>>()?;
    let experiment = Experiment { name: None, entries, effort, ..usual };
    match &flags.sweep {
        None => Ok(experiment),
        Some((name, values)) if name == "workers" => swept_workers(experiment, values, flags),
        Some((name, values)) => swept(experiment, name, values, size),
    }
}

/// Sweeps the numbers of workers, as `--workers` does.
fn swept_workers(experiment: Experiment, values: &[String], flags: &Flags) -> Result<Experiment> {
    if flags.session.workers.is_some() {
        return Err(usage("--sweep workers and --workers say the same: omit one"));
    }
    let number = |value: &String| match value.parse::<usize>() {
        Ok(number @ 1..=MOST_WORKERS) => Ok(number),
        _ => Err(usage(format!("--sweep workers: {value} is not a number from 1 to {MOST_WORKERS}"))),
    };
    Ok(Experiment { workers: values.iter().map(number).collect::<Result<_>>()?, ..experiment })
}

/// What a page of a sweep draws.
const PLOTS: &[Plot] = &[
    Plot::Swept("median"),
    Plot::Swept("speedup"),
    Plot::Swept("to-baseline"),
    Plot::Times,
    Plot::Speedup,
    Plot::Forks,
];

/// Sweeps a parameter of all programs and pools that have it and do not set it.
fn swept(mut experiment: Experiment, name: &str, values: &[String], size: Size) -> Result<Experiment> {
    let (mut meaning, mut known) = (None, vec!["workers"]);
    // Opens the parameter in a text, if it is one of these.
    let mut open = |text: &str, parameters: &[(&'static str, &'static str)]| {
        known.extend(parameters.iter().map(|(name, _)| *name));
        let found = parameters.iter().find(|(parameter, _)| *parameter == name)?;
        meaning = meaning.or(Some(*found));
        let is_set = text.split(':').skip(1).any(|part| part.split('=').next() == Some(name));
        (!is_set).then(|| format!("{text}:{name}=*"))
    };
    for Entry { program, contenders } in &mut experiment.entries {
        let Some(text) = program.of(size).map(str::to_owned) else { continue };
        let kind = parse(&text, size)?.kind();
        let spec = specs().iter().find(|spec| spec.name == name_of(&text));
        let parameters: Vec<_> =
            spec.iter().flat_map(|spec| spec.params).map(|param| (param.name, param.help)).collect();
        if let Some(text) = open(&text, &parameters) {
            *program = Program::new(text);
        }
        for contender in contenders {
            let Contender::Pool { name: pool, .. } = contender else { continue };
            let parameters: Vec<_> = knobs(pool, kind).iter().map(|knob| (knob.name, knob.help)).collect();
            if let Some(text) = open(pool, &parameters) {
                *pool = text;
            }
        }
    }
    known.sort_unstable();
    known.dedup();
    let Some((parameter, meaning)) = meaning else {
        return Err(usage(unknown("parameter of these programs and pools", name, &known)));
    };
    let sweep = Some(Sweep { parameter, values: values.to_vec(), meaning });
    Ok(Experiment { sweep, plots: PLOTS, ..experiment })
}

/// Returns the requested programs, such as `fib:n=40:cutoff=3`.
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

/// The contenders that flags name; a missing list has a default.
pub(super) struct Named {
    pub(super) wait: &'static str,
    pub(super) pools: Option<Vec<Contender>>,
    pub(super) peers: Option<Vec<Contender>>,
    pub(super) runners: Vec<Contender>,
}

impl Named {
    pub(super) fn of(flags: &Schedulers) -> Result<Self> {
        if let Some(missing) = flags.runners.iter().find(|runner| !runner.is_file()) {
            return Err(usage(format!("--runner {}: there is no such file", missing.display())));
        }
        let wait = filch_catalogue::wait(flags.wait.as_deref()).map_err(usage)?;
        let each = |names: &Option<Vec<String>>, contender: &dyn Fn(String) -> Contender| {
            // An empty list is one empty name.
            let names = names.as_ref()?.iter().filter(|name| !name.is_empty());
            Some(names.cloned().map(contender).collect())
        };
        Ok(Self {
            wait,
            pools: each(&flags.pools, &|name| Contender::Pool { name, wait }),
            peers: each(&flags.peers, &Contender::Peer),
            runners: flags.runners.iter().cloned().map(Contender::Runner).collect(),
        })
    }
}
