//! The beat: when is it time for a worker to make private work public?
//!
//! **Paper.** Umut A. Acar, Arthur Charguéraud, Adrien Guatto, Mike Rainey and Filip Sieczkowski, *Heartbeat Scheduling:
//! Provable Efficiency for Nested Parallelism*, PLDI 2018, <https://doi.org/10.1145/3192366.3192391>. A clock that stops
//! by itself is ours.
//!
//! **Idea.** Each worker has a flag that says that a beat is due. The worker looks at it wherever it forks, and lowers it
//! when it acts on it; the clock raises it again a period later. When nobody has lowered a flag for a whole period,
//! nobody forks: the clock goes to sleep, with all flags raised. So the next fork lowers one, and wakes it.
//!
//! **Fields.** `due`, of each worker: raised by the clock, or by a thief that asks; lowered by the worker. `sleepers`
//! and `place`: of the clock, see [`sleep`](super::sleep). `closing`: nobody will need the clock any more.
//!
//! **Invariants.**
//! * I1: a flag is a hint: a beat that is lost or comes twice costs time, never safety.
//! * I2: a clock that sleeps, and that nobody is about to wake, has left all flags raised.
//!
//! **Edges.** E1: [`Clock::rest`]'s announcement, its fence, its look at the flags ↔ [`Clock::taken`]'s fence, its look at
//! `sleepers`, after a flag was lowered. Forbidden: the flag is seen raised, and the announcement is not seen.
//!
//! **Cost.** A look at a flag is a relaxed load from a line that is written once in a period. A period's end costs the
//! clock's thread a wake-up and a look at each flag.

use std::fmt;
use std::sync::Arc;

use filch_memory::{Atomic, Memory, Ordering, Sleep};
use filch_queue::Padded;

use super::sleep::{Place, Sleepers};

/// Whether a beat is due: one worker's flag.
#[derive(Debug)]
pub struct Due<M: Memory>(Padded<M::AtomicBool>);

impl<M: Memory> Due<M> {
    /// A flag that is raised, or not.
    pub fn new(is_raised: bool) -> Self {
        Self(Padded(Atomic::new(is_raised)))
    }

    /// Whether it is raised.
    #[inline(always)]
    pub fn is_raised(&self) -> bool {
        // Relaxed: I1.
        self.0.load(Ordering::Relaxed)
    }

    /// Clock or thief: raises the flag; `false` if it is raised already, and then nothing is written, so that the line
    /// stays shared.
    #[inline]
    pub fn raise(&self) -> bool {
        let raises = !self.is_raised();
        if raises {
            // Relaxed: I1.
            self.0.store(true, Ordering::Relaxed);
        }
        raises
    }

    /// The worker: it acts on the beat. If there is a clock, [`Clock::taken`] must follow.
    #[inline]
    pub fn lower(&self) {
        // Relaxed: E1 is made by the fence that follows.
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What raises the flags of all workers of a pool, once in a period.
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
    /// A clock for these flags, which must be raised.
    pub fn new(due: impl IntoIterator<Item = Arc<Due<M>>>) -> Self {
        Self {
            due: due.into_iter().collect(),
            sleepers: Sleepers::default(),
            place: Place::default(),
            closing: Atomic::new(false),
        }
    }

    /// A worker, after it has lowered its flag: the clock must not sleep now.
    #[inline]
    pub fn taken(&self) {
        // E1: the fence is in `sleepers_after`.
        if self.sleepers.sleepers_after() {
            self.place.wake(&self.sleepers);
        }
    }

    /// The clock: a period is over. Returns whether anybody had lowered a flag.
    pub fn tick(&self) -> bool {
        let mut any = false;
        for due in &self.due {
            any |= due.raise();
        }
        any
    }

    /// The clock: sleeps until somebody lowers a flag, or closes.
    pub fn rest(&self) {
        // E1: announces, then fences.
        self.place.announce(&self.sleepers, 0);
        if self.is_closing() || !self.due.iter().all(|due| due.is_raised()) {
            self.place.cancel(&self.sleepers);
        } else {
            self.place.sleep();
        }
    }

    /// The clock's thread: until it closes, calls `ticked` after each tick that somebody has waited for, which should let a period
    /// pass, and rests while nobody waits.
    pub fn run(&self, mut ticked: impl FnMut()) {
        while !self.is_closing() {
            if self.tick() {
                ticked();
            } else {
                self.rest();
            }
        }
    }

    /// Wakes the clock to see that it is not needed any more.
    pub fn close(&self) {
        // Relaxed: ordered as a flag that is lowered.
        self.closing.store(true, Ordering::Relaxed);
        self.taken();
    }

    /// Whether the clock is not needed any more.
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
