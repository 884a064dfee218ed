//! A scheduler as the user names it: the sequential program, one of filch's pools, or a peer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use filch_catalogue::console::store_buffer::{Measured, cache};
use filch_catalogue::protocol::{Description, Order};
use filch_catalogue::values::assignment;
use filch_catalogue::{
    Kind, Knob, PEERS, POOLS, PoolSpec, PoolTuning, QUEUES, QueueSpec, Style, Tuning, Workload, list_queues,
    why_not_for,
};

use crate::error::{Error, Result, usage};
use crate::identity::{Placement, SchedulerId};
use crate::runners::Executable;
use crate::session::{Trouble, describe};

/// A scheduler of programs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scheduler {
    /// The plain sequential program.
    Serial,
    /// One of filch's pools.
    Filch { pool: PoolTuning, style: Style, wait: &'static str },
    /// filch's worklists, on a queue.
    Worklist(Tuning),
    /// A peer.
    Peer(String),
    /// A scheduler that is known only by its runner's description.
    Foreign(Foreign),
}

/// The user's runner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Foreign {
    /// The name that it reports.
    name: String,
    /// What tells it from another runner with this name.
    build: Option<String>,
    path: PathBuf,
    can: Description,
}

impl Foreign {
    /// Asks the runner for its name and description; an error says why that failed.
    pub(crate) fn at(path: &Path) -> std::result::Result<Self, String> {
        /// Enough time to report a name and a description.
        const LIMIT: Duration = Duration::from_secs(10);
        let shown = path.display();
        // A bare name would be looked up in the search path.
        let path = path.canonicalize().map_err(|error| format!("the runner {shown} is not found: {error}"))?;
        let (hello, can) = describe(&path, LIMIT).map_err(|trouble| match trouble {
            Trouble::Broken(why) | Trouble::Refused(why) => format!("the runner {shown}: {why}"),
            Trouble::Interrupted | Trouble::Taker(_) => format!("the runner {shown} was interrupted"),
        })?;
        let named = |name: &String| !name.trim().is_empty() && name.chars().all(|c| !c.is_control());
        let mut name = Some(hello.scheduler).filter(named).unwrap_or_else(|| shown.to_string());
        let ours = ["serial", "filch"].into_iter().chain(PEERS.iter().map(|peer| peer.name));
        if ours.into_iter().any(|known| known == name) {
            name = format!("{name} ({shown})");
        }
        Ok(Self { name, build: None, path, can })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Shows it with this path, since another runner has its name.
    pub(crate) fn is_built_at(&mut self, path: &Path) {
        self.build = Some(path.display().to_string());
    }

    /// Returns the parameters to send for a program, or the reason why the runner cannot run it.
    fn parameters(&self, workload: &Workload) -> std::result::Result<BTreeMap<String, String>, String> {
        let (name, program) = (&self.name, workload.name());
        let Some(found) = self.can.programs.iter().find(|known| known.name == program) else {
            return Err(format!("{name}: does not run {program}"));
        };
        let defaults = Workload::new(program, &[]).map(|default| parameters(&default)).unwrap_or_default();
        let mut sent = parameters(workload);
        let is_known = |parameter: &String| found.parameters.contains(parameter);
        let lost =
            |(parameter, value): &(&String, &String)| !is_known(parameter) && defaults.get(*parameter) != Some(*value);
        if let Some((parameter, value)) = sent.iter().find(lost) {
            return Err(format!("{name}: does not know {parameter} of {program}, which is {value} here"));
        }
        sent.retain(|parameter, _| is_known(parameter));
        Ok(sent)
    }
}

/// The setting that binds workers to processors.
const PIN: &str = "pin";

/// A scheduler, or the reason why it cannot run a program.
pub(crate) type Suited = std::result::Result<Scheduler, String>;

/// The default pool in other styles, listed as pools.
pub(crate) const STYLED: &[(&str, Style, &str)] = &[
    (
        "filch-levels",
        Style::Levels,
        "split with handles of two alternating types, so that the compiler inlines recursion",
    ),
    ("filch-closures", Style::Closures, "split with plain closures instead of handles"),
];

/// Returns the style of a name that is listed as a pool.
fn styled(name: &str) -> Option<Style> {
    STYLED.iter().find(|(styled, ..)| *styled == name).map(|&(_, style, _)| style)
}

/// Returns a pool or queue, its parameters, and its style.
fn parts(name: &str) -> (&str, &str, Style) {
    let (start, rest) = name.split_once(':').unwrap_or((name, ""));
    styled(start).map_or((start, rest, Style::Handles), |style| (POOLS[0].name, rest, style))
}

/// Returns the identity of `serial`, a pool or a queue from its name alone: parameters as they are written.
pub(crate) fn identity(name: &str, wait: &str, placement: Placement) -> SchedulerId {
    if name == "serial" {
        return SchedulerId { placement, ..SchedulerId::named(name) };
    }
    let (start, rest, style) = parts(name);
    let pool = if rest.is_empty() { start.to_owned() } else { format!("{start}:{rest}") };
    SchedulerId {
        pool: Some(pool),
        wait: Some(wait.to_owned()),
        style: Some(style.name().to_owned()),
        placement,
        ..SchedulerId::named("filch")
    }
}

/// Returns the parameters of a pool or queue, such as `lace:steal=half`, for programs of this kind.
pub(crate) fn knobs(name: &str, kind: Kind) -> Vec<Knob> {
    let (pool, ..) = parts(name);
    match kind {
        Kind::ForkJoin => POOLS.iter().find(|spec| spec.name == pool).map(PoolSpec::knobs),
        _ => QUEUES.iter().find(|spec| spec.name == pool).map(QueueSpec::knobs),
    }
    .unwrap_or_default()
}

/// Returns an error for a name that is not in a list.
fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    usage(filch_catalogue::unknown(what, name, known))
}

