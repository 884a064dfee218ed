//! filch's own schedulers: pools, and worklists and jobs on queues.

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::schedulers::{
    Common, DEFAULT_POOL, END, ForPool, ForQueue, PoolOptions, Tunable, list_knobs, parts, worklist,
};
use filch::pool::{Pool, QueueSettings, Queued, Split};
use filch::{Builder, ThreadPool};
use filch_catalogue::{Knob, LIST_KNOBS, POOL_KNOBS, PoolTuning, Style, Tuning, with_common};
use filch_queue::{Queue, StealMany, Task};
use filch_workloads::{Executor, FilchClosures, InLevels, Kind, Spec};

use crate::contender::{self, Pooled};
use crate::counting::{self, Threads};
use crate::one_queue::one_queue;
use crate::{Contender, Job, Scheduler, serve};

type Started = Result<Box<dyn Contender>, String>;
type Built<P> = Result<(ThreadPool<P>, Threads), String>;

type StartPool = fn(Style, &PoolTuning, PoolOptions) -> Started;
type StartList = fn(&Tuning, usize, Kind, bool) -> Started;
type StartQueue = fn(&Tuning, usize, bool) -> Started;

/// A scheduler of filch, by name: see [`filch`](fn@filch).
#[derive(Debug)]
pub struct OfFilch {
    name: &'static str,
    /// How to start the pool, and its settings.
    pool: Option<(StartPool, Vec<Knob>)>,
    /// The pool's default settings.
    defaults: &'static str,
    /// How to start the worklist, and the queue by itself, and the settings of the queue.
    list: Option<(StartList, StartQueue, Vec<Knob>)>,
}

/// Returns the scheduler of this name, without a [pool](OfFilch::pool) and without [worklists](OfFilch::once).
///
/// ```
/// use filch_queue::Lace;
/// use filch_runner::{Job, Scheduler};
/// use filch_workloads::{Prepare, Workload};
///
/// let lace = filch_runner::filch("lace").pool_of_many::<Lace>().many::<Lace>();
/// let fib = Workload::new("fib", &[("n".into(), "15".into())]).unwrap();
/// let settings = [("wait".to_owned(), "random".to_owned()), ("steal".to_owned(), "half".to_owned())].into();
/// let started = lace.start(&Job { workload: &fib, workers: 2, settings: &settings, stack_bytes: 1 << 20 })?;
/// assert_eq!(started.run(&mut fib.prepare().unwrap())?.to_string(), "610");
/// # Ok::<(), String>(())
/// ```
pub fn filch(name: &'static str) -> OfFilch {
    OfFilch { name, pool: None, defaults: "", list: None }
}

impl OfFilch {
    /// Runs fork–join programs on this pool.
    pub fn pool<P: Pool<Settings: Tunable>>(self) -> Self {
        let start =
            |style, tuning: &PoolTuning, settings| in_handles::<P>(style, || build(tuning, settings, |own| own));
        self.pools::<P>(start, false)
    }

    /// Runs fork–join programs on the pool on this queue, whose thieves can steal several tasks at once.
    pub fn pool_of_many<Q: Queue<Params: Tunable, Thief: StealMany<Task>>>(self) -> Self {
        let start = |style, tuning: &PoolTuning, settings| {
            let haul = tuning.tuning().haul()?;
            let looting = |own: QueueSettings<Q>| match haul {
                Some(haul) => own.loot(haul),
                None => own,
            };
            in_handles::<Queued<Q>>(style, || build(tuning, settings, looting))
        };
        self.pools::<Queued<Q>>(start, true)
    }

    /// Gives the pool's parameters these defaults.
    #[must_use]
    pub fn by_default(self, defaults: &'static str) -> Self {
        Self { defaults, ..self }
    }

    fn pools<P: Pool<Settings: Tunable>>(self, start: StartPool, many: bool) -> Self {
        let knobs = [with_common(&P::Settings::knobs(), many), POOL_KNOBS.to_vec()].concat();
        Self { pool: Some((start, knobs)), ..self }
    }

