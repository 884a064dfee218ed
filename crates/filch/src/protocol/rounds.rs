//! Rounds of work for a fixed set of threads: what each round's job is, and when all threads have done their part.
//!
//! **Idea.** One thread, the caller, gives the other threads a job in each round, and returns from the round when all
//! have done their part. Between rounds the threads wait.
//!
//! **Fields.** `round`: the number of rounds so far; written by the caller; the threads sleep on it. `job`: the job of
//! the last round; written by the caller, read by the threads. `left`: how many threads have not done their part; set
//! by the caller, which sleeps on it, and decremented once by each thread.
//!
//! **Invariants.**
//! * I1: the caller writes `job` and `left` only while no thread is in a round: before the first round, or after
//!   [`Rounds::wait`]. So each thread takes part in each round once, and is at most one round behind.
//! * I2: a thread's last access to the caller's job precedes its decrement of `left`.
//!
//! **Edges.**
//! * E1: [`Rounds::begin`]'s store of `round` (release) → [`Rounds::next`]'s load (acquire): the job, and everything
//!   the caller did before.
//! * E2: the decrements in [`Rounds::done`] (release; each, as a read–modify–write, continues the release sequences of
//!   earlier ones) → [`Rounds::wait`] (acquire): everything the threads did, and their reads of the job.
//!
//! **Sleep.** A thread sleeps on `round` while it is the round that the thread has finished; the caller changes it and
//! wakes all threads. The caller sleeps on `left` while it is not 0; the thread that makes it 0 wakes the caller. Both
//! sleep only if the word has not changed, so no wake-up is lost.
//!
//! **Cost.** Per round, one system call to wake all sleeping threads and one to wake the caller, whether or not they
//! sleep.
//!
//! ```
//! use filch::inside::protocol::rounds::Rounds;
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
//!         // SAFETY: this thread is the only caller, and waits before it calls again.
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

/// The state that a caller and its threads share.
pub struct Rounds<M: Memory, J> {
    round: M::AtomicU32,
    left: M::AtomicU32,
    job: M::Cell<Option<J>>,
}

// SAFETY: I1 separates the accesses to the cell, and jobs, which other threads copy, are `Send`.
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
    /// Caller: makes all `threads` threads do their part of `job`, or leave if it is `None`.
    ///
    /// # Safety
    /// There are this many threads, none of which has been told to leave; one thread at a time is the caller; and the
    /// caller has [waited](Self::wait) for the previous round.
    pub unsafe fn begin(&self, threads: u32, job: Option<J>) {
        // SAFETY: I1.
        self.job.with_mut(|place| unsafe { *place = job });
        // Relaxed, both: the store below publishes them; this thread is the only writer of the round.
        self.left.store(threads, Ordering::Relaxed);
        let round = self.round.load(Ordering::Relaxed);
        // E1.
        self.round.store(round.wrapping_add(1), Ordering::Release);
        M::wake_all(&self.round);
    }

    /// Thread: waits for the round after the one it has `seen`, 0 at first. Returns the job, or `None` if the thread
    /// must leave.
    ///
    /// `patience` waits a little, and returns whether to keep waiting awake.
    pub fn next(&self, seen: &mut u32, mut patience: impl FnMut() -> bool) -> Option<J> {
        loop {
            // E1: pairs with `begin`.
            let round = self.round.load(Ordering::Acquire);
            if round != *seen {
                *seen = round;
                // SAFETY: by E1 the job has been written, and by I1 it stays until this thread has done its part.
                return self.job.with(|place| unsafe { *place });
            }
            if !patience() {
                M::wait(&self.round, round);
            }
        }
    }

    /// Thread: reports that its part of the job is done. The job may be gone at once.
    pub fn done(&self) {
        // E2: pairs with `wait`.
        if self.left.fetch_sub(1, Ordering::Release) == 1 {
            M::wake_one(&self.left);
        }
    }

    /// Caller: waits until all threads have done their part. For `patience` see [`next`](Self::next).
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
