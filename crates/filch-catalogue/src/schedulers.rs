//! Queues, pools and waiting strategies. The rows come from the types in `filch-runner`; a test of that crate
//! compares them with `described.jsonl`, and writes it (`FILCH_BLESS=1 cargo test -p filch-runner --test described`).

use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::names::unknown;
use crate::values::{Knob, Takes};

/// The capacity in tasks.
const CAPACITY: Knob =
    Knob::new("capacity", "tasks that a queue can hold, initially or at most", Takes::Number(1, 1 << 20));

/// The parameter of queues whose thieves can steal several tasks at once.
pub const STEAL: &str = "steal";

/// Its meaning.
pub const STEAL_HELP: &str = "how much a thief takes: one, half, all, all-but-one or a number";

/// The parameter of queues that have `steal`: the order of what a thief takes.
const FIRST: Knob = Knob::new(
    "first",
    "which of several stolen tasks their thief runs first: newest, as in Lace's paper, or oldest, as in WSQ's source",
    Takes::Words(std::borrow::Cow::Borrowed("newest, oldest")),
);

/// The parameters of every queue and pool.
pub const COMMON: &[Knob] = &[
    CAPACITY,
    Knob::new(
        "victims",
        "which victim a thief tries first: random, last (its last successful one) next (by number) or near (its last-level cache, its memory node, then the others; with pinned workers); or one: no other than a random one",
        Takes::Words(std::borrow::Cow::Borrowed("random, last, next, one, near")),
    ),
    Knob::new(
        "idle",
        "what a worker without work does: sleep, or spin: never sleep",
        Takes::Words(std::borrow::Cow::Borrowed("sleep, spin")),
    ),
    Knob::new(
        "loss",
        "what a thief does after it lost a race for a task: try-again, or give-up: it tries another victim, as in Lace's and Wool's papers",
        Takes::Words(std::borrow::Cow::Borrowed("try-again, give-up")),
    ),
];

/// The largest number of failed leaps that can be asked for.
pub const MOST_LEAPS: usize = 1 << 20;

/// For as many as have proved right.
pub const ADAPTIVE: &str = "adaptive";

/// The parameters of every pool, which queues for worklists do not have.
pub const POOL_KNOBS: &[Knob] = &[
    Knob::new(
        "interrupts",
        "how long tasks are interrupted to answer thieves: off, by a clock (flag or signal), or by thieves, which signal to the worker that they ask",
        Takes::Words(std::borrow::Cow::Borrowed("off, flag, signal, thieves")),
    ),
    Knob::new("every", "the time between two interrupts, of all workers or by one thief, such as 200us", Takes::Period),
    Knob::new(
        "ticks",
        "when the clock ticks: asked (while a thief waits) or always, as the paper's clock",
        Takes::Words(std::borrow::Cow::Borrowed("asked, always")),
    ),
    Knob::new(
        "leaps",
        "failed leaps after which a waiting worker looks further: 1 as in Lace's paper, adaptive as in Wool; by default 32, as in Lace's program today, or 1 if transitive",
        Takes::NumberOr(1, MOST_LEAPS, std::borrow::Cow::Borrowed(ADAPTIVE)),
    ),
    Knob::new(
        "caller",
        "what the thread that starts a program does: works, in the place of a sleeping worker, unless workers are pinned; or waits for the workers",
        Takes::Words(std::borrow::Cow::Borrowed("works, waits")),
    ),
];

/// The parameters of every queue for worklists and jobs, which pools do not have.
pub const LIST_KNOBS: &[Knob] = &[Knob::new(
    "parts",
    "how jobs (not tasks of worklists) count their unfinished parts: together, or one-by-one, as in WSQ's source where jobs have parents",
    Takes::Words(std::borrow::Cow::Borrowed("together, one-by-one")),
)];

