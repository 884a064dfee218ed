//! Queues and pools with other parameters than the default ones, as people write them: `bwos-l:block=64:capacity=4096`.

use std::fmt;

use filch::{Idle, Interrupts, Victims};
use filch_queue::Amount;

use crate::pools::{POOLS, Settings};
use crate::tunable::Tunable;
use crate::unknown;
use crate::values::{Knob, Values, amount, assignment, number, period, word};

/// How many tasks there is room for.
pub(crate) const CAPACITY: Knob =
    Knob { name: "capacity", help: "tasks that a queue has room for at first, or at all" };
/// That of queues from which several tasks can be stolen at once.
pub const STEAL: Knob = Knob { name: "steal", help: "what a thief takes: one, half, all, all-but-one or a number" };

/// Whom thieves try first.
pub(crate) const VICTIMS: Knob = Knob {
    name: "victims",
    help: "whom thieves try first: random, last (whom they last stole from) or next (by number)",
};
/// What workers do without work.
pub(crate) const IDLE: Knob = Knob { name: "idle", help: "what workers do without work: sleep, or spin: never sleep" };

/// The parameters of every queue and pool.
pub const COMMON: &[Knob] = &[CAPACITY, VICTIMS, IDLE];

/// The parameters of every pool that no queue for worklists has.
pub const POOL_KNOBS: &[Knob] = &[
    Knob { name: "interrupts", help: "what makes workers answer thieves in long tasks: off, flag or signal" },
    Knob { name: "every", help: "the time between two interrupts, as 200us" },
];

/// What can be set of all queues and pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The tasks that each worker's queue has room for.
    pub capacity: Option<usize>,
    /// Whom thieves try first.
    pub victims: Victims,
    /// What workers do without work.
    pub idle: Idle,
}

/// A queue for worklists and what is set of its parameters, as in `pdq-s:delta=50us:steal=half`.
///
/// ```
/// use filch_schedulers::Tuning;
///
/// let tuning = Tuning::parse("pdq-s", "delta=50us:steal=half")?;
/// assert_eq!(tuning.to_string(), "pdq-s:delta=50us:steal=half");
/// assert!(tuning.steals_many());
/// assert!(Tuning::parse("pdq-s", "delta=soon").unwrap_err().contains("is not a time"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    pub(crate) queue: &'static str,
    set: Vec<(String, String)>,
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.queue)?;
        self.set.iter().try_for_each(|(name, value)| write!(f, ":{name}={value}"))
    }
}

impl Tuning {
    /// Of a queue with these parameters.
    ///
    /// # Errors
    /// If there is no such parameter: a sentence, with the reason if others have it.
    pub fn of(queue: &'static str, rest: &str, knobs: &[Knob]) -> Result<Self, String> {
        let known: Vec<&str> = knobs.iter().map(|knob| knob.name).collect();
        let mut set = Vec::new();
        for text in rest.split(':').filter(|text| !text.is_empty()) {
            let (name, value) = assignment(text)?;
            if !known.contains(&name.as_str()) {
                let unknown = || unknown(&format!("parameter of {queue} called"), &name, &known);
                return Err(
                    why_not_set(&name).map_or_else(unknown, |why| format!("{queue}: {name} cannot be set: {why}"))
                );
            }
            set.push((name, value));
        }
        Ok(Self { queue, set })
    }

    /// The parameters of the queue's own, and what is set of all queues alike.
    ///
    /// # Errors
    /// If there is no such value: a sentence.
    pub fn apply<P: Tunable>(&self) -> Result<(P, Common), String> {
        const MOST: usize = 1 << 20;
        let values = self.values();
        let read = || {
            let steal = |text: &str| match amount(text)? {
                Amount::One | Amount::Half => Ok(()),
                _ if P::TAKES_ANY_AMOUNT => Ok(()),
                _ => Err("is not what its thieves can take: one or half".to_owned()),
            };
            values.get(STEAL.name, steal)?;
            let capacity = values.get(CAPACITY.name, number(1, MOST))?;
            let victims = Victims::EVERY.map(|victims| (victims.name(), victims));
            let victims = values.get_or(VICTIMS.name, Victims::default(), word(&victims))?;
            let idle = Idle::EVERY.map(|idle| (idle.name(), idle));
            let idle = values.get_or(IDLE.name, Idle::default(), word(&idle))?;
            Ok((P::tuned(&values)?, Common { capacity, victims, idle }))
        };
        read().map_err(|why: String| format!("{}: {why}", self.queue))
    }

