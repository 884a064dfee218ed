//! Queues, pools, and how workers wait: what `filch-schedulers` says of their types, which a test of that crate compares and writes down
//! in `queues.jsonl`, `pools.jsonl` and `waits.jsonl` (`FILCH_BLESS=1 cargo test -p filch-schedulers --test described`).

use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::names::unknown;
use crate::values::{Knob, Takes};

/// How many tasks there is room for.
const CAPACITY: Knob =
    Knob::new("capacity", "tasks that a queue has room for at first, or at all", Takes::Number(1, 1 << 20));

/// Of queues from which several tasks can be stolen at once.
pub const STEAL: &str = "steal";

/// What it means.
pub const STEAL_HELP: &str = "what a thief takes: one, half, all, all-but-one or a number";

/// The parameters of every queue and pool.
pub const COMMON: &[Knob] = &[
    CAPACITY,
    Knob::new(
        "victims",
        "whom thieves try first: random, last (whom they last stole from) or next (by number)",
        Takes::Words(std::borrow::Cow::Borrowed("random, last, next")),
    ),
    Knob::new(
        "idle",
        "what workers do without work: sleep, or spin: never sleep",
        Takes::Words(std::borrow::Cow::Borrowed("sleep, spin")),
    ),
];

/// The parameters of every pool that no queue for worklists has.
pub const POOL_KNOBS: &[Knob] = &[
    Knob::new(
        "interrupts",
        "what makes workers answer thieves in long tasks: off, flag or signal",
        Takes::Words(std::borrow::Cow::Borrowed("off, flag, signal")),
    ),
    Knob::new("every", "the time between two interrupts, as 200us", Takes::Period),
];

/// Parameters of its own, those of all, and `steal` where thieves can take many.
pub fn with_common(own: &[Knob], many: bool) -> Vec<Knob> {
    let (steal, own): (Vec<Knob>, Vec<Knob>) = own.iter().cloned().partition(|knob| knob.name == STEAL);
    let steal = match (many, steal.is_empty()) {
        (true, true) => vec![Knob::new(STEAL, STEAL_HELP, Takes::OneOrHalf)],
        _ => steal,
    };
    [&own, COMMON, &steal].concat()
}

/// How worklists can use a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lists {
    /// It returns each task once.
    Once,
    /// It returns each task once, and its thieves can take several at a time.
    Many,
    /// It may return a task twice.
    Twice,
    /// Not at all: a thief may wait for an owner that has gone home.
    Never,
}

/// What there is to say of a queue: what it promises in a few words, and what can be set of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSpec {
    /// What it is asked for by.
    pub name: &'static str,
    /// How worklists can use it.
    pub lists: Lists,
    /// What thieves can take.
    pub stealable: &'static str,
    /// What a thief may have to wait for.
    pub progress: &'static str,
    /// What happens when it is full.
    pub capacity: &'static str,
    /// The memory that it is right on.
    pub memory: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What can be set of it alone.
    pub own: Vec<Knob>,
}

impl QueueSpec {
    /// What can be set of it.
    ///
    /// ```
    /// use filch_catalogue::QUEUES;
    ///
    /// let queue = QUEUES.iter().find(|queue| queue.name == "pdq-s").unwrap();
    /// assert!(queue.knobs().iter().any(|knob| knob.name == "delta"));
    /// ```
    pub fn knobs(&self) -> Vec<Knob> {
        match self.lists {
            Lists::Never => self.own.clone(),
            lists => with_common(&self.own, lists == Lists::Many),
        }
    }
}

/// What there is to say of a pool before it is started.
///
/// ```
/// use filch_catalogue::POOLS;
///
/// assert_eq!(POOLS[0].name, "split");
/// let private: Vec<_> = POOLS.iter().filter(|pool| pool.stealable == "on request").map(|pool| pool.name).collect();
/// assert!(private.contains(&"pdq-r"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolSpec {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Who waits for whom.
    pub progress: &'static str,
    /// What becomes of a task for which there is no room.
    pub capacity: &'static str,
    /// What thieves can take.
    pub stealable: &'static str,
    /// The memory that it is right on.
    pub memory: &'static str,
    /// What is set of it unless somebody sets something else, each as `NAME=VALUE`, between colons.
    pub defaults: &'static str,
    /// Whether thieves can take several tasks at a time.
    pub many: bool,
    /// What can be set of it alone.
    pub own: Vec<Knob>,
}

