//! Queues and pools with other parameters than the default ones, as people write them: `bwos-l:block=64:capacity=4096`.
//!
//! What must always hold: what is set is known, and its value one that can be had.

use std::fmt;

use crate::names::unknown;
use crate::schedulers::{POOLS, QUEUES, why_not};
use crate::values::{Knob, Parsed, Share, Values, assignment, share};

/// A queue for worklists and what is set of its parameters, as in `pdq-s:delta=50us:steal=half`.
///
/// ```
/// use filch_catalogue::Tuning;
///
/// let tuning = Tuning::parse("pdq-s", "delta=50us:steal=half")?;
/// assert_eq!(tuning.to_string(), "pdq-s:delta=50us:steal=half");
/// assert!(tuning.steals_many());
/// assert!(Tuning::parse("pdq-s", "delta=soon").unwrap_err().contains("is not a time"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    queue: &'static str,
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
        let tuning = Self { queue, set };
        tuning.check(knobs).map_err(|why| format!("{queue}: {why}"))?;
        Ok(tuning)
    }

    fn check(&self, knobs: &[Knob]) -> Parsed<()> {
        let values = self.values();
        // One by one, so that the first wrong one is told.
        knobs.iter().try_for_each(|knob| values.get(knob.name, |text| knob.takes.check(text, &values)).map(drop))
    }

    /// Of a queue that worklists can use, with all parameters set as the rest of a name says.
    ///
    /// # Errors
    /// If there is no such parameter or value, or worklists cannot use the queue: a sentence.
    pub fn parse(queue: &str, rest: &str) -> Result<Self, String> {
        let names = || QUEUES.iter().map(|row| row.name).collect::<Vec<_>>();
        let row = QUEUES.iter().find(|row| row.name == queue).ok_or_else(|| unknown("queue", queue, &names()))?;
        match why_not(row) {
            Some(why) => Err(format!("{queue}: {why}")),
            None => Self::of(row.name, rest, &row.knobs()),
        }
    }

    /// The same, to be read.
    pub fn values(&self) -> Values<'_> {
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
        let steal = self.values().get("steal", share);
        steal.is_ok_and(|share| share.is_some_and(|share| share != Share::One))
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
/// use filch_catalogue::PoolTuning;
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
    pub fn parse(pool: &str, rest: &str) -> Result<Self, String> {
        let row = POOLS.iter().find(|row| row.name == pool);
        let row = row.ok_or_else(|| unknown("pool", pool, &POOLS.iter().map(|row| row.name).collect::<Vec<_>>()))?;
        Self::of(row.name, rest, &row.knobs())
    }

    /// Of a pool with these parameters.
    ///
    /// # Errors
    /// As [`Tuning::of`].
    pub fn of(pool: &'static str, rest: &str, knobs: &[Knob]) -> Result<Self, String> {
        let tuning = Tuning::of(pool, rest, knobs)?;
        let is_set = |name: &str| tuning.values().get(name, |text| Ok(text != "off")) == Ok(Some(true));
        if is_set("every") && !is_set("interrupts") {
            return Err(format!("{pool}: nothing ticks without interrupts=flag or interrupts=signal"));
        }
        Ok(Self(tuning))
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

    /// The same, to be read.
    pub fn values(&self) -> Values<'_> {
        self.0.values()
    }

    /// What is set, whatever it is set of.
    pub fn tuning(&self) -> &Tuning {
        &self.0
    }
}