/// Returns the own parameters, the common ones, and `steal` and `first` if thieves can take several tasks.
pub fn with_common(own: &[Knob], many: bool) -> Vec<Knob> {
    let (steal, own): (Vec<Knob>, Vec<Knob>) = own.iter().cloned().partition(|knob| knob.name == STEAL);
    let steal = match (many, steal.is_empty()) {
        (true, true) => vec![Knob::new(STEAL, STEAL_HELP, Takes::OneOrHalf)],
        _ => steal,
    };
    let first = if steal.is_empty() { vec![] } else { vec![FIRST] };
    [&own, COMMON, &steal, &first].concat()
}

/// How worklists can use a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lists {
    /// The queue returns each task once.
    Once,
    /// The queue returns each task once, and a thief can take several at a time.
    Many,
    /// The queue may return a task twice.
    Twice,
}

/// The description of a queue: its guarantees in a few words, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSpec {
    /// Its name in commands.
    pub name: &'static str,
    /// How worklists can use the queue.
    pub lists: Lists,
    /// The tasks that thieves can take.
    pub stealable: &'static str,
    /// The progress guarantee of a steal.
    pub progress: &'static str,
    /// What happens if it is full.
    pub capacity: &'static str,
    /// The memory model that it needs.
    pub memory: &'static str,
    /// The paper that it comes from.
    pub paper: &'static str,
    /// The figure, listing or section of the paper that it follows.
    pub follows: &'static str,
    /// The points in which it departs from that.
    pub departures: Vec<&'static str>,
    /// Its own parameters.
    pub own: Vec<Knob>,
}

impl QueueSpec {
    /// Returns all parameters.
    ///
    /// ```
    /// use filch_catalogue::QUEUES;
    ///
    /// let queue = QUEUES.iter().find(|queue| queue.name == "pdq-s-told").unwrap();
    /// assert!(queue.knobs().iter().any(|knob| knob.name == "delta"));
    /// ```
    pub fn knobs(&self) -> Vec<Knob> {
        [with_common(&self.own, self.lists == Lists::Many), LIST_KNOBS.to_vec()].concat()
    }
}

/// The description of a pool.
///
/// ```
/// use filch_catalogue::POOLS;
///
/// assert_eq!(POOLS[0].name, "split");
/// let private: Vec<_> = POOLS.iter().filter(|pool| pool.stealable == "on request").map(|pool| pool.name).collect();
/// assert!(private.contains(&"pdq-r-async"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolSpec {
    /// Its name in commands.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The paper that it comes from.
    pub paper: &'static str,
    /// The figure, listing or section of the paper that it follows.
    pub follows: &'static str,
    /// The points in which it departs from that.
    pub departures: Vec<&'static str>,
    /// The progress guarantees.
    pub progress: &'static str,
    /// What happens to a task that does not fit.
    pub capacity: &'static str,
    /// The tasks that thieves can take.
    pub stealable: &'static str,
    /// The memory model that it needs.
    pub memory: &'static str,
    /// Its default settings, each as `NAME=VALUE`, separated by colons.
    pub defaults: &'static str,
    /// Whether a thief can take several tasks at a time.
    pub many: bool,
    /// Its own parameters.
    pub own: Vec<Knob>,
}

impl PoolSpec {
    /// Returns all parameters.
    ///
    /// ```
    /// use filch_catalogue::POOLS;
    ///
    /// let wool = POOLS.iter().find(|pool| pool.name == "wool").unwrap();
    /// assert!(wool.knobs().iter().any(|knob| knob.name == "chunk"));
    /// ```
    pub fn knobs(&self) -> Vec<Knob> {
        [with_common(&self.own, self.many), POOL_KNOBS.to_vec()].concat()
    }
}

/// A strategy for waiting while a thief has the needed task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitSpec {
    /// Its name in commands.
    pub name: &'static str,
    /// Its meaning.
    pub help: &'static str,
}

/// The memory model of queues and pools that need bounded store buffers; they exist only on x86-64.
pub const BOUNDED_TSO: &str = "bounded TSO";

/// What pools say that are right with one worker only.
pub const ONE_WORKER: &str = "one worker";