/// Replaces `bound=measured` in settings by the number, which runners and records then hold.
///
/// It is no default: a measurement cannot exclude that the processor held back half of its buffer for a thread that a
/// virtual machine hides, or that this machine moves to another processor; and if the number is too small, tasks run
/// twice.
fn with_measured(settings: &str, bound: impl Fn() -> std::result::Result<usize, String>) -> Result<String> {
    let is_measured = |text: &str| {
        assignment(text).is_ok_and(|(name, value)| (name.as_str(), value.as_str()) == ("bound", "measured"))
    };
    let replaced = settings.split(':').map(|text| match is_measured(text) {
        true => bound().map(|bound| format!("bound={bound}")).map_err(|why| usage(format!("bound=measured: {why}"))),
        false => Ok(text.to_owned()),
    });
    Ok(replaced.collect::<Result<Vec<_>>>()?.join(":"))
}

/// Returns the bound that this user's measurement permits.
fn measured_bound() -> std::result::Result<usize, String> {
    let folder = cache().ok_or("the user has no cache folder")?;
    Measured::read(&folder).map(|measured| measured.bound())
}

impl Scheduler {
    /// Parses a name of `--pools` for this program; an error if it is unknown.
    pub(crate) fn from_pool(workload: &Workload, name: &str, wait: &'static str) -> Result<Suited> {
        if name == "serial" {
            return Ok(Ok(Self::Serial));
        }
        let name = with_measured(name, measured_bound)?;
        match workload.kind() {
            Kind::ForkJoin => Self::from_fork_join_pool(&name, wait),
            Kind::Worklist | Kind::Jobs | Kind::Queue => Self::from_queue(workload, &name),
            other => Err(usage(format!("{} is a {other} program, which no pool can run", workload.name()))),
        }
    }

    /// Parses `serial`, a pool, or the default pool in another style.
    fn from_fork_join_pool(name: &str, wait: &'static str) -> Result<Suited> {
        let (start, rest, style) = parts(name);
        match (POOLS.iter().find(|pool| pool.name == start), QUEUES.iter().find(|queue| queue.name == start)) {
            (Some(pool), _) => match PoolTuning::parse(pool.name, rest) {
                Ok(pool) => Ok(Ok(Self::Filch { pool, style, wait })),
                Err(why) => Err(usage(why)),
            },
            (None, Some(queue)) => Ok(Err(format!("{}: runs only worklists, not fork–join programs", queue.name))),
            (None, None) => {
                let names = POOLS.iter().map(|pool| pool.name).chain(["serial"]).chain(STYLED.iter().map(|row| row.0));
                Err(unknown("pool", name, &names.collect::<Vec<_>>()))
            }
        }
    }

    /// Parses a queue, optionally with parameters, as in `bwos-l:block=64`.
    fn from_queue(workload: &Workload, name: &str) -> Result<Suited> {
        let (start, rest) = name.split_once(':').unwrap_or((name, ""));
        let is_pool = styled(start).is_some() || POOLS.iter().any(|pool| pool.name == start);
        match QUEUES.iter().find(|queue| queue.name == start) {
            Some(queue) => match why_not_for(queue, workload.is_idempotent()) {
                Some(why) => Ok(Err(format!("{}: {why}", queue.name))),
                None => match Tuning::parse(queue.name, rest) {
                    Ok(tuning) => Ok(Ok(Self::Worklist(tuning))),
                    // It is valid for other programs of the same comparison.
                    Err(why) if PoolTuning::parse(queue.name, rest).is_ok() => Ok(Err(why)),
                    Err(why) => Err(usage(why)),
                },
            },
            None if is_pool => Ok(Err(format!(
                "{start}: runs only fork–join programs, but {} is a {} program",
                workload.name(),
                workload.kind()
            ))),
            None => {
                let names: Vec<&str> = list_queues().into_iter().chain(["serial"]).collect();
                Err(unknown("queue for worklists", start, &names))
            }
        }
    }

