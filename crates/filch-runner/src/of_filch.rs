//! filch's own schedulers: pools, and worklists and jobs on queues.

use std::collections::BTreeMap;
use std::process::ExitCode;

use filch::pool::{Pool, Split};
use filch::{Builder, ThreadPool};
use filch_queue::{Queue, StealMany, Task};
use filch_schedulers::{
    CAPACITY, Knob, POOL_KNOBS, POOLS, PoolTuning, STEAL, Settings, Style, Tunable, Tuning, worklist,
};
use filch_workloads::{Executor, FilchClosures, InLevels, Kind, Spec};

use crate::contender::{self, Pooled};
use crate::counting::{self, Threads};
use crate::{Contender, Job, Scheduler, serve};

/// The name of the default pool. Not the table: a runner is the same whatever other pools there are.
const DEFAULT: &str = POOLS[0].name;

type Started = Result<Box<dyn Contender>, String>;

type StartPool = fn(Style, &Settings) -> Started;
type StartList = fn(&Tuning, usize, Kind, bool) -> Started;

/// A scheduler of filch, by its name: see [`filch`](fn@filch).
#[derive(Debug)]
pub struct OfFilch {
    name: &'static str,
    pool: Option<StartPool>,
    /// And what can be set of the queue.
    list: Option<(StartList, Vec<Knob>)>,
}

/// The scheduler of this name, which has no [pool](OfFilch::pool) and runs no [worklists](OfFilch::once) yet.
///
/// ```
/// use filch::pool::Queued;
/// use filch_queue::Lace;
/// use filch_runner::{Job, Scheduler};
/// use filch_workloads::Workload;
///
/// let lace = filch_runner::filch("lace").pool::<Queued<Lace>>().many::<Lace>();
/// let fib = Workload::new("fib", &[("n".into(), "15".into())]).unwrap();
/// let settings = [("wait".to_owned(), "leapfrog".to_owned())].into();
/// let started = lace.start(&Job { workload: &fib, workers: 2, settings: &settings, stack_bytes: 1 << 20 })?;
/// assert_eq!(started.run(&mut fib.prepare().unwrap())?.to_string(), "610");
/// # Ok::<(), String>(())
/// ```
pub fn filch(name: &'static str) -> OfFilch {
    OfFilch { name, pool: None, list: None }
}

impl OfFilch {
    /// It runs fork–join programs on this pool.
    pub fn pool<P: Pool>(self) -> Self {
        let start = |style, settings: &Settings| match style {
            Style::Handles => {
                let (pool, threads) = build::<P>(settings)?;
                Ok(Pooled::boxed(pool, threads, Executor::execute))
            }
            other => Err(format!("style `{}` is for the pool `{DEFAULT}` only", other.name())),
        };
        Self { pool: Some(start), ..self }
    }

    /// It runs fork–join programs on the default pool, in every style.
    pub fn default_pool(self) -> Self {
        let start = |style, settings: &Settings| {
            let (pool, threads) = build::<Split>(settings)?;
            Ok(Pooled::boxed(
                pool,
                threads,
                match style {
                    Style::Handles => Executor::execute,
                    Style::Levels => |pool, program| InLevels(pool).execute(program),
                    Style::Closures => |pool, program| pool.install(|| FilchClosures.execute(program)),
                },
            ))
        };
        Self { pool: Some(start), ..self }
    }

    /// It runs worklists and jobs on this queue, whose thieves take one task at a time.
    pub fn once<Q: Queue<Params: Tunable>>(self) -> Self {
        let start =
            |tuning: &Tuning, workers, kind, pin| contender::exactly_once(worklist::<Q>(tuning, workers)?, kind, pin);
        self.lists::<Q>(start, &[CAPACITY])
    }

    /// As [`OfFilch::once`], with thieves that can take many.
    pub fn many<Q: Queue<Params: Tunable, Thief: StealMany<Task>>>(self) -> Self {
        let start = |tuning: &Tuning, workers, kind, pin| {
            let list = worklist::<Q>(tuning, workers)?;
            let list = if tuning.steals_many() { list.loot(usize::MAX) } else { list };
            contender::exactly_once(list, kind, pin)
        };
        self.lists::<Q>(start, &[CAPACITY, STEAL])
    }