/// A line of `described.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", bound(deserialize = "'de: 'static"))]
pub enum Described {
    /// A queue.
    Queue(QueueSpec),
    /// A pool.
    Pool(PoolSpec),
    /// A waiting strategy.
    Wait(WaitSpec),
}

static DESCRIBED: LazyLock<Vec<Described>> = LazyLock::new(|| {
    let lines = include_str!("described.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("a test writes these lines")).collect()
});

fn rows<T: Clone>(of: impl Fn(&Described) -> Option<&T>) -> Vec<T> {
    DESCRIBED.iter().filter_map(of).cloned().collect()
}

fn is_here(memory: &str) -> bool {
    memory != BOUNDED_TSO || cfg!(target_arch = "x86_64")
}

/// All queues.
pub static QUEUES: LazyLock<Vec<QueueSpec>> = LazyLock::new(|| {
    rows(|row| match row {
        Described::Queue(queue) if is_here(queue.memory) => Some(queue),
        _ => None,
    })
});

/// All pools; the first is the default.
pub static POOLS: LazyLock<Vec<PoolSpec>> = LazyLock::new(|| {
    rows(|row| match row {
        Described::Pool(pool) if is_here(pool.memory) => Some(pool),
        _ => None,
    })
});

/// All waiting strategies, the default first.
pub static WAITS: LazyLock<Vec<WaitSpec>> = LazyLock::new(|| {
    rows(|row| match row {
        Described::Wait(wait) => Some(wait),
        _ => None,
    })
});

/// Returns the strategy of this name; without a name, the library's default.
///
/// ```
/// assert_eq!(filch_catalogue::wait(None), Ok("leapfrog-random"));
/// assert!(filch_catalogue::wait(Some("leapfog")).unwrap_err().contains("did you mean `leapfrog`"));
/// ```
///
/// # Errors
/// A sentence, if the name is unknown.
pub fn wait(name: Option<&str>) -> Result<&'static str, String> {
    let Some(name) = name else { return Ok(WAITS[0].name) };
    let names: Vec<&'static str> = WAITS.iter().map(|wait| wait.name).collect();
    let found = names.iter().find(|&&known| known == name).copied();
    found.ok_or_else(|| unknown("waiting strategy", name, &names))
}

/// The queues that worklists can use, for messages: all.
pub fn list_queues() -> Vec<&'static str> {
    QUEUES.iter().map(|queue| queue.name).collect()
}

/// The reason why a queue cannot hold the tasks of a worklist program, if it cannot.
///
/// ```
/// use filch_catalogue::{QUEUES, why_not_for};
///
/// let queue = |name: &str| QUEUES.iter().find(|queue| queue.name == name).unwrap();
/// assert!(why_not_for(queue("idem-lifo"), false).is_some() && why_not_for(queue("idem-lifo"), true).is_none());
/// ```
pub fn why_not_for(queue: &QueueSpec, is_idempotent: bool) -> Option<&'static str> {
    (queue.lists == Lists::Twice && !is_idempotent)
        .then_some("not for this program: the queue may return a task twice, but each task must run once")
}

/// How a program's forks reach the pool.
///
/// ```
/// assert_eq!(filch_catalogue::Style::Handles.name(), "handles");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Each task receives a worker handle.
    Handles,
    /// Handles whose types distinguish levels of the recursion, so that the compiler inlines it: see
    /// `filch_workloads::InLevels`.
    Levels,
    /// Plain closures; the worker is found in thread-local storage.
    Closures,
}

impl Style {
    /// All styles.
    pub const EVERY: [Self; 3] = [Self::Handles, Self::Levels, Self::Closures];

    /// A one-line description.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Handles => "each task receives a worker handle",
            Self::Levels => "handles whose types distinguish levels of the recursion, so that the compiler inlines it",
            Self::Closures => "plain closures; the worker is found in thread-local storage",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Handles => "handles",
            Self::Levels => "levels",
            Self::Closures => "closures",
        }
    }
}

impl FromStr for Style {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::EVERY.map(Self::name);
        Self::EVERY.into_iter().find(|style| style.name() == name).ok_or_else(|| unknown("style", name, &names))
    }
}