impl PoolSpec {
    /// What can be set of it.
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

/// What a worker does while a task that it needs is with a thief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitSpec {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// What queues and pools say whose algorithm needs the processor to bound its store buffers: they are there on x86-64 only.
pub const BOUNDED_TSO: &str = "bounded TSO";

fn rows<T: Deserialize<'static>>(lines: &'static str) -> Vec<T> {
    lines.lines().map(|line| serde_json::from_str(line).expect("a test has written these lines")).collect()
}

fn is_here(memory: &str) -> bool {
    memory != BOUNDED_TSO || cfg!(target_arch = "x86_64")
}

/// All queues.
pub static QUEUES: LazyLock<Vec<QueueSpec>> = LazyLock::new(|| {
    let mut rows: Vec<QueueSpec> = rows(include_str!("queues.jsonl"));
    rows.retain(|row| is_here(row.memory));
    rows
});

/// All pools; the first is the default.
pub static POOLS: LazyLock<Vec<PoolSpec>> = LazyLock::new(|| {
    let mut rows: Vec<PoolSpec> = rows(include_str!("pools.jsonl"));
    rows.retain(|row| is_here(row.memory));
    rows
});

/// All waiting strategies, the default first.
pub static WAITS: LazyLock<Vec<WaitSpec>> = LazyLock::new(|| rows(include_str!("waits.jsonl")));

/// The strategy of this name; the library's default without one.
///
/// ```
/// assert_eq!(filch_catalogue::wait(None), Ok("leapfrog-random"));
/// assert!(filch_catalogue::wait(Some("leapfog")).unwrap_err().contains("did you mean `leapfrog`"));
/// ```
///
/// # Errors
/// If there is none: a sentence.
pub fn wait(name: Option<&str>) -> Result<&'static str, String> {
    let Some(name) = name else { return Ok(WAITS[0].name) };
    let names: Vec<&'static str> = WAITS.iter().map(|wait| wait.name).collect();
    let found = names.iter().find(|&&known| known == name).copied();
    found.ok_or_else(|| unknown("waiting strategy", name, &names))
}

/// The queues that worklists can use, for messages.
///
/// ```
/// use filch_catalogue::{QUEUES, list_queues, why_not};
///
/// assert!(QUEUES.iter().all(|queue| list_queues().contains(&queue.name) == why_not(queue).is_none()));
/// ```
pub fn list_queues() -> Vec<&'static str> {
    QUEUES.iter().filter(|queue| why_not(queue).is_none()).map(|queue| queue.name).collect()
}

/// Why worklists cannot use a queue, if they cannot.
///
/// ```
/// use filch_catalogue::{QUEUES, why_not, why_not_for};
///
/// let queue = |name: &str| QUEUES.iter().find(|queue| queue.name == name).unwrap();
/// assert!(why_not(queue("idem-lifo")).is_none());
/// assert!(why_not_for(queue("idem-lifo"), false).is_some() && why_not_for(queue("idem-lifo"), true).is_none());
/// ```
pub fn why_not(queue: &QueueSpec) -> Option<&'static str> {
    let why = "not for worklists: a thief may wait for an owner that has gone home";
    (queue.lists == Lists::Never).then_some(why)
}

/// Why a queue cannot hold the tasks of a worklist program, if it cannot: see [`why_not`].
pub fn why_not_for(queue: &QueueSpec, is_idempotent: bool) -> Option<&'static str> {
    match queue.lists {
        Lists::Twice if !is_idempotent => {
            Some("not for this program: a task may be returned twice, and must not be run twice")
        }
        _ => why_not(queue),
    }
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
    /// Handles whose types tell levels of the recursion apart, so that the compiler inlines it: see
    /// `filch_workloads::InLevels`.
    Levels,
    /// Plain closures; the worker is found in thread-local storage.
    Closures,
}

impl Style {
    /// All of them.
    pub const EVERY: [Self; 3] = [Self::Handles, Self::Levels, Self::Closures];

    /// What it means, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Handles => "each task receives a worker handle",
            Self::Levels => "handles whose types tell levels of the recursion apart, so that the compiler inlines it",
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
