//! Queues and pools with other parameters than the defaults, as the user writes them: `bwos-l:block=64:capacity=4096`.
//!
//! Invariant: every set parameter is known, and its value is valid.

use std::fmt;

use crate::names::unknown;
use crate::schedulers::{POOLS, QUEUES};
use crate::values::{Knob, Parsed, Share, Values, assignment, share};

/// A queue for worklists with settings, as in `pdq-s-told:delta=50us:steal=half`.
///
/// ```
/// use filch_catalogue::Tuning;
///
/// let tuning = Tuning::parse("pdq-s-told", "delta=50us:steal=half")?;
/// assert_eq!(tuning.to_string(), "pdq-s-told:delta=50us:steal=half");
/// assert!(tuning.steals_many());
/// assert!(Tuning::parse("pdq-s-told", "delta=soon").unwrap_err().contains("is not a time"));
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
    /// Parses settings of a queue with these parameters.
    ///
    /// # Errors
    /// A sentence, if there is no such parameter, with the reason if others have it.
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
        if tuning.set.iter().any(|(name, _)| name == "first") && !tuning.steals_many() {
            return Err(format!("{queue}: first needs steal, with more than one"));
        }
        Ok(tuning)
    }

    fn check(&self, knobs: &[Knob]) -> Parsed<()> {
        let values = self.values();
        // In order, so that the first error is reported.
        knobs.iter().try_for_each(|knob| values.get(knob.name, |text| knob.takes.check(text, &values)).map(drop))
    }

    /// Parses settings of a queue that worklists can use.
    ///
    /// # Errors
    /// A sentence, if there is no such queue, parameter or value.
    pub fn parse(queue: &str, rest: &str) -> Result<Self, String> {
        let names = || QUEUES.iter().map(|row| row.name).collect::<Vec<_>>();
        let row = QUEUES.iter().find(|row| row.name == queue).ok_or_else(|| unknown("queue", queue, &names()))?;
        Self::of(row.name, rest, &row.knobs())
    }

    /// Adds these defaults, each as `NAME=VALUE`, separated by colons, for parameters that are not set.
    ///
    /// # Panics
    /// If a default is not of this form.
    #[must_use]
    pub fn by_default(mut self, defaults: &str) -> Self {
        let defaults = defaults.split(':').filter(|text| !text.is_empty());
        let defaults = defaults.map(|text| assignment(text).expect("defaults are NAME=VALUE"));
        self.set.splice(..0, defaults.collect::<Vec<_>>());
        self
    }

    /// Returns the settings for reading.
    pub fn values(&self) -> Values<'_> {
        Values::of(&self.set)
    }

    /// Returns the queue's name.
    pub fn queue(&self) -> &'static str {
        self.queue
    }

    /// Returns the settings, by name.
    pub fn set(&self) -> &[(String, String)] {
        &self.set
    }

    /// Whether thieves take several tasks at once.
    pub fn steals_many(&self) -> bool {
        let steal = self.values().get("steal", share);
        steal.is_ok_and(|share| share.is_some_and(|share| share != Share::One))
    }
}

/// The reason why there is no parameter of this name, if others have it.
fn why_not_set(name: &str) -> Option<&'static str> {
    match name {
        "steal" | "first" => Some("its thieves take one task at a time"),
        "leaps" => Some("tasks of worklists and jobs wait for no other task; it works for fork–join"),
        "caller" => Some("a list's caller is not one of its workers; it works for fork–join"),
        "end" => Some("there is no choice: only worklists can choose, and not on every queue"),
        "interrupts" | "every" | "ticks" => {
            Some("tasks of worklists and jobs answer thieves themselves; it works for fork–join")
        }
        _ => None,
    }
}

/// A pool with settings, as in `pdq-r-async:interrupts=signal:every=1ms`.
///
/// ```
/// use filch_catalogue::PoolTuning;
///
/// let pool = PoolTuning::parse("pdq-s-told", "delta=50us:interrupts=flag:every=1ms")?;
/// assert_eq!(pool.to_string(), "pdq-s-told:delta=50us:interrupts=flag:every=1ms");
/// assert!(PoolTuning::parse("pdq-s-told", "every=1ms").is_err(), "no interrupts");
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
    /// Parses settings of a pool.
    ///
    /// # Errors
    /// A sentence, if there is no such pool, parameter or value.
    pub fn parse(pool: &str, rest: &str) -> Result<Self, String> {
        let row = POOLS.iter().find(|row| row.name == pool);
        let row = row.ok_or_else(|| unknown("pool", pool, &POOLS.iter().map(|row| row.name).collect::<Vec<_>>()))?;
        Self::of(row.name, rest, &row.knobs())
    }

    /// Parses settings of a pool with these parameters.
    ///
    /// # Errors
    /// See [`Tuning::of`].
    pub fn of(pool: &'static str, rest: &str, knobs: &[Knob]) -> Result<Self, String> {
        let tuning = Tuning::of(pool, rest, knobs)?;
        let is_set = |name: &str| tuning.values().get(name, |text| Ok(text != "off")) == Ok(Some(true));
        if is_set("every") && !is_set("interrupts") {
            return Err(format!("{pool}: every needs interrupts"));
        }
        let has_clock = tuning.values().get("interrupts", |text| Ok(["flag", "signal"].contains(&text)));
        if is_set("ticks") && has_clock != Ok(Some(true)) {
            return Err(format!("{pool}: ticks needs interrupts=flag or interrupts=signal"));
        }
        Ok(Self(tuning))
    }

    /// As [`Tuning::by_default`].
    ///
    /// # Panics
    /// As that.
    #[must_use]
    pub fn by_default(self, defaults: &str) -> Self {
        Self(self.0.by_default(defaults))
    }

    /// Returns the settings, by name.
    pub fn set(&self) -> &[(String, String)] {
        self.0.set()
    }

    /// Returns the pool's name.
    pub fn pool(&self) -> &'static str {
        self.0.queue
    }

    /// Whether thieves take several tasks at once.
    pub fn steals_many(&self) -> bool {
        self.0.steals_many()
    }

    /// Returns the settings for reading.
    pub fn values(&self) -> Values<'_> {
        self.0.values()
    }

    /// Returns the settings as those of a queue.
    pub fn tuning(&self) -> &Tuning {
        &self.0
    }
}