    fn values(&self) -> Values<'_> {
        Values::of(&self.set)
    }

    /// The queue's name in the table.
    pub fn queue(&self) -> &'static str {
        self.queue
    }

    /// What is set, by name.
    pub fn set(&self) -> &[(String, String)] {
        &self.set
    }

    /// Whether thieves take several tasks at once.
    pub fn steals_many(&self) -> bool {
        let steal = self.values().get(STEAL.name, amount);
        steal.is_ok_and(|amount| amount.is_some_and(|amount| amount != Amount::One))
    }
}

/// Why something has no parameter of this name, though others have.
fn why_not_set(name: &str) -> Option<&'static str> {
    match name {
        "steal" => Some("its thieves take one task at a time"),
        "interrupts" | "every" => Some("tasks of worklists and jobs answer thieves themselves; for fork–join it can"),
        _ => None,
    }
}

/// A pool and what is set of its parameters, as in `pdq-r:interrupts=signal:every=1ms`.
///
/// ```
/// use filch_schedulers::PoolTuning;
///
/// let pool = PoolTuning::parse("pdq-s", "delta=50us:interrupts=flag:every=1ms")?;
/// assert_eq!(pool.to_string(), "pdq-s:delta=50us:interrupts=flag:every=1ms");
/// assert!(PoolTuning::parse("pdq-s", "every=1ms").is_err(), "nothing ticks");
/// assert!(PoolTuning::parse("split", "steal=half").unwrap_err().contains("one task at a time"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PoolTuning(Tuning);

impl fmt::Display for PoolTuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PoolTuning {
    /// Of a pool in the table, with all parameters set as the rest of a name says.
    ///
    /// # Errors
    /// If there is no such pool, parameter or value: a sentence.
    pub fn parse(pool: &'static str, rest: &str) -> Result<Self, String> {
        let row = POOLS.iter().find(|row| row.name == pool);
        let row = row.ok_or_else(|| unknown("pool", pool, &POOLS.iter().map(|row| row.name).collect::<Vec<_>>()))?;
        let tuning = Self::of(pool, rest, &row.knobs())?;
        row.check(&tuning)?;
        Ok(tuning)
    }

    /// Of a pool with these parameters.
    ///
    /// # Errors
    /// As [`Tuning::of`].
    pub fn of(pool: &'static str, rest: &str, knobs: &[Knob]) -> Result<Self, String> {
        Tuning::of(pool, rest, knobs).map(Self)
    }

    /// The same where nothing else is set of what these set, each as `NAME=VALUE`, between colons.
    ///
    /// # Panics
    /// If they set nothing.
    #[must_use]
    pub fn by_default(mut self, defaults: &str) -> Self {
        let defaults = defaults.split(':').filter(|text| !text.is_empty());
        let defaults = defaults.map(|text| assignment(text).expect("the defaults are written right"));
        self.0.set.splice(..0, defaults.collect::<Vec<_>>());
        self
    }

    /// The pool's own parameters, and what every pool has, besides what is not set here: workers, wait and pin.
    ///
    /// # Errors
    /// If there is no such value: a sentence.
    pub fn apply<S: Tunable>(&self, others: Settings) -> Result<(S, Settings), String> {
        let (own, common) = self.0.apply::<S>()?;
        let values = self.0.values();
        let read = || {
            let by = [("off", None), ("flag", Some(Interrupts::flag())), ("signal", Some(Interrupts::signal()))];
            let interrupts = match (values.get("interrupts", word(&by))?.flatten(), values.get("every", period)?) {
                (Some(by), Some(period)) => Some(by.every(period)),
                (None, Some(_)) => return Err("nothing ticks without interrupts=flag or interrupts=signal".to_owned()),
                (by, None) => by,
            };
            Ok(interrupts)
        };
        let interrupts = read().map_err(|why: String| format!("{}: {why}", self.pool()))?;
        Ok((own, Settings { common, interrupts, ..others }))
    }

    /// What is set, by name.
    pub fn set(&self) -> &[(String, String)] {
        self.0.set()
    }

    /// The pool's name in the table.
    pub fn pool(&self) -> &'static str {
        self.0.queue
    }

    /// Whether thieves take several tasks at once.
    pub fn steals_many(&self) -> bool {
        self.0.steals_many()
    }
}
