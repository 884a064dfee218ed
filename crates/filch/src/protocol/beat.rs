//! The beat: when a worker makes private work public.
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud, Adrien Guatto, Mike Rainey and Filip Sieczkowski, *Heartbeat
//! Scheduling: Provable Efficiency for Nested Parallelism*, PLDI 2018, <https://doi.org/10.1145/3192366.3192391>. The
//! clock that stops by itself is ours.
//!
//! **Idea.** Each worker has a flag that says that a beat is due. The worker reads it at each fork, and lowers it when
//! it acts on the beat; the clock raises it again a period later. If no flag was lowered for a whole period, nobody
//! forks, and the clock sleeps with all flags raised. The next fork then lowers a flag and wakes the clock.
//!
//! **Fields.** `due`, of each worker: raised by the clock, or by a thief that asks; lowered by the worker. `sleepers`
//! and `place`: the clock's, see [`sleep`](super::sleep). `closing`: nobody needs the clock any more.
//!
//! **Invariants.**
//! * I1: a flag is a hint: a lost or repeated beat costs time, not safety.
//! * I2: while the clock sleeps and nobody is about to wake it, all flags are raised.
//!
//! **Edges.** E1: [`Clock::rest`]'s announcement, its fence, its look at the flags ↔ [`Clock::taken`]'s fence, its look
//! at `sleepers`, after a flag was lowered. Forbidden: the flag is seen raised, and the announcement is not seen.
//!
//! **Cost.** Reading a flag is a relaxed load from a cache line that is written once per period. A period's end costs
//! the clock's thread a wake-up and a load per flag.

use std::fmt;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering, Sleep};
use filch_queue::Padded;

use super::sleep::{Place, Sleepers};

/// Whether a beat is due: one worker's flag.
#[derive(Debug)]
pub struct Due<M: Memory>(Padded<M::AtomicBool>);

impl<M: Memory> Due<M> {
    /// A flag, raised or lowered.
    pub fn new(is_raised: bool) -> Self {
        Self(Padded(Atomic::new(is_raised)))
    }

    /// Whether the flag is raised.
    #[inline(always)]
    pub fn is_raised(&self) -> bool {
        // Relaxed: I1.
        self.0.load(Ordering::Relaxed)
    }

    /// Clock or thief: raises the flag. Returns `false` if it is raised already; then it writes nothing, so that the
    /// cache line stays shared.
    #[inline]
    pub fn raise(&self) -> bool {
        let raises = !self.is_raised();
        if raises {
            // Relaxed: I1.
            self.0.store(true, Ordering::Relaxed);
        }
        raises
    }

    /// Worker: lowers the flag, since it acts on the beat. If there is a clock, [`Clock::taken`] must follow.
    #[inline]
    pub fn lower(&self) {
        // Relaxed: the fence that follows makes E1.
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The clock of a pool, which raises the flags of all workers once per period.
pub struct Clock<M: Memory> {
    due: Box<[Arc<Due<M>>]>,
    sleepers: Sleepers<M>,
    place: Place<M>,
    closing: M::AtomicBool,
}

impl<M: Memory> fmt::Debug for Clock<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("workers", &self.due.len()).finish_non_exhaustive()
    }
}

impl<M: Sleep> Clock<M> {
    /// Creates a clock for these flags, which must be raised.
    pub fn new(due: impl IntoIterator<Item = Arc<Due<M>>>) -> Self {
        Self {
            due: due.into_iter().collect(),
            sleepers: Sleepers::default(),
            place: Place::default(),
            closing: Atomic::new(false),
        }
    }

    /// Worker: wakes the clock if it sleeps. Called after the worker has lowered its flag.
    #[inline]
    pub fn taken(&self) {
        // E1: the fence is in `sleepers_after`.
        if self.sleepers.sleepers_after() {
            self.place.wake(&self.sleepers);
        }
    }

    /// Clock: ends a period by raising all flags. Returns whether any was lowered.
    pub fn tick(&self) -> bool {
        let mut any = false;
        for due in &self.due {
            any |= due.raise();
        }
        any
    }

    /// Clock: sleeps until a flag is lowered or the clock is closed.
    pub fn rest(&self) {
        // E1: announces, then fences.
        self.place.announce(&self.sleepers, 0);
        if self.is_closing() || !self.due.iter().all(|due| due.is_raised()) {
            self.place.cancel(&self.sleepers);
        } else {
            self.place.sleep();
        }
    }

    /// Clock's thread: runs until the clock is closed. After each tick that somebody waited for, calls `ticked`, which
    /// should let a period pass; sleeps while nobody waits.
    pub fn run(&self, mut ticked: impl FnMut()) {
        while !self.is_closing() {
            if self.tick() {
                ticked();
            } else {
                self.rest();
            }
        }
    }

    /// Tells the clock that nobody needs it any more, and wakes it.
    pub fn close(&self) {
        // Relaxed: ordered as the lowering of a flag is.
        self.closing.store(true, Ordering::Relaxed);
        self.taken();
    }

    /// Whether the clock has been closed.
    pub fn is_closing(&self) -> bool {
        // Relaxed: see `close`.
        self.closing.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filch_memory::Native;

    #[test]
    fn a_period_without_a_fork_is_told_from_one_with() {
        let due: [Arc<Due<Native>>; 2] = [Arc::new(Due::new(true)), Arc::new(Due::new(true))];
        let clock = Clock::new(due.iter().cloned());
        assert!(!clock.tick());
        due[1].lower();
        clock.taken();
        assert!(!due[1].is_raised());
        assert!(clock.tick());
        assert!(due[1].is_raised() && !clock.tick());
    }

    #[test]
    fn a_clock_rests_only_while_nothing_was_taken_and_nobody_closes() {
        let due = Arc::new(Due::<Native>::new(true));
        let clock = Arc::new(Clock::new([Arc::clone(&due)]));
        due.lower();
        clock.rest();
        clock.tick();
        let resting = Arc::clone(&clock);
        let thread = std::thread::spawn(move || resting.rest());
        while !clock.sleepers.any() {
            std::thread::yield_now();
        }
        due.lower();
        clock.taken();
        thread.join().unwrap();
        clock.tick();
        clock.close();
        clock.rest();
        assert!(clock.is_closing());
    }
}
