//! `filch compare`: an experiment assembled from the flags.

use filch_catalogue::{specs, unknown};
use filch_console::flags::MOST_WORKERS;

use crate::base::is_runner;
use crate::error::{Result, usage};
use crate::experiment::{Contender, Effort, Entry, Experiment, Plot, Program, Sweep};
use crate::experiments::usual;
use crate::flags::{Compare as Flags, Size};
use crate::perform::perform;
use crate::programs::{name_of, parse};
use crate::scheduler::knobs;

pub(crate) fn compare(flags: &Flags) -> Result {
    let size = flags.session.size_or(if flags.all { Size::Quick } else { Size::Small });
    perform(experiment(flags, size)?, size, &flags.session)?.end()
}

fn experiment(flags: &Flags, size: Size) -> Result<Experiment> {
    if let Some(missing) = flags.runners.iter().find(|runner| !runner.is_file()) {
        return Err(usage(format!("--runner {}: there is no such file", missing.display())));
    }
    let wait = filch_catalogue::wait(flags.wait.as_deref()).map_err(usage)?;
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
    let mut open = |text: &str, gap: char, parameters: &[(&'static str, &'static str)]| {
        known.extend(parameters.iter().map(|(name, _)| *name));
        let found = parameters.iter().find(|(parameter, _)| *parameter == name)?;
        meaning = meaning.or(Some(*found));
        let is_set = text.split([':', ',']).skip(1).any(|part| part.split('=').next() == Some(name));
        let gap = if text.contains(':') { gap } else { ':' };
        (!is_set).then(|| format!("{text}{gap}{name}=*"))
    };
    for Entry { program, contenders } in &mut experiment.entries {
        let Some(text) = program.of(size).map(str::to_owned) else { continue };
        let kind = parse(&text, size)?.kind();
        let spec = specs().iter().find(|spec| spec.name == name_of(&text));
        let parameters: Vec<_> =
            spec.iter().flat_map(|spec| spec.params).map(|param| (param.name, param.help)).collect();
        if let Some(text) = open(&text, ',', &parameters) {
            *program = Program::new(text);
        }
        for contender in contenders {
            let Contender::Pool { name: pool, .. } = contender else { continue };
            let parameters: Vec<_> = knobs(pool, kind).iter().map(|knob| (knob.name, knob.help)).collect();
            if let Some(text) = open(pool, ':', &parameters) {
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
