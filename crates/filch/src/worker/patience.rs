//! Patience: how long a waiting thread stays awake.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::machine::thread::nap;
use crate::protocol::waiting;
use crate::shared::policy::Idle;
use crate::worker::home::Home;

thread_local! {
    /// How many more waits of this thread do not yield. A long yield sets this: other programs then want the processor,
    /// and a thread that sleeps gets it back sooner than one that yields.
    pub(crate) static CROWDED: Cell<u32> = const { Cell::new(0) };
}

/// Whether the wait that begins here should not yield; counts this wait.
pub(crate) fn is_crowded() -> bool {
    CROWDED.try_with(|left| left.replace(left.get().saturating_sub(1))) != Ok(0)
}

/// A longer yield has let another program work.
const PART: Duration = Duration::from_micros(500);
/// The pauses between two looks of a thread that does not yield.
const LOOK: u32 = 64;

/// Yields the processor, and returns for how long.
pub(crate) fn yield_for() -> Duration {
    const WAITS: u32 = 256;
    let start = Instant::now();
    std::thread::yield_now();
    let length = start.elapsed();
    if length > PART {
        let _ = CROWDED.try_with(|left| left.set(WAITS));
    }
    length
}

/// Patience: first busy waiting, then yielding the processor, then sleep.
#[derive(Debug)]
pub(crate) struct Patience {
    rounds: u32,
    /// When the yields began.
    since: Option<Instant>,
    /// How many more yields do not count as rounds if they let another thread run.
    switches: u32,
    idle: Idle,
    /// Whether a long yield ends the patience. It does if there is a processor for each worker, since another program
    /// has then had this one.
    ends_early: bool,
    /// Whether the thread waits busily instead of yielding.
    is_crowded: bool,
    /// How many more yields may be long. At first, and after a long yield, other threads may want this processor.
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
    const END: u32 = Self::SPINS + Self::YIELDS;
    /// How long short yields do not count as rounds: about as long as it takes to wake a worker on a virtual machine,
    /// so that staying awake never takes more than twice as long as sleeping would have.
    const AWAKE: Duration = Duration::from_micros(60);
    /// How long a thread waits busily where others want its processor. With 60 µs, beside two busy threads, three
    /// published libraries took 1.04 to 1.19 times as much processor time.
    const AWAKE_CROWDED: Duration = Duration::from_micros(2);
    /// How many yields do not count as rounds although they let another thread run. With more workers than processors,
    /// other workers run during the yields. A worker that is woken displaces one that works, in the middle of a task,
    /// whereas a thread that yields has its turn when a processor is free.
    const SWITCHES: u32 = 16;
    /// A longer yield has let another thread run, though perhaps one that only yields, too.
    const SWITCH: Duration = Duration::from_micros(3);
    /// A longer yield has let another thread work.
    const LONG: Duration = Duration::from_micros(20);
    /// After this many short yields in a row the next one will probably be short.
    const CONTENDED: u32 = 256;

    /// Returns patience that ends with this policy.
    pub(crate) fn then(idle: Idle) -> Self {
        Self {
            rounds: 0,
            since: None,
            switches: Self::SWITCHES,
            idle,
            ends_early: false,
            is_crowded: false,
            contended: Self::CONTENDED,
        }
    }

    /// Waits a little. Returns `false` once it is time to sleep.
    pub(crate) fn wait(&mut self) -> bool {
        if self.rounds < Self::SPINS {
            for _ in 0..1 << self.rounds {
                std::hint::spin_loop();
            }
            self.rounds += 1;
        } else if self.rounds < Self::END {
            let since = self.since.unwrap_or_else(|| self.begin_yield());
            if self.is_crowded {
                (0..LOOK).for_each(|_| std::hint::spin_loop());
                if since.elapsed() >= Self::AWAKE_CROWDED {
                    self.rounds = Self::END;
                }
            } else {
                let length = self.give_way();
                self.note_yield(length, since.elapsed());
            }
        } else {
            return false;
        }
        true
    }

    fn begin_yield(&mut self) -> Instant {
        self.is_crowded = self.ends_early && is_crowded();
        *self.since.insert(Instant::now())
    }

    /// Yields the processor, and returns for how long.
    pub(crate) fn give_way(&mut self) -> Duration {
        let length = yield_for();
        self.contended = if length < Self::LONG { self.contended.saturating_sub(1) } else { Self::CONTENDED };
        length
    }

