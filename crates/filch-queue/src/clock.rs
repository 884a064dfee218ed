//! A cheap clock for owners: events at random times, at a given rate.
//!
//! On x86-64 it reads the processor's time stamp counter, which costs a few nanoseconds; elsewhere, and under Miri, it
//! reads the system's clock. Invariant: it decides only *when* something happens, never whether that is correct.

use core::time::Duration;

/// Events at exponentially distributed distances.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    /// The mean distance, in ticks; 0 if an event is always due.
    mean: f64,
    /// The time of the next event, if the clock runs. Initially an event is due.
    next: Option<u64>,
    random: fastrand::Rng,
}

impl Poisson {
    pub(crate) fn new(mean: Duration) -> Self {
        if mean.is_zero() {
            // No random numbers: a checker must be able to repeat an execution.
            return Self { mean: 0.0, next: None, random: fastrand::Rng::with_seed(0) };
        }
        let mean = mean.as_nanos() as f64 * ticks::per_nanosecond();
        // The first reading may lock, which a signal handler must not do.
        ticks::now();
        Self { mean, next: Some(0), random: fastrand::Rng::new() }
    }

    /// Returns whether an event is due, and if so schedules the next. The first call after [`Poisson::stop`] starts the
    /// clock.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        if self.mean == 0.0 {
            return true;
        }
        let now = ticks::now();
        let is_due = self.next.is_some_and(|next| now >= next);
        if is_due || self.next.is_none() {
            self.advance(now);
        }
        is_due
    }

    /// Stops the clock until the next call of [`Poisson::is_due`].
    pub(crate) fn stop(&mut self) {
        self.next = None;
    }

    /// Makes an event due at the next call of [`Poisson::is_due`], if the clock is stopped.
    pub(crate) fn skip_rest(&mut self) {
        self.next.get_or_insert(0);
    }

    /// Makes an event due at the next call of [`Poisson::is_due`], even if the clock runs.
    pub(crate) fn recur(&mut self) {
        self.next = Some(0);
    }

    #[cold]
    fn advance(&mut self, now: u64) {
        // In (0, 1], so that the logarithm is finite.
        let uniform = 1.0 - self.random.f64();
        self.next = Some(now.saturating_add((-self.mean * uniform.ln()) as u64));
    }

    /// Returns a random number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound <= 1 { 0 } else { self.random.usize(..bound) }
    }
}

pub use ticks::{now, per_nanosecond};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod ticks {
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    /// Returns the time, in ticks of a clock of unspecified rate, a few per nanosecond. Takes a few nanoseconds.
    ///
    /// ```
    /// let start = filch_queue::clock::now();
    /// assert!(filch_queue::clock::now() >= start);
    /// ```
    #[inline]
    pub fn now() -> u64 {
        // SAFETY: every x86-64 processor has this instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    /// Returns the rate, in ticks per nanosecond. The first call measures it, which takes a fifth of a millisecond.
    ///
    /// ```
    /// assert!(filch_queue::clock::per_nanosecond() > 0.0);
    /// ```
    pub fn per_nanosecond() -> f64 {
        static RATE: OnceLock<f64> = OnceLock::new();
        *RATE.get_or_init(|| {
            let (start, first) = (Instant::now(), now());
            while start.elapsed() < Duration::from_micros(200) {
                core::hint::spin_loop();
            }
            let ticks = now().wrapping_sub(first);
            ticks as f64 / start.elapsed().as_nanos() as f64
        })
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod ticks {
    use std::sync::OnceLock;
    use std::time::Instant;

    /// Returns the time, in nanoseconds.
    pub fn now() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    /// Returns the rate, in ticks per nanosecond.
    pub fn per_nanosecond() -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_the_mean_that_was_asked_for() {
        let mut clock = Poisson::new(Duration::from_micros(30));
        let (events, within) = if cfg!(miri) { (3000, 3000.0) } else { (100_000, 1000.0) };
        let mut sum = 0.0;
        for _ in 0..events {
            clock.advance(0);
            sum += clock.next.expect("it runs") as f64;
        }
        let mean = sum / f64::from(events) / ticks::per_nanosecond();
        assert!((mean - 30_000.0_f64).abs() < within, "{mean} ns");
    }

    #[test]
    fn the_first_event_is_due_at_once_and_the_next_takes_its_time() {
        let mut clock = Poisson::new(Duration::from_secs(1 << 20));
        assert!(clock.is_due() && !clock.is_due());
        clock.skip_rest();
        assert!(!clock.is_due(), "the clock is running");
        clock.stop();
        assert!(!clock.is_due());
        clock.stop();
        clock.skip_rest();
        assert!(clock.is_due() && !clock.is_due());
        clock.recur();
        assert!(clock.is_due() && !clock.is_due());
    }

    #[test]
    fn without_a_distance_an_event_is_always_due() {
        let mut clock = Poisson::new(Duration::ZERO);
        assert!((0..10).all(|_| clock.is_due() && clock.below(1) == 0));
    }
}
