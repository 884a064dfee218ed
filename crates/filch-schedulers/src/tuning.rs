//! What queues and pools are made with, from what is set of them.

use filch::{Idle, Interrupts, Victims};
use filch_catalogue::values::{Parsed, number, period, word};
use filch_catalogue::{PoolTuning, Tuning, Values};

use crate::pools::Settings;
use crate::tunable::Tunable;
use crate::values::Reader;

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

impl Common {
    fn of(values: &Values<'_>) -> Parsed<Self> {
        let victims = Victims::EVERY.map(|victims| (victims.name(), victims));
        let idle = Idle::EVERY.map(|idle| (idle.name(), idle));
        Ok(Self {
            capacity: values.get("capacity", number(1, 1 << 20))?,
            victims: values.get_or("victims", Victims::default(), word(&victims))?,
            idle: values.get_or("idle", Idle::default(), word(&idle))?,
        })
    }
}

/// What a queue is made with.
pub trait ForQueue {
    /// The parameters of the queue's own, and what is set of all queues alike.
    ///
    /// # Errors
    /// If there is no such value: a sentence.
    fn apply<P: Tunable>(&self) -> Result<(P, Common), String>;
}

impl ForQueue for Tuning {
    fn apply<P: Tunable>(&self) -> Result<(P, Common), String> {
        let values = self.values();
        let read = || Ok((P::tuned(&Reader::of(values))?, Common::of(&values)?));
        read().map_err(|why: String| format!("{}: {why}", self.queue()))
    }
}

/// What a pool is made with.
pub trait ForPool {
    /// The pool's own parameters, and what every pool has, besides what is not set here: workers, wait and pin.
    ///
    /// # Errors
    /// If there is no such value: a sentence.
    fn apply<S: Tunable>(&self, others: Settings) -> Result<(S, Settings), String>;
}

impl ForPool for PoolTuning {
    fn apply<S: Tunable>(&self, others: Settings) -> Result<(S, Settings), String> {
        let (own, common) = self.tuning().apply::<S>()?;
        let values = self.values();
        let read = || {
            let by = [("off", None), ("flag", Some(Interrupts::flag())), ("signal", Some(Interrupts::signal()))];
            let by = values.get("interrupts", word(&by))?.flatten();
            let every = values.get("every", period)?;
            Ok(by.map(|by| every.map_or(by, |period| by.every(period))))
        };
        let interrupts = read().map_err(|why: String| format!("{}: {why}", self.pool()))?;
        Ok((own, Settings { common, interrupts, ..others }))
    }
}