    /// Counts a yield of this `length`, which ended at the time `after`, measured from the beginning of the first one.
    fn note_yield(&mut self, length: Duration, after: Duration) {
        if length > PART && self.ends_early {
            self.rounds = Self::END;
        } else if length >= Self::SWITCH && self.switches > 0 {
            self.switches -= 1;
        } else if length >= Self::SWITCH || after >= Self::AWAKE {
            self.rounds += 1;
        }
    }

    /// Whether the patience has ended, and a yield may be long.
    pub(crate) fn may_be_long_after(&self) -> bool {
        self.rounds >= Self::END && self.contended > 0
    }

    pub(crate) fn renew(&mut self) {
        (self.rounds, self.since, self.switches, self.is_crowded) = (0, None, Self::SWITCHES, false);
    }

    /// As [`Patience::wait`]; but at the end, if it is not to sleep, it starts over.
    pub(crate) fn wait_or_spin(&mut self) -> bool {
        let is_over = !self.wait();
        if is_over && self.idle == Idle::Spin {
            self.renew();
            return true;
        }
        !is_over
    }

    /// As [`Patience::wait_or_spin`], for waits without wake-ups: it naps when it is time to sleep.
    pub(crate) fn wait_or_nap(&mut self) {
        if !self.wait_or_spin() {
            nap();
        }
    }
}

impl waiting::Backoff for Patience {
    fn wait(&mut self) -> bool {
        self.wait()
    }

    fn may_be_long(&self) -> bool {
        !self.is_crowded && (Self::SPINS..Self::END).contains(&self.rounds) && self.contended > 0
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

/// The patience of a worker. The worker's idle time begins when it waits, and ends when the patience is renewed or
/// dropped.
pub(crate) struct Timed<'w> {
    patience: Patience,
    home: &'w Home,
}

impl<'w> Timed<'w> {
    pub(crate) fn new(home: &'w Home) -> Self {
        let ends_early = home.common.fits && home.common.habits.idle == Idle::Sleep;
        Self { patience: Patience { ends_early, ..Patience::default() }, home }
    }

    /// Yields the processor although the patience has ended.
    pub(crate) fn give_way(&mut self) {
        self.patience.give_way();
    }

    /// Starts over, without having found anything.
    pub(crate) fn start_over(&mut self) {
        self.patience.renew();
    }

    /// Whether the patience has ended, and a yield may be long.
    pub(crate) fn may_be_long_after(&self) -> bool {
        self.patience.may_be_long_after()
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.home.get_busy();
    }
}

impl waiting::Backoff for Timed<'_> {
    fn wait(&mut self) -> bool {
        self.home.fall_idle();
        self.patience.wait()
    }

    fn may_be_long(&self) -> bool {
        self.patience.may_be_long()
    }

    fn hold_on(&mut self) {
        self.home.fall_idle();
        waiting::Backoff::hold_on(&mut self.patience);
    }

    fn renew(&mut self) {
        self.home.get_busy();
        self.patience.renew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patience that is about to yield.
    fn yielding(ends_early: bool) -> Patience {
        Patience { rounds: Patience::SPINS, ends_early, ..Patience::default() }
    }

    /// Returns how many yields of this length come before the patience ends.
    fn yields(length: Duration, ends_early: bool) -> u32 {
        let mut patience = yielding(ends_early);
        let mut yields = 0;
        while patience.rounds < Patience::END {
            yields += 1;
            patience.note_yield(length, length * yields);
        }
        yields
    }

    #[test]
    fn a_thread_yields_for_longer_while_others_run_and_then_sleeps_all_the_same() {
        assert_eq!(yields(Patience::SWITCH, true), Patience::SWITCHES + Patience::YIELDS);
        assert_eq!(yields(2 * PART, false), Patience::SWITCHES + Patience::YIELDS);
    }

    #[test]
    fn a_long_yield_ends_the_patience_and_the_next_wait_does_not_yield() {
        assert_eq!(yields(2 * PART, true), 1);
        let is_crowded = |ends_early| {
            CROWDED.set(1);
            let mut patience = yielding(ends_early);
            assert!(patience.wait());
            patience.is_crowded
        };
        assert!(is_crowded(true) && !is_crowded(false));
        CROWDED.set(0);
        let mut patience = yielding(true);
        assert!(patience.wait() && !patience.is_crowded);
    }

    #[test]
    fn a_thread_stays_awake_for_a_fixed_time_while_nobody_wants_its_processor() {
        let micro = Duration::from_micros(1);
        assert_eq!(yields(micro, true), Patience::AWAKE.as_micros() as u32 - 1 + Patience::YIELDS);
    }
}
