//! Threads that come again and again: what they come for, and when all of them have done their part.
//!
//! **Idea.** One thread, the caller, has so many others. For each round it leaves them a job, and returns from the round when all have
//! done their part of it. Between rounds they sleep.
//!
//! **Fields.** `round`, the number of rounds so far, on which the threads sleep: written by the caller. `job`, that of the last round:
//! written by the caller, read by the threads. `left`, how many have not done their part of it: set by the caller, which sleeps on it,
//! and lowered by each thread once.
//!
//! **Invariants.**
//! * I1: the caller writes `job` and `left` only while no thread is in a round: before the first, or after [`Rounds::wait`]. So each thread
//!   takes part in each round once, and is never more than one behind.
//! * I2: who does the last part touches the caller's job for the last time before it lowers `left`.
//!
//! **Edges.**
//! * E1: [`Rounds::begin`]'s store of `round` (release) → [`Rounds::next`]'s load (acquire): the job, and what the caller did before.
//! * E2: the subtractions of [`Rounds::done`] (release; each, as a read–modify–write, continues the release sequences of those before it) →
//!   [`Rounds::wait`] (acquire): what the threads did, and that they have read the job.
//!
//! **Sleep.** A thread sleeps on `round` while that is the round that it has come from, and the caller, which has changed it, wakes all; the
//! caller sleeps on `left` while that is not 0, and who makes it 0 wakes it. Both sleep only if the word has not changed, so no wake-up is
//! lost.
//!
//! **Cost.** Of a round: one call of the system that wakes all threads that sleep, and one that wakes the caller.
//!
//! ```
//! use filch::protocol::rounds::Rounds;
//! use filch_memory::Native;
//!
//! let rounds = Rounds::<Native, u32>::default();
//! let sum = std::thread::scope(|s| {
//!     let thread = s.spawn(|| {
//!         let (mut seen, mut sum) = (0, 0);
//!         while let Some(job) = rounds.next(&mut seen, || false) {
//!             sum += job;
//!             rounds.done();
//!         }
//!         sum
//!     });
//!     for job in [40, 2] {
//!         // SAFETY: this thread alone calls, and waits before it calls again.
//!         unsafe { rounds.begin(1, Some(job)) };
//!         rounds.wait(|| false);
//!     }
//!     // SAFETY: as above.
//!     unsafe { rounds.begin(1, None) };
//!     thread.join().unwrap()
//! });
//! assert_eq!(sum, 42);
//! ```

use std::fmt;

use filch_memory::{Atomic, AtomicInt, Cell, Memory, Ordering, Sleep};

/// What a caller and its threads share.
pub struct Rounds<M: Memory, J> {
    round: M::AtomicU32,
    left: M::AtomicU32,
    job: M::Cell<Option<J>>,
}

// SAFETY: I1 keeps the cell's accesses apart, and jobs are copied to other threads.
unsafe impl<M: Memory, J: Copy + Send> Sync for Rounds<M, J> {}
// SAFETY: as above.
unsafe impl<M: Memory, J: Copy + Send> Send for Rounds<M, J> {}

impl<M: Memory, J> fmt::Debug for Rounds<M, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rounds").finish_non_exhaustive()
    }
}

impl<M: Memory, J> Default for Rounds<M, J> {
    fn default() -> Self {
        Self { round: Atomic::new(0), left: Atomic::new(0), job: Cell::new(None) }
    }
}

impl<M: Sleep, J: Copy> Rounds<M, J> {
    /// The caller: has all threads, so many, do their part of a job; without one they are to leave.
    ///
    /// # Safety
    /// There are so many threads, none of which has been told to leave; one thread at a time is the caller; and it has [waited](Self::wait)
    /// for the round before.
    pub unsafe fn begin(&self, threads: u32, job: Option<J>) {
        // SAFETY: I1.
        self.job.with_mut(|place| unsafe { *place = job });
        // Relaxed, both: published by the store below; of the round, this thread is the only writer.
        self.left.store(threads, Ordering::Relaxed);
        let round = self.round.load(Ordering::Relaxed);
        // E1.
        self.round.store(round.wrapping_add(1), Ordering::Release);
        M::wake_all(&self.round);
    }

    /// A thread: waits for the round after the one that it has `seen`, 0 at first; what to do a part of, or `None` if it is to leave.
    ///
    /// `patience` waits a little, and says whether to go on so and not to sleep yet.
    pub fn next(&self, seen: &mut u32, mut patience: impl FnMut() -> bool) -> Option<J> {
        loop {
            // E1: pairs with `begin`.
            let round = self.round.load(Ordering::Acquire);
            if round != *seen {
                *seen = round;
                // SAFETY: by E1 the job is written, and by I1 it stays until this thread has done its part.
                return self.job.with(|place| unsafe { *place });
            }
            if !patience() {
                M::wait(&self.round, round);
            }
        }
    }

    /// A thread: its part of the job is done. The job may be gone at once.
    pub fn done(&self) {
        // E2: pairs with `wait`.
        if self.left.fetch_sub(1, Ordering::Release) == 1 {
            M::wake_one(&self.left);
        }
    }

    /// The caller: waits until all threads have done their part. For `patience` see [`next`](Self::next).
    pub fn wait(&self, mut patience: impl FnMut() -> bool) {
        loop {
            // E2: pairs with `done`.
            let left = self.left.load(Ordering::Acquire);
            if left == 0 {
                return;
            }
            if !patience() {
                M::wait(&self.left, left);
            }
        }
    }
}
