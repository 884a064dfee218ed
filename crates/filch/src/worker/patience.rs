//! Patience: how long a waiting thread stays awake.

use std::time::{Duration, Instant};

use crate::machine::thread::nap;
use crate::protocol::waiting;
use crate::shared::policy::Idle;
use crate::worker::home::Home;

/// Patience: first busy waiting, then yielding the processor, then sleep.
#[derive(Debug)]
pub(crate) struct Patience {
    rounds: u32,
    /// When the yields began.
    since: Option<Instant>,
    /// How many more yields do not count as rounds if they let another thread run.
    switches: u32,
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
    /// Rounds of yields after them.
    const YIELDS: u32 = 6;
    /// How long yields do not count as rounds while nobody else wants the processor: about as long as it takes to wake
    /// a worker on a virtual machine, so that staying awake never takes more than twice as long as sleeping would have.
    const AWAKE: Duration = Duration::from_micros(60);
    /// With more workers than processors, other workers run during its yields. It stays awake for so many of these:
    /// whoever is woken displaces a worker that works, which leaves a task begun, whereas a thread that yields has its
    /// turn when a processor is free.
    const SWITCHES: u32 = 16;
    /// A longer yield has let another thread run, though perhaps one that only yields, too.
    const SWITCH: Duration = Duration::from_micros(3);
    /// A longer yield has let another thread work.
    const LONG: Duration = Duration::from_micros(20);
    /// After this many short yields the next one will probably be short.
    const CONTENDED: u32 = 256;

    /// Patience that ends with this policy, where there are no wake-ups.
    pub(crate) fn then(idle: Idle) -> Self {
        Self { rounds: 0, since: None, switches: Self::SWITCHES, idle, contended: Self::CONTENDED }
    }

    /// Waits a little. Returns `false` once it is time to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        if self.rounds < Self::SPINS {
            for _ in 0..1 << self.rounds {
                std::hint::spin_loop();
            }
            self.rounds += 1;
        } else if self.rounds < Self::SPINS + Self::YIELDS {
            let since = *self.since.get_or_insert_with(Instant::now);
            let length = self.give_way();
            self.has_yielded(length, since.elapsed());
        } else {
            return false;
        }
        true
    }

    /// Yields the processor, and returns for how long.
    pub(crate) fn give_way(&mut self) -> Duration {
        let start = Instant::now();
        std::thread::yield_now();
        let length = start.elapsed();
        self.contended = if length < Self::LONG { self.contended.saturating_sub(1) } else { Self::CONTENDED };
        length
    }

    /// After a yield of this `length`, so long `after` the first one began.
    fn has_yielded(&mut self, length: Duration, after: Duration) {
        if length >= Self::SWITCH && self.switches > 0 {
            self.switches -= 1;
        } else if length >= Self::SWITCH || after >= Self::AWAKE {
            self.rounds += 1;
        }
    }

    /// Whether the patience has ended, and a yield may be long.
    pub(crate) fn may_be_long_after(&self) -> bool {
        self.rounds >= Self::SPINS + Self::YIELDS && self.contended > 0
    }

    pub(crate) fn renew(&mut self) {
        (self.rounds, self.since, self.switches) = (0, None, Self::SWITCHES);
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
    home: &'w Home,
}

impl<'w> Timed<'w> {
    pub(crate) fn new(home: &'w Home) -> Self {
        Self { patience: Patience::default(), home }
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
        self.home.gets_busy();
    }
}

impl waiting::Patience for Timed<'_> {
    fn wait(&mut self) -> bool {
        self.home.falls_idle();
        self.patience.wait()
    }

    fn may_be_long(&self) -> bool {
        self.patience.may_be_long()
    }

    fn hold_on(&mut self) {
        self.home.falls_idle();
        waiting::Patience::hold_on(&mut self.patience);
    }

    fn renew(&mut self) {
        self.home.gets_busy();
        self.patience.renew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of yields of these lengths until the patience ends.
    fn yields(length: Duration) -> u32 {
        let mut patience = Patience { rounds: Patience::SPINS, ..Patience::default() };
        let mut yields = 0;
        while patience.rounds < Patience::SPINS + Patience::YIELDS {
            yields += 1;
            patience.has_yielded(length, length * yields);
        }
        yields
    }

    #[test]
    fn a_thread_yields_for_longer_while_others_run_and_then_sleeps_all_the_same() {
        assert_eq!(yields(Patience::SWITCH), Patience::SWITCHES + Patience::YIELDS);
    }

    #[test]
    fn a_thread_stays_awake_for_a_fixed_time_while_nobody_wants_its_processor() {
        let micro = Duration::from_micros(1);
        assert_eq!(yields(micro), Patience::AWAKE.as_micros() as u32 - 1 + Patience::YIELDS);
    }
}