    /// It runs worklists whose tasks may be run twice on this queue, which may return one twice.
    pub fn twice<Q: Queue<Params: Tunable>>(self) -> Self {
        let start = |tuning: &Tuning, workers, kind, pin| match kind {
            Kind::Worklist => contender::at_least_once(worklist::<Q>(tuning, workers)?, pin),
            _ => Err("a task may be returned twice, and a job must not be run twice".to_owned()),
        };
        self.lists::<Q>(start, &[CAPACITY])
    }

    fn lists<Q: Queue<Params: Tunable>>(self, start: StartList, more: &[Knob]) -> Self {
        let knobs = [<Q::Params as Tunable>::KNOBS, more].concat();
        Self { list: Some((start, knobs)), ..self }
    }

    /// Answers a driver until it has enough.
    pub fn serve(self) -> ExitCode {
        serve(&self)
    }
}

fn build<P: Pool>(settings: &Settings) -> Result<(ThreadPool<P>, Threads), String> {
    // As with every peer, the program runs on the workers' own threads.
    let builder =
        Builder::<P>::new().workers(settings.workers).wait(settings.wait).pin(settings.pin).caller_works(false);
    let builder = match settings.interrupts {
        Some(interrupts) => builder.interrupts(interrupts),
        None => builder,
    };
    let threads = Threads::default();
    #[cfg(feature = "count")]
    let builder = {
        let threads = threads.clone();
        builder.on_start(move |worker| threads.enter(worker))
    };
    Ok((builder.build().map_err(|error| error.to_string())?, threads))
}

impl Scheduler for OfFilch {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        counting::version(env!("CARGO_PKG_VERSION"))
    }

    fn runs(&self, program: &Spec) -> bool {
        match program.kind() {
            Kind::ForkJoin => self.pool.is_some(),
            _ => self.list.is_some(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut add = |name: &str, help: &str| _ = all.insert(name.to_owned(), help.to_owned());
        add(PIN, "bind workers to processors: true or false");
        if self.pool.is_some() {
            add("style", "how forks reach the pool: handles, levels or closures");
            add("wait", "what a worker does while its task is stolen");
            POOL_KNOBS.iter().for_each(|knob| add(knob.name, knob.help));
        }
        for knob in self.list.iter().flat_map(|(_, knobs)| knobs) {
            add(knob.name, knob.help);
        }
        all
    }

    fn start(&self, job: &Job<'_>) -> Started {
        let kind = job.workload.kind();
        if kind == Kind::ForkJoin {
            let start = self.pool.ok_or_else(|| format!("{}: not for fork–join, only for worklists", self.name))?;
            let (style, settings) = settings_of(self.name, job)?;
            return start(style, &settings);
        }
        let (start, knobs) = self.list.as_ref().ok_or_else(|| format!("{}: only for fork–join", self.name))?;
        if job.workers == 0 {
            return Err(format!("{}: there must be at least one worker", self.name));
        }
        let pin = job.settings.get(PIN).map_or(Ok(false), |value| pin_of(value))?;
        let rest = job.settings.iter().filter(|(name, _)| *name != PIN);
        start(&Tuning::of(self.name, &assignments(rest), knobs)?, job.workers, kind, pin)
    }
}

const PIN: &str = "pin";

fn pin_of(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("pin: `{value}` is not one of true, false"))
}

/// What is set, as it stands behind a name.
fn assignments<'s>(settings: impl Iterator<Item = (&'s String, &'s String)>) -> String {
    settings.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(":")
}

fn settings_of(name: &'static str, job: &Job<'_>) -> Result<(Style, Settings), String> {
    let (mut style, mut settings) = (Style::Handles, Settings::of(job.workers));
    let mut rest = BTreeMap::new();
    for (name, value) in job.settings {
        match name.as_str() {
            "style" => style = value.parse()?,
            "wait" => settings.wait = value.parse().map_err(|error: ::filch::UnknownWait| error.to_string())?,
            PIN => settings.pin = pin_of(value)?,
            _ => _ = rest.insert(name.clone(), value.clone()),
        }
    }
    settings.interrupts = PoolTuning::parse(name, &assignments(rest.iter()))?.interrupts();
    Ok((style, settings))
}
