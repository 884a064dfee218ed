//! The construction of queues and pools from their settings.

use std::num::NonZeroU32;

use filch::pool::{First, Haul};
use filch::{Idle, Interrupts, Leaps, OnLoss, Victims};
use filch_catalogue::values::{Parsed, number, number_or, period, word};
use filch_catalogue::{ADAPTIVE, MOST_LEAPS, PoolTuning, Tuning, Values};

use super::pools::PoolOptions;
use super::tunable::Tunable;
use super::values::Reader;

/// The settings that all queues and pools have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The capacity of each worker's queue in tasks.
    pub capacity: Option<usize>,
    /// The order in which thieves try victims.
    pub victims: Victims,
    /// How workers wait for work.
    pub idle: Idle,
    /// What thieves do that have lost a race.
    pub on_loss: OnLoss,
}

impl Common {
    fn of(values: &Values<'_>) -> Parsed<Self> {
        let victims = named(Victims::EVERY, Victims::name);
        let idle = named(Idle::EVERY, Idle::name);
        let on_loss = named(OnLoss::EVERY, OnLoss::name);
        Ok(Self {
            capacity: values.get("capacity", number(1, 1 << 20))?,
            victims: values.get_or("victims", Victims::default(), word(&victims))?,
            idle: values.get_or("idle", Idle::default(), word(&idle))?,
            on_loss: values.get_or("loss", OnLoss::default(), word(&on_loss))?,
        })
    }
}

/// Pairs values with their names.
fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<(&'static str, T)> {
    all.iter().map(|&value| (name(value), value)).collect()
}

/// The settings of a queue.
pub trait ForQueue {
    /// What a thief takes at once, if that may be several tasks; the queue's parameters say how many these are.
    ///
    /// # Errors
    /// A sentence, if a value is invalid.
    fn haul(&self) -> Result<Option<Haul>, String>;

    /// Returns the queue's own parameters, and the settings that all queues have.
    ///
    /// # Errors
    /// A sentence, if a value is invalid.
    fn apply<P: Tunable>(&self) -> Result<(P, Common), String>;
}

impl ForQueue for Tuning {
    fn haul(&self) -> Result<Option<Haul>, String> {
        let words = named(First::EVERY, First::name);
        let first = self.values().get_or("first", First::default(), word(&words));
        let first = first.map_err(|why| format!("{}: {why}", self.queue()))?;
        Ok(self.steals_many().then_some(Haul::from(usize::MAX).first(first)))
    }

    fn apply<P: Tunable>(&self) -> Result<(P, Common), String> {
        let values = self.values();
        let read = || Ok((P::tuned(&Reader::of(values))?, Common::of(&values)?));
        read().map_err(|why: String| format!("{}: {why}", self.queue()))
    }
}

/// The settings of a pool.
pub trait ForPool {
    /// Returns the pool's own parameters, and `others` with the settings that every pool has; workers, wait and pin
    /// stay.
    ///
    /// # Errors
    /// A sentence, if a value is invalid.
    fn apply<S: Tunable>(&self, others: PoolOptions) -> Result<(S, PoolOptions), String>;
}

impl ForPool for PoolTuning {
    fn apply<S: Tunable>(&self, others: PoolOptions) -> Result<(S, PoolOptions), String> {
        let (own, common) = self.tuning().apply::<S>()?;
        let values = self.values();
        let read = || {
            let by = [
                ("off", None),
                ("flag", Some(Interrupts::flag())),
                ("signal", Some(Interrupts::signal())),
                ("thieves", Some(Interrupts::by_thieves())),
            ];
            let by = values.get("interrupts", word(&by))?.flatten();
            let every = values.get("every", period)?;
            let by = by.map(|by| every.map_or(by, |period| by.every(period)));
            let is_steady = values.get("ticks", word(&[("asked", false), ("always", true)]))?.unwrap_or_default();
            let by = if is_steady { by.map(Interrupts::steady) } else { by };
            let leaps = values.get("leaps", number_or(1, MOST_LEAPS, ADAPTIVE))?;
            let after = |leaps: usize| NonZeroU32::new(leaps as u32).map_or(Leaps::default(), Leaps::After);
            let leaps = leaps.map_or(Leaps::default(), |leaps| leaps.map_or(Leaps::Adaptive, after));
            let works = values.get("caller", word(&[("works", true), ("waits", false)]))?;
            Ok((by, leaps, works.unwrap_or(others.caller_works)))
        };
        let (interrupts, leaps, caller_works) = read().map_err(|why: String| format!("{}: {why}", self.pool()))?;
        Ok((own, PoolOptions { common, interrupts, leaps, caller_works, ..others }))
    }
}