    /// Runs fork–join programs on the default pool, in every style.
    // Inline: the programs are compiled on this pool only for the one runner that asks for it.
    #[inline]
    pub fn default_pool(self) -> Self {
        let start = |style, tuning: &PoolTuning, settings| {
            let (pool, threads) = build::<Split>(tuning, settings, |own| own)?;
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
        self.pools::<Split>(start, false)
    }

    /// Runs worklists and jobs on this queue, whose thieves steal one task at a time.
    pub fn once<Q: Queue<Params: Tunable>>(self) -> Self {
        let start = |tuning: &Tuning, workers, kind, pin| {
            contender::exactly_once(worklist::<Q>(tuning, workers)?, parts(tuning)?, kind, pin)
        };
        self.lists::<Q>(start, false)
    }

    /// Like [`OfFilch::once`], for thieves that can steal several tasks.
    pub fn many<Q: Queue<Params: Tunable, Thief: StealMany<Task>>>(self) -> Self {
        let start = |tuning: &Tuning, workers, kind, pin| {
            let list = worklist::<Q>(tuning, workers)?;
            let list = match tuning.haul()? {
                Some(haul) => list.loot(haul),
                None => list,
            };
            contender::exactly_once(list, parts(tuning)?, kind, pin)
        };
        self.lists::<Q>(start, true)
    }

    /// Runs worklists whose tasks may run twice on this queue, which may return a task twice.
    pub fn twice<Q: Queue<Params: Tunable>>(self) -> Self {
        let start = |tuning: &Tuning, workers, kind, pin| match kind {
            Kind::Worklist => contender::at_least_once(worklist::<Q>(tuning, workers)?, pin),
            _ => Err("the queue may return a task twice, but a job must run once".to_owned()),
        };
        self.lists::<Q>(start, false)
    }

    fn start_pool(&self, job: &Job<'_>) -> Started {
        let none = || format!("{}: runs only worklists, not fork–join programs", self.name);
        let (start, knobs) = self.pool.as_ref().ok_or_else(none)?;
        let (style, rest, settings) = settings_of(job)?;
        let tuning = PoolTuning::of(self.name, &assignments(rest.iter()), knobs)?.by_default(self.defaults);
        start(style, &tuning, settings)
    }

    fn lists<Q: Queue<Params: Tunable>>(self, start: StartList, many: bool) -> Self {
        let knobs = [with_common(&list_knobs::<Q>(), many), LIST_KNOBS.to_vec()].concat();
        Self { list: Some((start, one_queue::<Q>, knobs)), ..self }
    }

    /// Answers a driver until it is done.
    pub fn serve(self) -> ExitCode {
        serve(&self)
    }
}

/// Builds a pool with its settings, `also` included.
fn build<P: Pool<Settings: Tunable>>(
    tuning: &PoolTuning,
    settings: PoolOptions,
    also: impl FnOnce(P::Settings) -> P::Settings,
) -> Built<P> {
    let (own, settings) = tuning.apply::<P::Settings>(settings)?;
    let PoolOptions { workers, wait, leaps, pin, caller_works, interrupts, common, .. } = settings;
    let Common { capacity, victims, idle, on_loss } = common;
    let builder = Builder::<P>::new().workers(workers).wait(wait).leaps(leaps).pin(pin);
    let builder = builder.victims(victims).idle(idle).on_loss(on_loss);
    // A thread that counts is a worker's own.
    let caller_works = caller_works && !pin && !cfg!(feature = "count");
    let builder = builder.settings(also(own)).caller_works(caller_works);
    let builder = match interrupts {
        Some(interrupts) => builder.interrupts(interrupts),
        None => builder,
    };
    let builder = match capacity {
        Some(capacity) => builder.task_capacity(capacity),
        None => builder,
    };
    let threads = Threads::default();
    #[cfg(feature = "count")]
    let builder = {
        let threads = threads.clone();
        builder.on_start(move |worker| threads.enter(worker))
    };
    Ok((builder.build().map_err(|error| format!("{}: {error}", tuning.pool()))?, threads))
}

fn in_handles<P: Pool>(style: Style, build: impl FnOnce() -> Built<P>) -> Started {
    match style {
        Style::Handles => {
            let (pool, threads) = build()?;
            Ok(Pooled::boxed(pool, threads, Executor::execute))
        }
        other => Err(format!("style `{}` works only on the pool `{DEFAULT_POOL}`", other.name())),
    }
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
        if let Some((_, knobs)) = &self.pool {
            add("style", "how forks reach the pool: handles, levels or closures");
            add("wait", "what a worker does while its task is stolen");
            knobs.iter().for_each(|knob| add(knob.name, knob.help));
        }
        for knob in self.list.iter().flat_map(|(.., knobs)| knobs) {
            add(knob.name, knob.help);
        }
        all
    }

    fn start(&self, job: &Job<'_>) -> Started {
        let kind = job.workload.kind();
        if kind == Kind::ForkJoin {
            return self.start_pool(job);
        }
        let (list, queue, knobs) =
            self.list.as_ref().ok_or_else(|| format!("{}: runs only fork–join programs", self.name))?;
        if job.workers == 0 {
            return Err(format!("{}: needs at least one worker", self.name));
        }
        let pin = job.settings.get(PIN).map_or(Ok(false), |value| pin_of(value))?;
        let rest = job.settings.iter().filter(|(name, _)| *name != PIN);
        let tuning = Tuning::of(self.name, &assignments(rest), knobs)?;
        if kind == Kind::Queue {
            return queue(&tuning, job.workers, pin);
        }
        if kind == Kind::Jobs && tuning.set().iter().any(|(name, _)| name == END) {
            return Err(format!("{}: {END} is for worklists: jobs end with the job that made them", self.name));
        }
        list(&tuning, job.workers, kind, pin)
    }
}

const PIN: &str = "pin";

fn pin_of(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("pin: `{value}` is not one of true, false"))
}

/// Formats settings as they follow a name.
fn assignments<'s>(settings: impl Iterator<Item = (&'s String, &'s String)>) -> String {
    settings.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(":")
}

/// Splits a job's settings: how forks reach the pool, the pool's own settings, and those of its workers.
fn settings_of(job: &Job<'_>) -> Result<(Style, BTreeMap<String, String>, PoolOptions), String> {
    let (mut style, mut settings) = (Style::Handles, PoolOptions::of(job.workers));
    let mut rest = BTreeMap::new();
    for (name, value) in job.settings {
        match name.as_str() {
            "style" => style = value.parse()?,
            "wait" => settings.wait = value.parse().map_err(|error: ::filch::UnknownWait| error.to_string())?,
            PIN => settings.pin = pin_of(value)?,
            _ => _ = rest.insert(name.clone(), value.clone()),
        }
    }
    Ok((style, rest, settings))
}