    /// Parses a name of `--peers` for this program; an error if the name is unknown.
    pub(crate) fn from_peer(workload: &Workload, name: &str) -> Result<Suited> {
        match (PEERS.iter().find(|peer| peer.name == name), workload.kind()) {
            (Some(peer), Kind::ForkJoin) => {
                Ok(peer.why_not(workload.name()).map_or_else(|| Ok(Self::Peer(name.to_owned())), Err))
            }
            (Some(_), other) => Ok(Err(format!("{name}: does not run {other} programs"))),
            (None, _) => Err(unknown("peer", name, &PEERS.iter().map(|peer| peer.name).collect::<Vec<_>>())),
        }
    }

    /// Returns the user's runner, for this program.
    pub(crate) fn from_runner(workload: &Workload, foreign: &Foreign) -> Suited {
        foreign.parameters(workload)?;
        Ok(Self::Foreign(foreign.clone()))
    }

    /// Returns the reason why the scheduler cannot run with this many workers, if it reports a limit.
    pub(crate) fn why_not_with(&self, workers: usize) -> Option<String> {
        let Self::Foreign(Foreign { name, can, .. }) = self else { return None };
        let most = can.most_workers.filter(|&most| workers > most)?;
        Some(format!("{name}: cannot run with {workers} workers, only with up to {most}"))
    }

    /// Whether its answers are still to be checked.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_))
    }

    /// Returns the program that runs this scheduler.
    pub(crate) fn runner(&self) -> Executable {
        match self {
            Self::Serial => Executable::runner("serial"),
            Self::Filch { pool, .. } => Executable::runner(pool.pool()),
            Self::Worklist(tuning) => Executable::runner(tuning.queue()),
            Self::Peer(name) => Executable::of_peer(name),
            Self::Foreign(foreign) => Executable::At(foreign.path.clone()),
        }
    }

    /// Returns the request to the runner.
    pub(crate) fn order(&self, workload: &Workload, workers: usize, placement: Placement) -> Order {
        let mut settings = BTreeMap::new();
        match self {
            Self::Filch { pool, style, wait } => {
                settings.extend(pool.set().iter().cloned());
                settings.insert("style".to_owned(), style.name().to_owned());
                settings.insert("wait".to_owned(), (*wait).to_owned());
            }
            Self::Worklist(tuning) => settings.extend(tuning.set().iter().cloned()),
            Self::Serial | Self::Peer(_) | Self::Foreign(_) => {}
        }
        if placement == Placement::Pinned {
            settings.insert(PIN.to_owned(), "true".to_owned());
        }
        Order {
            program: workload.name().to_owned(),
            parameters: self.parameters(workload),
            workers,
            settings,
            ..Order::default()
        }
    }

    /// Returns the parameters of a program to send to the runner.
    pub(crate) fn parameters(&self, workload: &Workload) -> BTreeMap<String, String> {
        match self {
            Self::Foreign(foreign) => foreign.parameters(workload).unwrap_or_default(),
            _ => parameters(workload),
        }
    }

    /// Whether its workers can be bound to processors.
    pub(crate) fn can_be_pinned(&self) -> bool {
        match self {
            Self::Serial | Self::Filch { .. } | Self::Worklist(_) => true,
            Self::Peer(_) => false,
            Self::Foreign(foreign) => foreign.can.settings.contains_key(PIN),
        }
    }

    /// Returns the identity for records, with this placement.
    pub(crate) fn identity(&self, placement: Placement) -> SchedulerId {
        let plain = match self {
            Self::Serial => SchedulerId::named("serial"),
            Self::Filch { pool, style, wait } => SchedulerId {
                pool: Some(pool.to_string()),
                wait: Some((*wait).to_owned()),
                style: Some(style.name().to_owned()),
                ..SchedulerId::named("filch")
            },
            Self::Worklist(tuning) => SchedulerId { pool: Some(tuning.to_string()), ..SchedulerId::named("filch") },
            Self::Peer(name) => SchedulerId::named(name),
            Self::Foreign(foreign) => SchedulerId { build: foreign.build.clone(), ..SchedulerId::named(&foreign.name) },
        };
        SchedulerId { placement, ..plain }
    }
}

/// Returns all parameters that have a value.
fn parameters(workload: &Workload) -> BTreeMap<String, String> {
    let set = workload.params().into_iter().filter(|(_, value)| !value.is_empty());
    set.map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_bound_becomes_its_number() {
        let with = |settings| with_measured(settings, || Ok(73)).expect(settings);
        assert_eq!(with("thep:bound=measured:stores=8"), "thep:bound=73:stores=8");
        assert_eq!(with("ff-cl: bound = measured "), "ff-cl:bound=73");
        for kept in ["split", "thep:bound=33", "thep:delta=infinite", "thep:bound", "thep:bound=measured2"] {
            assert_eq!(with_measured(kept, || unreachable!("{kept}")).expect(kept), kept);
        }
        let Err(Error::Usage(why)) = with_measured("thep:bound=measured", || Err("never".to_owned())) else {
            panic!("not refused");
        };
        assert_eq!(why, "bound=measured: never");
    }
}
