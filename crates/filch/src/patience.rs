//! Patience: how long a waiting thread stays awake.

use std::time::{Duration, Instant};

use crate::home::Home;
use crate::policy::Idle;
use crate::protocol::waiting;
use crate::stats::IdleTime;

/// Patience: first busy waiting, then yielding the processor, then sleep.
#[derive(Debug)]
pub(crate) struct Patience {
    rounds: u32,
    idle: Idle,
    /// How many more yields may be long: at first, and since one was, other threads want this processor.
    contended: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self::then(Idle::default())
    }
}

impl Patience {
    /// Rounds of pauses, of doubling length.
    const SPINS: u32 = 7;
    /// Rounds of yields after them. With more workers than processors another worker runs meanwhile.
    const YIELDS: u32 = 6;
    /// A longer yield has let another thread run.
    const LONG: Duration = Duration::from_micros(20);
    /// After this many short yields the next one will probably be short.
    const CONTENDED: u32 = 256;

    /// Patience that ends with this policy, where there are no wake-ups.
    pub(crate) fn then(idle: Idle) -> Self {
        Self { rounds: 0, idle, contended: Self::CONTENDED }
    }

    /// Waits a little. Returns `false` once it is time to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        if self.rounds < Self::SPINS {
            for _ in 0..1 << self.rounds {
                std::hint::spin_loop();
            }
        } else if self.rounds < Self::SPINS + Self::YIELDS {
            self.give_way();
        } else {
            return false;
        }
        self.rounds += 1;
        true
    }

    /// Yields the processor.
    pub(crate) fn give_way(&mut self) {
        let start = Instant::now();
        std::thread::yield_now();
        self.contended = if start.elapsed() < Self::LONG { self.contended.saturating_sub(1) } else { Self::CONTENDED };
    }

    /// Whether the patience has ended, and a yield may be long.
    pub(crate) fn may_be_long_after(&self) -> bool {
        self.rounds >= Self::SPINS + Self::YIELDS && self.contended > 0
    }

    pub(crate) fn renew(&mut self) {
        self.rounds = 0;
    }

    /// As [`Patience::wait`], but at the end naps or starts over, where there are no wake-ups.
    pub(crate) fn wait_or_nap(&mut self) {
        if !self.wait() {
            match self.idle {
                Idle::Sleep => nap(),
                Idle::Spin => self.renew(),
            }
        }
    }
}

impl waiting::Patience for Patience {
    fn wait(&mut self) -> bool {
        self.wait()
    }

    fn may_be_long(&self) -> bool {
        (Self::SPINS..Self::SPINS + Self::YIELDS).contains(&self.rounds) && self.contended > 0
    }

    fn hold_on(&mut self) {
        if !self.wait() {
            self.give_way();
        }
    }

    fn renew(&mut self) {
        self.renew();
    }
}

/// The patience of a worker, whose idle time begins when it waits and ends when it begins anew.
pub(crate) struct Timed<'w> {
    patience: Patience,
    idle: &'w IdleTime,
}

impl<'w> Timed<'w> {
    pub(crate) fn new(home: &'w Home) -> Self {
        Self { patience: Patience::default(), idle: &home.counters.idle }
    }

    /// Yields the processor although the patience has ended.
    pub(crate) fn give_way(&mut self) {
        self.patience.give_way();
    }

    /// Whether the patience has ended, and a yield may be long.
    pub(crate) fn may_be_long_after(&self) -> bool {
        self.patience.may_be_long_after()
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.idle.end();
    }
}

impl waiting::Patience for Timed<'_> {
    fn wait(&mut self) -> bool {
        self.idle.begin();
        self.patience.wait()
    }

    fn may_be_long(&self) -> bool {
        self.patience.may_be_long()
    }

    fn hold_on(&mut self) {
        self.idle.begin();
        waiting::Patience::hold_on(&mut self.patience);
    }

    fn renew(&mut self) {
        self.idle.end();
        self.patience.renew();
    }
}

/// Sleeps for a fixed short time.
pub(crate) fn nap() {
    const NAP: Duration = Duration::from_micros(100);
    std::thread::sleep(NAP);
}
